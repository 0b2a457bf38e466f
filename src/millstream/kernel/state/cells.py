"""Keyed state as a function sees it: objects over the cells of the current key.

An operator points the shared `Cursor` at the current key's cells; each state object reads and writes
its own cell. With a time to live a cell, or each element in it, is a pair (value, last use in
processing time); an expired one is never returned by default, and removed when met. The content of a
list or map cell is a list or dict, or the handle of a large one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any

from millstream.common import state as api
from millstream.common.state import (
    AggregatingStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
)
from millstream.kernel.keys.identity import map_identity, shown
from millstream.kernel.state.large import BigMap, LongList


class Cursor:
    """The position of an operator's states: the cells of the current key, and the time.

    ``growing``: which cells belong to list and map states; their content may become large.
    """

    __slots__ = ("cells", "growing", "now_ms")

    def __init__(self) -> None:
        self.cells: Any = []
        self.growing: set[Any] = set()
        self.now_ms = 0


class _Cell:
    __slots__ = ("_cursor", "_index")

    def __init__(self, cursor: Cursor, index: Any) -> None:
        self._cursor = cursor
        self._index = index

    def clear(self) -> None:
        self._cursor.cells[self._index] = None


class ValueCell(_Cell, api.ValueState[Any]):
    """A value."""

    def value(self) -> Any:
        return self._cursor.cells[self._index]

    def update(self, value: Any) -> None:
        self._cursor.cells[self._index] = value


class ListCell(_Cell, api.ListState[Any]):
    """A list; an empty one is no state. ``get`` gives the elements that are there at the call."""

    def get(self) -> Iterable[Any]:
        content = self._cursor.cells[self._index]
        return iter(content[:] if content.__class__ is list else content or ())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.get())

    def add(self, value: Any) -> None:
        cells = self._cursor.cells
        if cells[self._index] is None:
            cells[self._index] = [value]
        else:
            cells[self._index].append(value)

    def add_all(self, values: Iterable[Any]) -> None:
        for value in values:
            self.add(value)

    def update(self, values: Iterable[Any]) -> None:
        self._cursor.cells[self._index] = list(values) or None


class MapCell(_Cell, api.MapState[Any, Any]):
    """A map; an empty one is no state. Its keys are told apart like those of streams, by encoding."""

    def _map(self) -> MutableMapping[Any, Any]:
        return self._cursor.cells[self._index] or {}

    def get(self, key: Any) -> Any:
        return self._map().get(map_identity(key))

    def put(self, key: Any, value: Any) -> None:
        key, cells = map_identity(key), self._cursor.cells
        if cells[self._index] is None:
            cells[self._index] = {key: value}
        else:
            cells[self._index][key] = value

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        for key, value in dict_value.items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        content = self._cursor.cells[self._index]
        if content is not None:
            content.pop(map_identity(key), None)
            if not content:
                self.clear()

    def contains(self, key: Any) -> bool:
        return map_identity(key) in self._map()

    def items(self) -> Iterable[tuple[Any, Any]]:
        return iter([(shown(key), value) for key, value in self._map().items()])

    def keys(self) -> Iterable[Any]:
        return iter([shown(key) for key in self._map()])

    def values(self) -> Iterable[Any]:
        return iter(list(self._map().values()))

    def is_empty(self) -> bool:
        return not self._map()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())


class ReducingCell(_Cell, api.ReducingState[Any]):
    """A value, reduced with each one added."""

    __slots__ = ("_reduce",)

    def __init__(self, cursor: Cursor, index: int, reduce: Callable[[Any, Any], Any]) -> None:
        super().__init__(cursor, index)
        self._reduce = reduce

    def get(self) -> Any:
        return self._cursor.cells[self._index]

    def add(self, value: Any) -> None:
        cells = self._cursor.cells
        current = cells[self._index]
        cells[self._index] = value if current is None else self._reduce(current, value)


class AggregatingCell(_Cell, api.AggregatingState[Any, Any]):
    """An accumulator; ``get`` gives the aggregate's result."""

    __slots__ = ("_aggregate",)

    def __init__(self, cursor: Cursor, index: int, aggregate: Any) -> None:
        super().__init__(cursor, index)
        self._aggregate = aggregate

    def get(self) -> Any:
        accumulator = self._cursor.cells[self._index]
        return None if accumulator is None else self._aggregate.get_result(accumulator)

    def add(self, value: Any) -> None:
        cells = self._cursor.cells
        accumulator = cells[self._index]
        if accumulator is None:
            accumulator = self._aggregate.create_accumulator()
        cells[self._index] = self._aggregate.add(value, accumulator)


class Ttl:
    """The rules of a `StateTtlConfig` on pairs (value, last use)."""

    __slots__ = ("cursor", "in_background", "on_read", "show_expired", "ttl_ms")

    def __init__(self, cursor: Cursor, config: StateTtlConfig) -> None:
        self.cursor = cursor
        self.ttl_ms = config.ttl_ms
        self.in_background = config.cleanup_in_background
        self.on_read = config.update_type is StateTtlConfig.UpdateType.OnReadAndWrite
        self.show_expired = (
            config.visibility is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
        )

    def wrap(self, value: Any) -> tuple[Any, int]:
        return value, self.cursor.now_ms

    def expired(self, pair: tuple[Any, int]) -> bool:
        return pair[1] + self.ttl_ms <= self.cursor.now_ms

    def visible(self, pair: tuple[Any, int]) -> bool:
        return self.show_expired or not self.expired(pair)

    def touched(self, pair: tuple[Any, int]) -> tuple[Any, int]:
        """The pair after a read. An expired one that is shown once is not revived by it."""
        return self.wrap(pair[0]) if self.on_read and not self.expired(pair) else pair


class TtlValueCell(ValueCell):
    """A value that expires."""

    __slots__ = ("_ttl",)

    def __init__(self, cursor: Cursor, index: int, ttl: Ttl) -> None:
        super().__init__(cursor, index)
        self._ttl = ttl

    def value(self) -> Any:
        return _read_pair(self._cursor.cells, self._index, self._ttl)

    def update(self, value: Any) -> None:
        self._cursor.cells[self._index] = None if value is None else self._ttl.wrap(value)


def _read_pair(cells: list[Any], index: int, ttl: Ttl) -> Any:
    pair = cells[index]
    if pair is None:
        return None
    if not ttl.visible(pair):
        cells[index] = None
        return None
    cells[index] = None if ttl.expired(pair) else ttl.touched(pair)
    return pair[0]


class TtlListCell(ListCell):
    """A list whose elements expire one by one."""

    __slots__ = ("_ttl",)

    def __init__(self, cursor: Cursor, index: int, ttl: Ttl) -> None:
        super().__init__(cursor, index)
        self._ttl = ttl

    def get(self) -> Iterable[Any]:
        ttl, cells = self._ttl, self._cursor.cells
        content = cells[self._index]
        if isinstance(content, LongList) and not (ttl.on_read or ttl.show_expired):
            content = cells[self._index] = content.without_expired(ttl.expired)
            if isinstance(content, LongList):
                elements = iter(content)
                return (pair[0] for pair in elements if not ttl.expired(pair))
        pairs = list(content or ())
        shown = [pair[0] for pair in pairs if ttl.visible(pair)]
        cells[self._index] = [ttl.touched(pair) for pair in pairs if not ttl.expired(pair)] or None
        return iter(shown)

    def add(self, value: Any) -> None:
        super().add(self._ttl.wrap(value))

    def update(self, values: Iterable[Any]) -> None:
        super().update([self._ttl.wrap(value) for value in values])


class TtlMapCell(MapCell):
    """A map whose entries expire one by one."""

    __slots__ = ("_ttl",)

    def __init__(self, cursor: Cursor, index: int, ttl: Ttl) -> None:
        super().__init__(cursor, index)
        self._ttl = ttl

    def _map(self) -> dict[Any, Any]:
        """The visible entries; expired ones are removed by the way."""
        ttl = self._ttl
        pairs = list(super()._map().items())
        for key, pair in pairs:
            if ttl.expired(pair):
                self.remove(key)
        return {key: pair[0] for key, pair in pairs if ttl.visible(pair)}

    def _read(self, key: Any) -> Any:
        """The visible pair of a key, or None; it is used by this, or removed if it has expired."""
        ttl, pairs, key = self._ttl, super()._map(), map_identity(key)
        pair = pairs.get(key)
        if pair is None:
            return None
        if ttl.expired(pair):
            self.remove(key)
        elif ttl.on_read:
            pairs[key] = ttl.touched(pair)
        return pair if ttl.visible(pair) else None

    def get(self, key: Any) -> Any:
        pair = self._read(key)
        return None if pair is None else pair[0]

    def contains(self, key: Any) -> bool:
        return self._read(key) is not None

    def put(self, key: Any, value: Any) -> None:
        key = map_identity(key)
        pair = super()._map().get(key)
        if pair is not None and self._ttl.expired(pair):
            # It counts as gone: the order of the map must not tell whether it was swept before.
            self.remove(key)
        super().put(key, self._ttl.wrap(value))

    def items(self) -> Iterable[tuple[Any, Any]]:
        content = self._map()
        if self._ttl.on_read:
            for key in content:
                self._read(key)
        return iter([(shown(key), value) for key, value in content.items()])

    def values(self) -> Iterable[Any]:
        return iter([value for _, value in self.items()])


class TtlReducingCell(ReducingCell):
    """A reduced value that expires."""

    __slots__ = ("_ttl",)

    def __init__(
        self, cursor: Cursor, index: int, reduce: Callable[[Any, Any], Any], ttl: Ttl
    ) -> None:
        super().__init__(cursor, index, reduce)
        self._ttl = ttl

    def get(self) -> Any:
        return _read_pair(self._cursor.cells, self._index, self._ttl)

    def add(self, value: Any) -> None:
        current = _read_pair(self._cursor.cells, self._index, self._ttl)
        reduced = value if current is None else self._reduce(current, value)
        self._cursor.cells[self._index] = self._ttl.wrap(reduced)


class TtlAggregatingCell(AggregatingCell):
    """An accumulator that expires."""

    __slots__ = ("_ttl",)

    def __init__(self, cursor: Cursor, index: int, aggregate: Any, ttl: Ttl) -> None:
        super().__init__(cursor, index, aggregate)
        self._ttl = ttl

    def get(self) -> Any:
        accumulator = _read_pair(self._cursor.cells, self._index, self._ttl)
        return None if accumulator is None else self._aggregate.get_result(accumulator)

    def add(self, value: Any) -> None:
        accumulator = _read_pair(self._cursor.cells, self._index, self._ttl)
        if accumulator is None:
            accumulator = self._aggregate.create_accumulator()
        self._cursor.cells[self._index] = self._ttl.wrap(self._aggregate.add(value, accumulator))


def _reduce_callable(function: Any) -> Callable[[Any, Any], Any]:
    reduce: Callable[[Any, Any], Any] = getattr(function, "reduce", function)
    return reduce


def bind(descriptor: StateDescriptor, cursor: Cursor, index: Any) -> api.State:
    """The state object of a descriptor over cell ``index`` of the cursor."""
    if descriptor.kind in ("list", "map"):
        cursor.growing.add(index)
    arguments: list[Any] = [cursor, index]
    if isinstance(descriptor, ReducingStateDescriptor):
        arguments.append(_reduce_callable(descriptor.get_reduce_function()))
    elif isinstance(descriptor, AggregatingStateDescriptor):
        arguments.append(descriptor.get_agg_function())
    config = descriptor.ttl_config
    if config is None or config.update_type is StateTtlConfig.UpdateType.Disabled:
        state: api.State = _PLAIN[descriptor.kind](*arguments)
    else:
        state = _EXPIRING[descriptor.kind](*arguments, Ttl(cursor, config))
    return state


_PLAIN: dict[str, Callable[..., api.State]] = {
    "value": ValueCell,
    "list": ListCell,
    "map": MapCell,
    "reducing": ReducingCell,
    "aggregating": AggregatingCell,
}
_EXPIRING: dict[str, Callable[..., api.State]] = {
    "value": TtlValueCell,
    "list": TtlListCell,
    "map": TtlMapCell,
    "reducing": TtlReducingCell,
    "aggregating": TtlAggregatingCell,
}


def sweep(cells: list[Any], kinds: list[tuple[int, str, Ttl]]) -> bool:
    """Remove what has expired from a key's cells; True if the key has no state left."""
    for index, kind, ttl in kinds:
        content = cells[index]
        if content is None:
            continue
        if isinstance(content, LongList):
            cells[index] = content.without_expired(ttl.expired)
        elif isinstance(content, BigMap):
            content.sweep(ttl.expired)
            cells[index] = content or None
        elif kind == "list":
            cells[index] = [pair for pair in content if not ttl.expired(pair)] or None
        elif kind == "map":
            live = {key: pair for key, pair in content.items() if not ttl.expired(pair)}
            cells[index] = live or None
        elif ttl.expired(content):
            cells[index] = None
    return all(cell is None for cell in cells)
