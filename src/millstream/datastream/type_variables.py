"""Type variables of the generic functions; a class without parameters takes Any for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # A default needs Python 3.13 at run time. For type checkers it means that a program may leave
    # the parameters out, in strict mode too.
    from typing_extensions import TypeVar

    from millstream.common.windows import Window

    IN = TypeVar("IN", default=Any)
    IN1 = TypeVar("IN1", default=Any)
    IN2 = TypeVar("IN2", default=Any)
    OUT = TypeVar("OUT", default=Any)
    KEY = TypeVar("KEY", default=Any)
    W = TypeVar("W", bound=Window, default=Any)
    W2 = TypeVar("W2", bound=Window, default=Any)
else:
    from typing import TypeVar

    IN = TypeVar("IN")
    IN1 = TypeVar("IN1")
    IN2 = TypeVar("IN2")
    OUT = TypeVar("OUT")
    KEY = TypeVar("KEY")
    W = TypeVar("W")
    W2 = TypeVar("W2")

__all__ = ["IN", "IN1", "IN2", "KEY", "OUT", "W2", "W"]
