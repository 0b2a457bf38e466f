"""Keys: which fields of a record, or what a function makes of it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from millstream.common.errors import Location, PlanError, TypeMismatchError, short_repr
from millstream.common.typeinfo import TypeInformation
from millstream.dataset.plan.calls import UserFunction, return_type, user_function
from millstream.dataset.plan.records import (
    PICKLED,
    field_index,
    field_of,
    field_types,
    has_fields,
    is_pickled,
)
from millstream.kernel.keys.encoding import encode_key

__all__ = ["Keys", "SortKey", "identity", "keys_of", "slot_of"]

_PLAIN = frozenset((str, int, bool))
"""Keys that stand for themselves. Others are bytes, so bytes are not among them."""


@dataclass(frozen=True, eq=False)
class Keys:
    """The key of records for an operator: fields, or the result of a function.

    Parameters
    ----------
    fields
        The fields as the program names them; empty for the whole record or with a selector.
    positions
        Their positions, None if nothing is known of the records.
    selector
        The function that computes the key, if there is one.
    types
        The types of the parts of the key; PICKLED where nothing is known.
    """

    fields: tuple[int | str, ...]
    positions: tuple[int, ...] | None
    selector: UserFunction | None
    types: tuple[TypeInformation, ...]
    location: Location | None = None

    @property
    def text(self) -> str:
        """The key as `explain` shows it."""
        if self.selector is not None:
            return "a key selector"
        return ", ".join(map(str, self.fields)) or "the whole record"

    def same_as(self, other: Keys) -> bool:
        """Whether both are the same for each record."""
        if self.selector is not None or other.selector is not None:
            mine, theirs = self.selector, other.selector
            return mine is not None and theirs is not None and mine.function is theirs.function
        return self.fields == other.fields or (
            self.positions is not None and self.positions == other.positions
        )

    def extractor(self) -> Callable[[Any], Any]:
        """The function from a record to its key: one value, or a tuple of several."""
        if self.selector is not None:
            return self._selecting(self.selector)
        if not self.fields:
            return lambda record: record
        if self.positions is not None:
            return operator.itemgetter(*self.positions)
        return self._reading()

    def _selecting(self, selector: UserFunction) -> Callable[[Any], Any]:
        call = selector.call()

        def select(record: Any) -> Any:
            try:
                return call(record)
            except Exception as error:
                raise selector.failed(error, "key selector", record) from error

        return select

    def _reading(self) -> Callable[[Any], Any]:
        """Read fields of records of which nothing is known."""
        fields, location = self.fields, self.location
        whole = all(isinstance(field, int) for field in fields)
        several = len(fields) > 1
        get = operator.itemgetter(*fields) if whole else None

        def read(record: Any) -> Any:
            try:
                if get is not None:
                    if isinstance(record, str | bytes):
                        raise TypeError("has characters, not fields")
                    return get(record)
                found = [field_of(record, field) for field in fields]
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                raise TypeMismatchError(
                    "DATASET_FIELD",
                    f"the record {short_repr(record)} has no field {self.text}",
                    location=location,
                    hint="records must be tuples or Rows with this field; or use a key selector",
                ) from error
            return tuple(found) if several else found[0]

        return read


def keys_of(
    given: Sequence[Any], type_info: TypeInformation, location: Location | None, what: str
) -> Keys:
    """The keys that a program names: positions, names, "*" or a key selector.

    Examples
    --------
    >>> from millstream.common.typeinfo import Types
    >>> pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    >>> keys_of([0], pair, None, "group_by").types
    (STRING,)
    """
    if len(given) == 1 and isinstance(given[0], list | tuple):
        given = tuple(given[0])
    if len(given) == 1 and (callable(given[0]) or hasattr(given[0], "get_key")):
        selector = user_function(given[0], "get_key", 1, location)
        return Keys((), None, selector, (return_type(selector, None),), location)
    if not given or list(given) == ["*"]:
        kinds = tuple(field_types(type_info)) if has_fields(type_info) else (type_info,)
        return Keys((), None, None, kinds, location)
    for field in given:
        if isinstance(field, bool) or not isinstance(field, int | str):
            raise PlanError(
                "DATASET_KEY",
                f"{what}() needs fields by position or name, or one key selector, got "
                f"{short_repr(field)}",
                location=location,
                hint=f'write {what}(0), {what}("name") or {what}(lambda record: ...)',
            )
    places = [field_index(type_info, field, location) for field in given]
    if is_pickled(type_info):
        return Keys(tuple(given), None, None, (PICKLED,) * len(given), location)
    positions = tuple(place for place in places if place is not None)
    every = field_types(type_info)
    kinds = tuple(every[place] for place in positions)
    return Keys(tuple(given), positions, None, kinds, location)


@dataclass(frozen=True, eq=False)
class SortKey:
    """A key that sorts, and its direction."""

    keys: Keys
    descending: bool = False


def identity(key: Any) -> Any:
    """A hashable value that is equal for equal keys only, in every process.

    Examples
    --------
    >>> identity("a")
    'a'
    >>> identity(float("nan")) == identity(float("nan"))
    True
    >>> identity((1.0, "a"))
    (1, 'a')
    """
    kind = key.__class__
    if kind in _PLAIN:
        return key
    if kind is tuple:
        for part in key:
            if part.__class__ not in _PLAIN:
                return tuple(map(identity, key))
        return key
    found = encoded_key(key)
    # What equals a plain value is that value: 1.0 and 1 are one key, and so are named tuples and tuples.
    if found[:1] == b"i":
        return int.from_bytes(found[1:], "little", signed=True)
    if found[:1] == b"s":
        return found[1:].decode("utf-8", "surrogatepass")
    return identity(tuple(key)) if isinstance(key, tuple) and found[:1] == b"t" else found


def encoded_key(key: Any) -> bytes:
    """The bytes of a key; None is a key like any other.

    Examples
    --------
    >>> encoded_key(None)
    b'n'
    """
    return b"n" if key is None else encode_key(key)


def slot_of(key: Any, count: int) -> int:
    """The task of a key, the same in every process.

    Examples
    --------
    >>> slot_of("a", 4) == slot_of("a", 4)
    True
    """
    import zlib

    return 0 if count == 1 else zlib.crc32(encoded_key(key)) % count
