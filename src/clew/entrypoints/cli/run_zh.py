"""What `clew run` says to people, in English and Chinese."""

from __future__ import annotations

RUN_TEXTS: dict[str, tuple[str, str]] = {
    "run.ended": ("the run {}: {}", "本次运行{}：{}"),
    "run.finished": ("finished", "已完成"),
    "run.aborted": ("was interrupted", "被中断"),
    "run.failed": ("failed", "失败"),
    "run.limit": ("came to its limit", "达到上限"),
    "run.crashed": ("ended with its process", "随进程一起结束"),
    "run.hint": ("hint: {} ({})", "记忆提示：{}（{}）"),
    "run.retry": ("{}; again in {} s", "{}；{} 秒后重试"),
    "run.window": ("a fresh window begins ({})", "开始新的窗口（第 {} 个）"),
    "prefix.sum": (
        "{} requests within runs, {} between; between runs shared on average: {} by byte, {} by block",
        "运行内 {} 个请求，运行之间 {} 个；运行之间平均共享：按字节 {}，按块 {}",
    ),
}
