"""Ways to make up the content of a window, and from one way to another.

Whether records come in the one order decides which way an operator takes. That changes with the number
of channels, with the channel order, and in batch mode. Content with the order stays as it is: records
that precede it may still come.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from millstream.common.time import MIN_TIMESTAMP
from millstream.kernel.records.buffers import NO_TIMESTAMP
from millstream.kernel.records.order import BEFORE_ALL
from millstream.kernel.state.compatibility import layout_changed
from millstream.kernel.windows.contents import (
    ELEMENTS,
    FIRST_REDUCED,
    ORDERED_ELEMENTS,
    REDUCED,
    VALUES,
    Order,
)
from millstream.kernel.windows.operator import WindowOperator

WINDOWS = "windows"
Convert = Callable[[Any], Any]
Element = tuple[Any, int, Order | None]


def agreed(stored: str | None, operator: WindowOperator) -> str:
    """The layout in which an operator goes on from a stored one."""
    with_order = operator.with_order().layout
    return with_order if stored == with_order else operator.contents.layout


def converter(stored: str | None, operator: WindowOperator) -> Convert:
    """A conversion from a stored layout to that of an operator; an error if there is none."""
    wanted = agreed(stored, operator)
    if stored is None or stored == wanted:
        return _as_it_is
    convert = _CONVERSIONS.get((stored, wanted))
    # An evictor sees the event times of records.
    if convert is None or (stored == VALUES and operator.spec.evictor is not None):
        raise layout_changed(operator.info.uid, stored, wanted, operator.info.location)
    return convert


def _as_it_is(content: Any) -> Any:
    return content


def before_all(place: int) -> Order:
    """A place in the order before that of any record."""
    return MIN_TIMESTAMP, BEFORE_ALL, 0, 0, place, b""


def _numbered(content: list[Element]) -> list[Element]:
    return [(value, ts, before_all(i)) for i, (value, ts, _) in enumerate(content)]


_CONVERSIONS: dict[tuple[str, str], Convert] = {
    (VALUES, ORDERED_ELEMENTS): lambda content: _numbered(
        [(value, NO_TIMESTAMP, None) for value in content]
    ),
    (ELEMENTS, ORDERED_ELEMENTS): _numbered,
    (ELEMENTS, VALUES): lambda content: [value for value, _, _ in content],
    (REDUCED, FIRST_REDUCED): lambda content: (before_all(0), content),
    (FIRST_REDUCED, REDUCED): itemgetter(1),
}
