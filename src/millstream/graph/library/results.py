"""Results of algorithms: tuples whose fields have names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

__all__ = ["BinaryResult", "Result", "TertiaryResult", "UnaryResult"]

Self = TypeVar("Self", bound="Result")


class Result(tuple[Any, ...]):
    """A result of an algorithm: a tuple with names for its fields.

    Each field has a method: ``get_`` and the name.

    Examples
    --------
    >>> class Score(UnaryResult):
    ...     NAMES = ("vertex_id0", "score")
    >>> score = Score(7, 0.5)
    >>> score.get_vertex_id0(), score.get_score(), score
    (7, 0.5, Score(7, 0.5))
    """

    __slots__ = ()

    NAMES: ClassVar[tuple[str, ...]] = ()
    TEXTS: ClassVar[tuple[str, ...]] = ()

    def __new__(cls: type[Self], *fields: Any) -> Self:
        """Make a result of its fields, in their order."""
        if len(fields) != len(cls.NAMES):
            raise TypeError(f"{cls.__name__} has the fields {', '.join(cls.NAMES)}")
        return tuple.__new__(cls, fields)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __init_subclass__(cls) -> None:
        for place, name in enumerate(cls.NAMES):
            if not hasattr(cls, f"get_{name}"):
                setattr(cls, f"get_{name}", _getter(place, name))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self))})"

    def __str__(self) -> str:
        return f"({','.join(map(str, self))})"

    def to_printable_string(self) -> str:
        """Return a text that says what the fields are."""
        texts = self.TEXTS or self.NAMES
        return ", ".join(f"{text}: {value}" for text, value in zip(texts, self, strict=True))


def _getter(place: int, name: str) -> Callable[[Any], Any]:
    def get(self: Any) -> Any:
        return self[place]

    get.__name__ = f"get_{name}"
    get.__doc__ = f"Return the {name.replace('_', ' ')}."
    return get


class UnaryResult(Result):
    """A result about one vertex.

    Examples
    --------
    >>> issubclass(UnaryResult, Result)
    True
    """

    __slots__ = ()

    def get_vertex_id0(self) -> Any:
        """Return the id of the vertex."""
        return self[0]


class BinaryResult(UnaryResult):
    """A result about two vertices.

    Examples
    --------
    >>> issubclass(BinaryResult, UnaryResult)
    True
    """

    __slots__ = ()

    def get_vertex_id1(self) -> Any:
        """Return the id of the second vertex."""
        return self[1]


class TertiaryResult(BinaryResult):
    """A result about three vertices.

    Examples
    --------
    >>> issubclass(TertiaryResult, BinaryResult)
    True
    """

    __slots__ = ()

    def get_vertex_id2(self) -> Any:
        """Return the id of the third vertex."""
        return self[2]
