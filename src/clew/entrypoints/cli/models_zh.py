"""Chinese wording of what is said about agent CLIs as models, by its English form."""

# ruff: noqa: E501 - a form and its wording stand side by side

from __future__ import annotations

MODELS: dict[str, str] = {
    "{}: nothing came for {} s{}": "{}：{} 秒内没有任何内容{}",
    "{}: the answer was cut off: nothing came for {} s{}": "{}：回答中断：{} 秒内没有任何内容{}",
    "`{}` alone shows whether it answers; `timeout` in the settings allows more time": "单独运行 `{}` 可查看它是否应答；设置中的 `timeout` 可延长等待时间",
    "`{}` alone shows whether it answers": "单独运行 `{}` 可查看它是否应答",
    "{} is not installed: there is no `{}` on PATH": "未安装 {}：PATH 中没有 `{}`",
    "npm install -g {}": "npm install -g {}",
    "{}: {} is no model": "{}：{} 不是模型",
    "{}:NAME, or {} alone": "写作 {}:NAME，或只写 {}",
    "{}: this version does not know how Clew calls it": "{}：此版本不支持 Clew 的调用方式",
    "npm install -g {}@latest; Clew is tried with {}": "npm install -g {}@latest；Clew 经过测试的版本是 {}",
    "{}:NAME takes the names that `{}` takes": "{}:NAME 中的名称与 `{}` 所用的相同",
    "{}: it could not be started: {}": "{}：无法启动：{}",
    "`{}` alone shows whether it starts; TMPDIR must name a folder for files": "单独运行 `{}` 可查看它能否启动；TMPDIR 须指向可写入文件的目录",
    "run `claude` and log in with /login": "运行 `claude`，用 /login 登录",
    "run `codex login`": "运行 `codex login`",
    "run `pi` and log in with /login": "运行 `pi`，用 /login 登录",
    "run `opencode auth login`": "运行 `opencode auth login`",
    "{} {}, with its own login": "{} {}，使用它自己的登录",
    "not installed: npm install -g {}": "未安装：npm install -g {}",
}
