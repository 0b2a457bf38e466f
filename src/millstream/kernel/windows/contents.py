"""Contents of windows: the records, or an accumulator.

Content is a plain value in the state of a key, None if there is nothing. The classes here know how to
add a record to it, how to merge the content of several windows, and what a window function sees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

Order = tuple[Any, ...]
"""The place of a record in the one order of the job."""
WINDOWS = 0
"""The cell with the table of a key's windows."""
Entry = list[Any]
"""A window in the table: [content, states of trigger and function in the window]."""
VALUES = "values"
ELEMENTS = "elements"
ORDERED_ELEMENTS = "elements with their order"
REDUCED = "reduced values"
FIRST_REDUCED = "reduced values with their order"
AGGREGATED = "accumulators"


class Contents(Protocol):
    """``needs_order``: records come with their place in the order, which depends on no epoch's cut.

    ``layout``: how content is made up. ``folds``: functions make it; else it is a list of records that
    is only ever added to.
    """

    @property
    def needs_order(self) -> bool: ...

    @property
    def layout(self) -> str: ...

    @property
    def folds(self) -> bool: ...

    def add(self, content: Any, value: Any, ts: int, order: Order | None) -> Any:
        """The content with one more record, which is a function's to keep and to change."""
        ...

    def merge(self, contents: Sequence[Any]) -> Any:
        """The content of a window that takes the place of several; none of them is None."""
        ...

    def elements(self, content: Any) -> list[Any]:
        """The argument of the window function."""
        ...


@dataclass(frozen=True)
class Values:
    """The records, where they come in order anyway and only values are asked for."""

    needs_order = False
    folds = False
    layout = VALUES

    def add(self, content: Any, value: Any, ts: int, order: Order | None) -> Any:
        if content is None:
            return [value]
        content.append(value)
        return content

    def merge(self, contents: Sequence[Any]) -> Any:
        return [value for content in contents for value in content]

    def elements(self, content: Any) -> list[Any]:
        return list(content)


@dataclass(frozen=True)
class Elements:
    """Records with event time and, if ``needs_order``, their place in the order."""

    needs_order: bool
    folds = False

    @property
    def layout(self) -> str:
        return ORDERED_ELEMENTS if self.needs_order else ELEMENTS

    def add(self, content: Any, value: Any, ts: int, order: Order | None) -> Any:
        if content is None:
            return [(value, ts, order)]
        content.append((value, ts, order))
        return content

    def merge(self, contents: Sequence[Any]) -> Any:
        return [element for content in contents for element in content]

    def sorted(self, content: Any) -> list[tuple[Any, int, Order | None]]:
        """The records with times and places, in order."""
        return sorted(content, key=_order_of) if self.needs_order else list(content)

    def elements(self, content: Any) -> list[Any]:
        return [element[0] for element in self.sorted(content)]


def _order_of(element: tuple[Any, int, Any]) -> Any:
    return element[2]


@dataclass(frozen=True)
class Reduced:
    """One value, by a function of two.

    ``prefers_older``: which of two records is the older shows in the result, as in the fields that
    ``sum`` leaves alone. ``selects``: the result is one of the two.
    """

    function: Callable[[Any, Any], Any]
    prefers_older: bool = False
    selects: bool = False
    needs_order = False
    folds = True
    layout = REDUCED

    @property
    def is_ours(self) -> bool:
        """Whether the function is the library's own, which changes nothing in place."""
        return self.prefers_older

    def add(self, content: Any, value: Any, ts: int, order: Order | None) -> Any:
        return value if content is None else self.function(content, value)

    def merge(self, contents: Sequence[Any]) -> Any:
        return reduce(self.function, contents)

    def elements(self, content: Any) -> list[Any]:
        return [content]


@dataclass(frozen=True)
class FirstReduced:
    """One record, by a function that prefers the older of two in any order of arguments.

    Of records from several channels an epoch's cut decides which comes first; here the order does.
    """

    function: Callable[[Any, Any], Any]
    selects: bool
    needs_order = True
    folds = True
    layout = FIRST_REDUCED

    def add(self, content: Any, value: Any, ts: int, order: Order | None) -> Any:
        return (order, value) if content is None else self._both(content, (order, value))

    def merge(self, contents: Sequence[Any]) -> Any:
        return reduce(self._both, contents)

    def _both(self, one: tuple[Any, Any], other: tuple[Any, Any]) -> tuple[Any, Any]:
        older, newer = (one, other) if one[0] <= other[0] else (other, one)
        result = self.function(older[1], newer[1])
        kept = newer if self.selects and result is newer[1] else older
        return kept[0], result

    def elements(self, content: Any) -> list[Any]:
        return [content[1]]


@dataclass(frozen=True)
class Aggregated:
    """The accumulator of an `AggregateFunction`.

    ``is_ours``: the function is the library's own, which changes nothing in place.
    """

    function: Any
    is_ours: bool = False
    needs_order = False
    folds = True
    layout = AGGREGATED

    def add(self, content: Any, value: Any, ts: int, order: Order | None) -> Any:
        if content is None:
            content = self.function.create_accumulator()
        return self.function.add(value, content)

    def merge(self, contents: Sequence[Any]) -> Any:
        return reduce(self.function.merge, contents)

    def elements(self, content: Any) -> list[Any]:
        return [self.function.get_result(content)]


Fold = Reduced | Aggregated


def contents_for(fold: Fold | None, *, in_order: bool, evicting: bool) -> Contents:
    """How a window keeps what it holds.

    ``in_order``: records come in the one order from epoch to epoch. An evictor needs the records
    themselves, whatever they are folded into then.
    """
    if fold is None and in_order and not evicting:
        return Values()
    if fold is None or evicting:
        return Elements(needs_order=not in_order)
    if isinstance(fold, Reduced) and fold.prefers_older and not in_order:
        return FirstReduced(fold.function, fold.selects)
    return fold


def folded(fold: Fold, values: Iterable[Any]) -> list[Any]:
    """The argument of a window function for records that were kept one by one."""
    content = None
    for value in values:
        content = fold.add(content, value, 0, None)
    return [] if content is None else fold.elements(content)


def merged(kind: Contents, contents: Iterable[Any]) -> Any:
    """The content of a window that takes the place of several; some of them may be empty."""
    found = [content for content in contents if content is not None]
    return kind.merge(found) if len(found) > 1 else next(iter(found), None)
