"""What went wrong at a provider, as an error that says which model, what happened and what to do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic_ai import exceptions as foreign

from clew.adapters.models.endpoints import Endpoint
from clew.adapters.models.keys import variables
from clew.errors import (
    ModelBusy,
    ModelCut,
    ModelError,
    ModelOverflow,
    ModelRefused,
    ModelUnavailable,
    ModelUnknown,
)

_OVERFLOW = re.compile(
    r"context[ _](length|window|size)|prompt is too long|maximum context|too many (input )?tokens|input is too long",
    re.I,
)
_NUMBERS = re.compile(r"\d[\d,]{2,}")
_LIKE_A_KEY = re.compile(r"\b(sk|key|pk|rk)-[A-Za-z0-9*_-]{4,}")
_LONGEST = 300
"""Characters of a provider's own message that are repeated."""


def explain(error: BaseException, endpoint: Endpoint) -> ModelError:
    """Return the error of Clew for one of the client library. The key never appears in it."""
    name, said, status = endpoint.name, _said(error, endpoint), _status_code(error)
    if isinstance(error, foreign.ModelContextWindowExceededError) or (
        (status == 413 or _is_rejection(error, status)) and (status == 413 or _OVERFLOW.search(said))
    ):
        return _overflow(name, said)
    if status is not None and 300 <= status < 400:
        return ModelError(
            f"{name}: {endpoint.url} redirects elsewhere ({status}), and the key does not go along",
            hint="set the final address as the base URL",
        )
    match error:
        case foreign.ModelAuthenticationError():
            refused = f"{name}: the provider refused the key{_status(status)}{said}"
            return ModelRefused(
                refused if endpoint.key else f"{name}: the provider wants a key{_status(status)}{said}",
                hint=_key_hint(endpoint, status),
                provider=endpoint.provider,
            )
        case foreign.ModelNotFoundError():
            return unknown(endpoint, (), suggested=getattr(error, "suggested_model_id", None), said=said)
        case foreign.ModelQuotaExceededError():
            return ModelRefused(
                f"{name}: the quota or credit is used up{_status(status)}{said}",
                hint="look at the plan and the billing of the account, or choose another model",
                quota=True,
            )
        case foreign.ModelRateLimitError():
            wait = error.retry_after
            ask = f"try again in {wait:.0f} s" if wait else "try again in a while"
            return ModelBusy(
                f"{name}: too many requests{_status(status)}{said}",
                hint=f"{ask}, or choose another model",
                retry_after=wait,
            )
        case foreign.ModelUnavailableError() | foreign.ModelServerError():
            return ModelUnavailable(
                f"{name}: the provider failed{_status(status)}{said}",
                hint="try again, or choose another model",
                retry_after=error.retry_after,
                failed=True,
            )
        case foreign.ModelTimeoutError() | foreign.ModelRequestTimeout():
            return _timeout(endpoint, error, getattr(error, "phase", None))
        case foreign.ModelConnectionError():
            return _connection(endpoint, error, error.phase)
        case foreign.ContentFilterError():
            return ModelRefused(
                f"{name}: the provider declined to answer this", hint="ask differently, or another model"
            )
        case foreign.ModelAPIError() if status is not None or _is_report(error):
            return ModelError(
                f"{name}: the provider rejected the request{_status(status)}{said}",
                hint="the provider says what it minds; another model may take the request",
            )
        case _:
            return ModelError(
                f"{name}: what came back is no answer of a model{said}", hint=_address_hint(endpoint), malformed=True
            )


def cut(error: BaseException, endpoint: Endpoint) -> ModelCut:
    """Return the error for a stream that broke off after text had come."""
    reason = explain(error, endpoint)
    what = str(reason).removeprefix(f"{endpoint.name}: ")
    if reason.facts.get("malformed"):
        what = "the stream ended before the answer was complete"
    return ModelCut(
        f"{endpoint.name}: the answer was cut off: {what}",
        hint="what came is kept; ask again for the whole answer",
        reason="connection",
    )


def unknown(endpoint: Endpoint, names: Iterable[str], *, suggested: str | None = None, said: str = "") -> ModelUnknown:
    """Return the error for a model that the provider does not have, with the nearest of `names`."""
    # A list may name what its server then refuses.
    known = [name for name in names if name != endpoint.model]
    near = difflib.get_close_matches(endpoint.model, known, n=1, cutoff=0.5)
    nearest = near[0] if near else (suggested or "").removeprefix(f"{endpoint.provider}:") or None
    if nearest:
        hint = f"did you mean {endpoint.provider}:{nearest}?"
    elif known:
        hint = f"it has {', '.join(known[:8])}{' …' if len(known) > 8 else ''}"
    elif endpoint.provider == "ollama":
        hint = f"`ollama pull {endpoint.model}` fetches it; `ollama list` shows what is there"
    else:
        hint = f"check the name, and that {endpoint.url} is the right address"
    return ModelUnknown(f"{endpoint.name}: the provider has no such model{said}", hint=hint, nearest=nearest)


def _overflow(name: str, said: str) -> ModelOverflow:
    numbers = sorted({int(number.replace(",", "")) for number in _NUMBERS.findall(said)})
    facts = {"window": numbers[0], "tokens": numbers[-1]} if len(numbers) == 2 else {}
    return ModelOverflow(
        f"{name}: the prompt is longer than the model takes{said}",
        hint="lower `max_tokens`, attach less, or choose a model with a larger window",
        **facts,
    )


def _timeout(endpoint: Endpoint, error: BaseException, phase: str | None) -> ModelUnavailable:
    if phase == "connect":
        return _connection(endpoint, error, phase)
    return ModelUnavailable(
        f"{endpoint.name}: nothing came for {endpoint.silence:g} s",
        hint="try again, or allow more time: `timeout` in the settings",
    )


def _connection(endpoint: Endpoint, error: BaseException | None, phase: str | None) -> ModelUnavailable:
    why = f": {reason}" if (reason := _system_reason(error)) else ""
    if phase in ("connect", "pool"):
        hint = "is the address right, and is there a connection?"
        if endpoint.provider == "ollama":
            hint = "is Ollama running? `ollama serve` starts it; OLLAMA_HOST names another address"
        return ModelUnavailable(f"{endpoint.name}: {endpoint.url} cannot be reached{why}", hint=hint)
    # A connection that was open is often one that another try gets again; an address that nobody listens at is not.
    return ModelUnavailable(f"{endpoint.name}: the provider closed the connection{why}", hint="try again", failed=True)


def _system_reason(error: BaseException | None) -> str:
    """Return what the operating system said, where it is among the causes."""
    while error is not None:
        if isinstance(error, OSError) and error.strerror:
            return error.strerror
        if isinstance(error, BaseExceptionGroup) and error.exceptions:
            error = error.exceptions[0]
        else:
            error = error.__cause__ or error.__context__
    return ""


def _key_hint(endpoint: Endpoint, status: int | None) -> str:
    source = endpoint.key.source if endpoint.key else ""
    if not source:
        return f"set {variables(endpoint.provider)[0]}"
    where = f"`keyring set clew {endpoint.provider}` replaces it" if source == "keyring" else f"it is in {source}"
    if status == 403:
        return f"check that the key may use this model; {where}"
    return f"check that the key is complete and valid; {where}"


def _address_hint(endpoint: Endpoint) -> str:
    if endpoint.provider in ("anthropic", "ollama") or endpoint.url.endswith("/v1"):
        return f"is {endpoint.url} the right address?"
    return f"is {endpoint.url} the right address? Most end in /v1"


def _is_rejection(error: BaseException, status: int | None) -> bool:
    return isinstance(error, foreign.ModelRequestRejectedError) or status in (400, 422)


def _is_report(error: BaseException) -> bool:
    return getattr(error, "body", None) is not None


def _status_code(error: BaseException) -> int | None:
    status = getattr(error, "status_code", None) or getattr(error.__cause__, "status_code", None)
    return status if isinstance(status, int) else None


def _status(status: int | None) -> str:
    return f" ({status})" if status and status >= 400 else ""


def _said(error: BaseException, endpoint: Endpoint) -> str:
    """Return `: ` and what the provider said, on one line, short, without anything like a key; empty if nothing."""
    body: Any = getattr(error, "body", None)
    text = _message(body) or (str(body) if isinstance(body, str) else "")
    if not text and not isinstance(error, foreign.ModelHTTPError):
        text = str(error)
    if secret := endpoint.secret:
        text = text.replace(secret, "…")
    text = " ".join(_LIKE_A_KEY.sub("…", text).split())
    text = "".join(character for character in text if character.isprintable())
    return f": {text[:_LONGEST]}{'…' if len(text) > _LONGEST else ''}" if text else ""


def _message(body: object) -> str:
    if not isinstance(body, Mapping):
        return ""
    inner = body.get("error")
    if isinstance(inner, str):
        return inner
    return _message(inner) or str(body.get("message") or "")
