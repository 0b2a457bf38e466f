"""Reading and replacing one field of a record, whatever kind of record it is."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from millstream.common.types import Row

__all__ = ["FieldKey", "FieldsKey", "Projection", "field_of", "with_field"]

_RECORDS = (tuple, list, Row, dict)


def is_record(value: Any) -> bool:
    """Return whether a value has fields; a number or a string counts as its own field 0."""
    return isinstance(value, _RECORDS) or dataclasses.is_dataclass(value)


def field_of(value: Any, field: int | str) -> Any:
    """Return a field by position or name.

    Examples
    --------
    >>> field_of(("a", 1), 1), field_of(Row(n=2), "n"), field_of({"n": 3}, "n"), field_of(4, 0)
    (1, 2, 3, 4)
    """
    if isinstance(value, tuple | list) and type(field) is int:
        return value[field]
    if isinstance(value, Row | dict):
        return value[field]
    if not is_record(value):
        return _scalar(value, field)
    if isinstance(field, str) and hasattr(value, field):
        return getattr(value, field)
    raise _no_field(value, field)


def with_field(value: Any, field: Any, new: Any) -> Any:
    """Return a copy of a record in which one field is another.

    Examples
    --------
    >>> with_field(("a", 1), 1, 5), with_field(Row(n=2), "n", 5), with_field([7, 8], 0, 5)
    (('a', 5), Row(n=5), [5, 8])
    """
    if isinstance(value, Row):
        copy = Row.of_kind(value.get_row_kind(), *value)
        if value._fields is not None:
            copy.set_field_names(value._fields)
        copy[field] = new
        return copy
    if isinstance(value, dict):
        return {**value, field: new}
    if isinstance(value, list):
        return [*value[:field], new, *value[field:][1:]]
    if isinstance(value, tuple):
        return _tuple_with_field(value, field, new)
    return dataclasses.replace(value, **{field: new}) if is_record(value) else new


def _tuple_with_field(value: Any, field: Any, new: Any) -> Any:
    if isinstance(field, str):
        return value._replace(**{field: new})
    items = list(value)
    items[field] = new
    return tuple(items) if type(value) is tuple else value._make(items)


def _scalar(value: Any, field: int | str) -> Any:
    if field != 0:
        raise _no_field(value, field)
    return value


def _no_field(value: Any, field: int | str) -> TypeError:
    return TypeError(f"a {type(value).__name__} has no field {field!r}: {value!r:.200}")


@dataclass(frozen=True, slots=True)
class FieldKey:
    """A key selector that takes one field.

    Examples
    --------
    >>> FieldKey(0)(("a", 1))
    'a'
    """

    field: int | str

    def __call__(self, value: Any) -> Any:
        return field_of(value, self.field)


@dataclass(frozen=True, slots=True)
class FieldsKey:
    """A key selector that takes several fields: the key is the tuple of them.

    Examples
    --------
    >>> FieldsKey((0, 2))(("a", 1, None))
    ('a', None)
    """

    key_fields: tuple[int | str, ...]

    def __call__(self, value: Any) -> Any:
        return tuple([field_of(value, field) for field in self.key_fields])


@dataclass(frozen=True, slots=True)
class Projection:
    """A map function that keeps some fields: of a tuple a tuple, of a row a row.

    Examples
    --------
    >>> Projection((2, 0))(("a", "b", "c"))
    ('c', 'a')
    >>> Projection(("n",))(Row(word="a", n=1))
    Row(n=1)
    """

    fields: tuple[int | str, ...]

    def __call__(self, value: Any) -> Any:
        picked = tuple([field_of(value, field) for field in self.fields])
        if not isinstance(value, Row):
            return picked
        row = Row(*picked)
        if value._fields is not None:
            names = value._fields
            row.set_field_names([f if isinstance(f, str) else names[f] for f in self.fields])
        return row
