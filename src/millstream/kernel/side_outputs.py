"""The one form of a result for a side output: a tag and a value."""

from __future__ import annotations

from typing import Any

from millstream.common.errors import short_repr
from millstream.common.output_tag import OutputTag


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
    tag = result if result.__class__ is OutputTag else result[0]
    raise TypeError(
        f"a result for side output {tag.tag_id!r} is a tag and one value, got "
        f"{short_repr(result)}: use `yield tag, value`, for several values `yield tag, (a, b)`"
    )


def checked_sides(results: list[Any]) -> list[Any]:
    """The results of a function, after a check of those for side outputs."""
    for result in results:
        kind = result.__class__
        if kind is OutputTag or (
            kind is tuple and len(result) != 2 and result and result[0].__class__ is OutputTag
        ):
            side_result(result)
    return results
