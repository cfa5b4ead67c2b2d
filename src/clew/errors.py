"""
Every error that Clew raises on purpose.

* ClewError                  1 · 500   never raised itself
  x UsageError               2 · 400   the caller can mend it
    + NotFound               2 · 404
    + Conflict               2 · 409   it changed since it was read
    + ConfigError            2 · 400   a configuration file, variable or flag is wrong
    + OverBudget             2 · 413   explicit context alone exceeds the budget
    + Refused                2 · 403   against a rule that the user set or that protects them
  x StoreError               1 · 500   Clew's own disk or database
    + StoreBusy             75 · 503   try again
    + StoreTooNew            1 · 500   written by a newer Clew
  x ModelError               1 · 502   a model did not answer
    + ModelUnknown           2 · 404   no such provider or model
    + ModelKeyMissing        2 · 401   no key for the provider
    + ModelRefused           1 · 401   the provider refused the key, or the account has nothing left
    + ModelOverflow          1 · 413   the prompt is longer than the model takes
    + ModelBusy             75 · 429   too many requests: try again
    + ModelUnavailable      75 · 503   no connection, or the provider failed
    + ModelCut               1 · 502   the stream ended early; what came is kept

The class docstring is the default message. `exit_status` is the status of the process, `http_status` that of the
HTTP faces, `retry` tells whether the same call may succeed later. `hint` says what the user can do.
"""

from __future__ import annotations

from typing import ClassVar


class ClewError(Exception):
    """Something went wrong"""

    exit_status: ClassVar[int] = 1
    http_status: ClassVar[int] = 500
    retry: ClassVar[bool] = False

    def __init__(self, message: str = "", *, hint: str = "", **facts: object) -> None:
        super().__init__(message or (type(self).__doc__ or type(self).__name__).strip())
        self.hint = hint
        self.facts = facts

    @property
    def code(self) -> str:
        """The stable name of this kind of error."""
        return type(self).__name__


class UsageError(ClewError):
    """The request cannot be carried out as given"""

    exit_status = 2
    http_status = 400


class NotFound(UsageError):
    """There is no such thing"""

    http_status = 404


class Conflict(UsageError):
    """It has changed since it was read"""

    http_status = 409


class ConfigError(UsageError):
    """The configuration is wrong"""


class OverBudget(UsageError):
    """The explicit context alone exceeds the budget"""

    http_status = 413


class Refused(UsageError):
    """This is not allowed"""

    http_status = 403


class StoreError(ClewError):
    """Clew's own store could not be read or written"""


class StoreBusy(StoreError):
    """The store is in use by another process"""

    exit_status = 75
    http_status = 503
    retry = True


class StoreTooNew(StoreError):
    """The store was written by a newer Clew"""


class ModelError(ClewError):
    """The model did not answer"""

    http_status = 502


class ModelUnknown(ModelError):
    """There is no such model"""

    exit_status = 2
    http_status = 404


class ModelKeyMissing(ModelError):
    """There is no key for this provider"""

    exit_status = 2
    http_status = 401


class ModelRefused(ModelError):
    """The provider refused the request"""

    http_status = 401


class ModelOverflow(ModelError):
    """The prompt is longer than the model takes"""

    http_status = 413


class ModelBusy(ModelError):
    """The provider asks to wait"""

    exit_status = 75
    http_status = 429
    retry = True


class ModelUnavailable(ModelError):
    """The provider cannot be reached"""

    exit_status = 75
    http_status = 503
    retry = True


class ModelCut(ModelError):
    """The answer was cut off"""


def status_of(code: str) -> int:
    """The exit status of the kind of error that has this name; 1 for an unknown one."""
    kinds = [ClewError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return next((kind.exit_status for kind in kinds if kind.__name__ == code), ClewError.exit_status)
