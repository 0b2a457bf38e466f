"""Rows: records with a fixed number of fields that may have names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Any

__all__ = ["Row", "RowKind"]


class RowKind(Enum):
    """The kind of change that a row of a changelog stands for.

    Examples
    --------
    >>> str(RowKind.UPDATE_AFTER)
    '+U'
    """

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    def __str__(self) -> str:
        return ("+I", "-U", "+U", "-D")[self.value]


def _create_row(
    fields: Sequence[str] | None, values: Iterable[Any], row_kind: RowKind = RowKind.INSERT
) -> Row:
    row = Row(*values)
    row._fields = None if fields is None else tuple(fields)
    row._row_kind = row_kind
    return row


def _create_numbered(values: Iterable[Any], row_kind: RowKind = RowKind.INSERT) -> Row:
    row = _create_row(None, values, row_kind)
    row._numbered = True
    return row


def rows_of(
    fields: tuple[str, ...] | None, lists: Iterable[list[Any]], numbered: bool = False
) -> list[Row]:
    """New rows with the same fields, one of each list of values, which it keeps.

    ``numbered``: rows without names of their own show their fields as f0, f1 and so on.

    Examples
    --------
    >>> rows_of(("a", "b"), [[1, 2], [3, 4]])
    [Row(a=1, b=2), Row(a=3, b=4)]
    >>> rows_of(None, [[1, 2]], numbered=True)
    [Row(f0=1, f1=2)]
    """
    insert, new = RowKind.INSERT, Row.__new__
    rows = []
    # The constructor sorts out its arguments, which takes longer than filling the slots.
    for values in lists:
        row = new(Row)
        row._fields = fields
        row._values = values
        row._row_kind = insert
        row._numbered = numbered
        rows.append(row)
    return rows


def row_maker(fields: tuple[str, ...] | None) -> Callable[[list[Any]], Row]:
    """Return the function that makes rows with these fields, each of a list of values, which it keeps.

    Rows without names show their fields as f0, f1 and so on.

    Examples
    --------
    >>> row_maker(("a", "b"))([1, 2])
    Row(a=1, b=2)
    """
    insert, new, numbered = RowKind.INSERT, Row.__new__, fields is None

    def make(values: list[Any]) -> Row:
        row = new(Row)
        row._fields = fields
        row._values = values
        row._row_kind = insert
        row._numbered = numbered
        return row

    return make


def like(row: Row, values: list[Any]) -> Row:
    """A new row with the fields and the kind of another, which keeps the list of its values.

    Examples
    --------
    >>> like(Row(a=1, b=2), [3, 4])
    Row(a=3, b=4)
    """
    copy = Row.__new__(Row)
    copy._fields = row._fields
    copy._values = values
    copy._row_kind = row._row_kind
    copy._numbered = row._numbered
    return copy


def same_fields(values: list[Any]) -> tuple[tuple[str, ...] | None, list[list[Any]], bool] | None:
    """The fields for `rows_of`, if all values are rows of one kind that are to be inserted.

    Examples
    --------
    >>> same_fields([Row(a=1), Row(a=2)])
    (('a',), [[1], [2]], False)
    >>> same_fields([Row(a=1), Row(b=2)]) is None
    True
    """
    if not values or values[0].__class__ is not Row:
        return None
    fields, numbered, insert = values[0]._fields, values[0]._numbered, RowKind.INSERT
    for value in values:
        if value.__class__ is not Row or value._row_kind is not insert or value._fields != fields:
            return None
        if value._numbered is not numbered:
            return None
    return fields, [value._values for value in values], numbered


class Row:
    """A record with fields, read by position, by name, or as attributes.

    ``Row(1, "a")`` has no names of its own, and its fields answer to ``f0``, ``f1`` and so on;
    ``Row(id=1, name="a")`` has names, in this order. A row without names can be called to make rows
    whose names are its values. Named rows are equal if they hold the same values under the same
    names, in whatever order; a named row never equals one without names. Rows that come back from
    an unnamed ``Types.ROW`` show their fields as ``f0``, ``f1`` and so on.

    Parameters
    ----------
    *args
        The values of a row without names.
    **kwargs
        The values of a row with names.

    Examples
    --------
    >>> row = Row(name="Ada", born=1815)
    >>> row
    Row(name='Ada', born=1815)
    >>> row.name, row["born"], row[0], "name" in row
    ('Ada', 1815, 'Ada', True)
    >>> Row("Ada", 1815).f1
    1815
    >>> Person = Row("name", "born")
    >>> Person("Ada", 1815) == row
    True
    """

    __slots__ = ("_fields", "_numbered", "_row_kind", "_values")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError("a Row takes either values or named values, not both")
        self._fields: tuple[str, ...] | None = tuple(kwargs) if kwargs else None
        self._values: list[Any] = list(kwargs.values()) if kwargs else list(args)
        self._row_kind = RowKind.INSERT
        self._numbered = False

    @staticmethod
    def of_kind(row_kind: RowKind, *args: Any, **kwargs: Any) -> Row:
        """A row of the given kind.

        Examples
        --------
        >>> Row.of_kind(RowKind.DELETE, 1).get_row_kind()
        <RowKind.DELETE: 3>
        """
        row = Row(*args, **kwargs)
        row._row_kind = row_kind
        return row

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        """The values by name; a row without names has ``f0``, ``f1`` and so on.

        Parameters
        ----------
        recursive : bool
            Turn rows inside the row, its lists and its dicts into dicts too.

        Examples
        --------
        >>> Row(a=1, b=Row(c=2)).as_dict(True)
        {'a': 1, 'b': {'c': 2}}
        """
        values = [_plain(value) for value in self._values] if recursive else self._values
        return dict(zip(self._names(), values, strict=False))

    def get_row_kind(self) -> RowKind:
        """Return the kind of change; INSERT unless set."""
        return self._row_kind

    def set_row_kind(self, row_kind: RowKind) -> None:
        """Set what the row says about a changelog."""
        self._row_kind = row_kind

    def set_field_names(self, field_names: Sequence[str]) -> None:
        """Name the fields, in order.

        Examples
        --------
        >>> row = Row(1, 2)
        >>> row.set_field_names(["a", "b"])
        >>> row.b
        2
        """
        if len(field_names) != len(self._values):
            raise ValueError(
                f"{len(field_names)} names for a row of {len(self._values)} fields: {field_names!r}"
            )
        self._fields = tuple(field_names)

    def get_fields_by_names(self, names: Sequence[str]) -> list[Any]:
        """The values under these names; all values of a row that has no names, and not these.

        Examples
        --------
        >>> Row(a=1, b=2).get_fields_by_names(["b", "a"])
        [2, 1]
        """
        if self._fields is None and not set(names) <= set(self._names()):
            return list(self._values)
        return [self._values[self._index(name)] for name in names]

    def _names(self) -> tuple[str, ...]:
        if self._fields is None:
            return tuple([f"f{i}" for i in range(len(self._values))])
        return self._fields

    def _index(self, name: str) -> int:
        try:
            return self._names().index(name)
        except ValueError:
            raise ValueError(f"no field {name!r} in {self!r}") from None

    def _is_retract_msg(self) -> bool:
        return self._row_kind in (RowKind.UPDATE_BEFORE, RowKind.DELETE)

    def _is_accumulate_msg(self) -> bool:
        return self._row_kind in (RowKind.INSERT, RowKind.UPDATE_AFTER)

    def __contains__(self, item: object) -> bool:
        return item in self._names() or (self._fields is None and item in self._values)

    def __call__(self, *args: Any) -> Row:
        if len(args) > len(self._values):
            raise ValueError(f"{len(args)} values for the {len(self._values)} names of {self!r}")
        return _create_row([str(name) for name in self._values], args, self._row_kind)

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, (int, slice)):
            return self._values[item]
        return self._values[self._index(item)]

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, (int, slice)):
            self._values[key] = value
        else:
            self._values[self._index(key)] = value

    def __getattr__(self, name: str) -> Any:
        # Pickle and copy ask for dunder names before the slots are filled.
        if name.startswith("_") or name not in self._names():
            raise AttributeError(name)
        return self._values[self._index(name)]

    def __reduce__(self) -> tuple[Any, ...]:
        if self._numbered and self._fields is None:
            return _create_numbered, (tuple(self._values), self._row_kind)
        if self._row_kind is RowKind.INSERT:
            return _create_row, (self._fields, tuple(self._values))
        return _create_row, (self._fields, tuple(self._values), self._row_kind)

    def __repr__(self) -> str:
        if self._fields is None and not self._numbered:
            return f"<Row({', '.join(map(repr, self._values))})>"
        pairs = zip(self._names(), self._values, strict=False)
        return f"Row({', '.join(f'{name}={value!r}' for name, value in pairs)})"

    def _by_name(self) -> list[tuple[str, Any]]:
        names = self._fields or ()
        return sorted(zip(names, self._values, strict=False), key=lambda pair: pair[0])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row) or self._row_kind is not other._row_kind:
            return False
        if self._fields == other._fields:
            return self._values == other._values
        if self._fields is None or other._fields is None:
            return False
        return self._by_name() == other._by_name()

    def __hash__(self) -> int:
        if self._fields is None:
            return hash(tuple(self._values))
        return hash(tuple(value for _, value in self._by_name()))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _plain(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict(True)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value
