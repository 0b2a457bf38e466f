"""How sure it is that values have a type: only a declared type is enforced.

One rule for all streams. What a program declares (``output_type=``, ``type_info=``) is enforced: a value
that does not fit is an error. Every other type is an expectation: a value that does not fit travels
pickled, as it is, and never fails the job.
"""

from __future__ import annotations

from copy import copy
from enum import IntEnum
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from millstream.common.typesystem.base import TypeInformation

T = TypeVar("T", bound="TypeInformation | None")

__all__ = ["Certainty", "declared", "guessed", "inferred", "is_declared", "no_surer_than"]


class Certainty(IntEnum):
    """Where a type comes from; the larger, the surer.

    Examples
    --------
    >>> max(Certainty).name
    'DECLARED'
    """

    GUESSED = 0
    """A function is expected to return what it takes: the result of a ``reduce``, a sum."""

    INFERRED = 1
    """A type hint, or all the values of a collection. Windows may be computed by column."""

    DECLARED = 2
    """The program says so."""


def inferred(type_info: T) -> T:
    """Return the type as one that nobody has declared.

    Examples
    --------
    >>> from millstream.common import Types
    >>> hinted = inferred(Types.LONG())
    >>> hinted == Types.LONG(), is_declared(hinted), is_declared(Types.LONG())
    (True, False, True)
    """
    return _at_most(type_info, Certainty.INFERRED)


def guessed(type_info: T) -> T:
    """Return the type of a function's results, given the type of what the function takes.

    A declared type stays declared: the function has to keep to it.

    Examples
    --------
    >>> from millstream.common import Types
    >>> guessed(Types.LONG()).certainty.name, guessed(inferred(Types.LONG())).certainty.name
    ('DECLARED', 'GUESSED')
    """
    return type_info if is_declared(type_info) else _at_most(type_info, Certainty.GUESSED)


def declared(type_info: T) -> T:
    """Return the type as one that the program declares, wherever the program has it from.

    Examples
    --------
    >>> from millstream.common import Types
    >>> is_declared(declared(inferred(Types.LONG())))
    True
    """
    return type_info if type_info is None else _with(type_info, Certainty.DECLARED)


def no_surer_than(type_info: T, *origins: TypeInformation | None) -> T:
    """Return a type that is made of others, such as the type of a pair or of some of the fields.

    Examples
    --------
    >>> from millstream.common import Types
    >>> is_declared(no_surer_than(Types.TUPLE([Types.LONG()]), inferred(Types.LONG())))
    False
    """
    return _at_most(type_info, *(origin.certainty for origin in origins if origin is not None))


def is_declared(type_info: TypeInformation | None) -> bool:
    """Return whether values have to fit the type."""
    return type_info is not None and type_info.certainty is Certainty.DECLARED


def _at_most(type_info: T, *certainties: Certainty) -> T:
    lowest = min(certainties, default=Certainty.DECLARED)
    if type_info is None or type_info.certainty <= lowest:
        return type_info
    return _with(type_info, lowest)


def _with(type_info: T, certainty: Certainty) -> T:
    # Not a field: a declared and an inferred type of the same kind are equal.
    found = copy(type_info)
    object.__setattr__(found, "certainty", certainty)
    return found
