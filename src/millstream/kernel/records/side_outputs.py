"""Side outputs: which results are meant for one, in which form, and which functions have them.

A result that is an `OutputTag`, or a tuple that begins with one, is meant for a side output, and has one
form: ``(tag, value)``. Functions with a context have side outputs, and those of a whole window, group or
partition. Functions that make other records of one record or pair have none, and neither have folds:
``map``, ``flat_map``, also of connected streams, asynchronous functions, ``join``, ``reduce``,
``aggregate``. What does not fit is an error of the record, and never data.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from operator import itemgetter
from typing import Any, TypeVar

from millstream.common.errors import short_repr
from millstream.common.output_tag import OutputTag

Results = TypeVar("Results", bound=Collection[Any])


def is_for_side(result: Any) -> bool:
    """Whether a result is meant for a side output: it is a tag, or a tuple that begins with one.

    The loops that see every record have this in line.
    """
    kind = result.__class__
    return kind is OutputTag or (
        kind is tuple and bool(result) and result[0].__class__ is OutputTag
    )


def side_result(result: Any) -> tuple[str, Any]:
    """The tag's id and the value of a result for a side output; an error if it is not these two.

    Examples
    --------
    >>> side_result((OutputTag("late"), 7))
    ('late', 7)
    >>> side_result((OutputTag("late"), 7, 8))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    TypeError: a result for side output 'late' is a tag and one value, got ...
    """
    if result.__class__ is tuple and len(result) == 2:
        return result[0].tag_id, result[1]
    raise _wrong(
        f"a result for side output {_tag_of(result)!r} is a tag and one value, got "
        f"{short_repr(result)}",
        "use `yield tag, value`, for several values `yield tag, (a, b)`",
    )


def checked_sides(results: list[Any]) -> list[Any]:
    """The results of a function with side outputs, after a check of those for them."""
    for result in results:
        kind = result.__class__
        if kind is OutputTag or (
            kind is tuple and len(result) != 2 and result and result[0].__class__ is OutputTag
        ):
            side_result(result)
    return results


def refuse_side(result: Any) -> None:
    """Refuse a result for a side output: the function has none.

    Examples
    --------
    >>> refuse_side((OutputTag("late"), 7))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    TypeError: this function has no side outputs, got ... for 'late': ...
    """
    if is_for_side(result):
        raise _wrong(
            f"this function has no side outputs, got {short_repr(result)} for {_tag_of(result)!r}",
            "use `process(...)`, and `yield tag, value` there",
        )


def _wrong(message: str, what_to_do: str) -> TypeError:
    """An error of a function that is wrong for all records: nobody should filter any out."""
    error = TypeError(f"{message}: {what_to_do}")
    vars(error)["what_to_do"] = what_to_do  # `user_code_error` makes its hint of it
    return error


def without_sides(results: Results) -> Results:
    """The results of a function that has no side outputs, after a check that none is for one."""
    for result in results:
        refuse_side(result)
    return results


def each_without_side(results: Iterable[Any] | None) -> Iterator[Any]:
    """The same, one by one: a generator goes on when the result before has been taken."""
    for result in results or ():
        refuse_side(result)
        yield result


def any_for_side(results: list[Any]) -> bool:
    """Whether some of many results are meant for side outputs, without a look at each in Python.

    Examples
    --------
    >>> any_for_side([("a", 1), (), 5]), any_for_side([(), (OutputTag("late"), 1)])
    (False, True)
    """
    kinds = set(map(type, results))
    if OutputTag in kinds:
        return True
    if tuple not in kinds:
        return False
    with suppress(IndexError):  # one is empty
        if kinds == {tuple}:
            return OutputTag in set(map(type, map(itemgetter(0), results)))
    tuples = [result for result in results if result.__class__ is tuple and result]
    return OutputTag in set(map(type, map(itemgetter(0), tuples)))


def _tag_of(result: Any) -> str:
    tag: OutputTag[Any] = result if result.__class__ is OutputTag else result[0]
    return tag.tag_id
