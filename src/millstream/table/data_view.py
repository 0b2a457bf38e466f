"""Lists and maps inside of accumulators of aggregate functions, with PyFlink's names."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Generic, TypeVar

__all__ = ["DataView", "ListView", "MapView"]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class DataView:
    """A collection in an accumulator."""

    def clear(self) -> None:
        """Remove everything."""
        raise NotImplementedError


class ListView(DataView, Generic[T]):
    """A list in an accumulator.

    Examples
    --------
    >>> view = ListView()
    >>> view.add(1)
    >>> view.add_all([2, 3])
    >>> list(view.get())
    [1, 2, 3]
    """

    def __init__(self) -> None:
        self._list: list[T] = []

    def get(self) -> Iterable[T]:
        """Return the values."""
        return self._list

    def add(self, value: T) -> None:
        """Add a value at the end."""
        self._list.append(value)

    def add_all(self, values: Iterable[T]) -> None:
        """Add values at the end."""
        self._list.extend(values)

    def clear(self) -> None:
        """Remove everything."""
        self._list = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListView) and list(self.get()) == list(other.get())

    def __hash__(self) -> int:
        return hash(tuple(self._list))

    def __iter__(self) -> Iterator[T]:
        return iter(self._list)


class MapView(DataView, Generic[K, V]):
    """A map in an accumulator.

    Examples
    --------
    >>> view = MapView()
    >>> view["a"] = 1
    >>> view.get("a"), view.get("b"), "a" in view, view.is_empty()
    (1, None, True, False)
    """

    def __init__(self) -> None:
        self._dict: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """Return the value of a key; None if it is not there."""
        return self._dict.get(key)

    def put(self, key: K, value: V) -> None:
        """Set the value of a key."""
        self._dict[key] = value

    def put_all(self, dict_value: Mapping[K, V]) -> None:
        """Set the values of several keys."""
        self._dict.update(dict_value)

    def remove(self, key: K) -> None:
        """Remove a key."""
        del self._dict[key]

    def contains(self, key: K) -> bool:
        """Whether a key is there."""
        return key in self._dict

    def items(self) -> ItemsView[K, V]:
        """Return keys and values."""
        return self._dict.items()

    def keys(self) -> KeysView[K]:
        """Return the keys."""
        return self._dict.keys()

    def values(self) -> ValuesView[V]:
        """Return the values."""
        return self._dict.values()

    def is_empty(self) -> bool:
        """Whether nothing is there."""
        return not self._dict

    def clear(self) -> None:
        """Remove everything."""
        self._dict = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MapView) and self._dict == other._dict

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())
