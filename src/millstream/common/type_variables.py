"""Type variables of the generic classes and methods; what a program leaves out is Any.

``DataStream`` stands for ``DataStream[Any]``, so that programs without type parameters, such as those
written for PyFlink, pass a type checker in strict mode too.

- ``T``, ``K``, ``W``: the records, keys and windows of streams. Covariant: a stream of ``bool`` is a
  stream of ``int``.
- ``IN``, ``IN1``, ``IN2``, ``KEY``, ``WINDOW``: what functions take. Contravariant: a function of
  ``object`` takes a stream of ``int``.
- ``OUT``: what functions give. Covariant.
- ``V``, ``K2``, ``V2``, ``ACC``: values of state, accumulators, and the type variables of methods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # At run time a default needs Python 3.13.
    from typing_extensions import TypeVar

    from millstream.common.windows import Window

    T = TypeVar("T", covariant=True, default=Any)
    T1 = TypeVar("T1", covariant=True, default=Any)
    T2 = TypeVar("T2", covariant=True, default=Any)
    A1 = TypeVar("A1", covariant=True, default=Any)
    A2 = TypeVar("A2", covariant=True, default=Any)
    K = TypeVar("K", covariant=True, default=Any)
    W = TypeVar("W", bound=Window, covariant=True, default=Any)
    IN = TypeVar("IN", contravariant=True, default=Any)
    IN1 = TypeVar("IN1", contravariant=True, default=Any)
    IN2 = TypeVar("IN2", contravariant=True, default=Any)
    OUT = TypeVar("OUT", covariant=True, default=Any)
    KEY = TypeVar("KEY", contravariant=True, default=Any)
    WINDOW = TypeVar("WINDOW", bound=Window, contravariant=True, default=Any)
    ACC = TypeVar("ACC", default=Any)
    V = TypeVar("V", default=Any)
    V1 = TypeVar("V1", default=Any)
    V2 = TypeVar("V2", default=Any)
    K2 = TypeVar("K2", default=Any)
    W2 = TypeVar("W2", bound=Window, default=Any)
else:
    from typing import TypeVar

    T, T1, T2, A1, A2, K, W = map(TypeVar, ("T", "T1", "T2", "A1", "A2", "K", "W"))
    IN, IN1, IN2, OUT, KEY, WINDOW = map(TypeVar, ("IN", "IN1", "IN2", "OUT", "KEY", "WINDOW"))
    ACC, V, V1, V2, K2, W2 = map(TypeVar, ("ACC", "V", "V1", "V2", "K2", "W2"))

__all__ = [
    "A1",
    "A2",
    "ACC",
    "IN",
    "IN1",
    "IN2",
    "K2",
    "KEY",
    "OUT",
    "T1",
    "T2",
    "V1",
    "V2",
    "W2",
    "WINDOW",
    "K",
    "T",
    "V",
    "W",
]
