"""Types with parts: tuples, rows, arrays, lists and maps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from millstream.common.errors import PlanError, user_location
from millstream.common.types import Row, RowKind
from millstream.common.typesystem.atoms import BasicTypeInfo, PickledBytesTypeInfo
from millstream.common.typesystem.base import TypeInformation, got, require_type

_PRIMITIVES = ("BOOLEAN", "BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "CHAR")


def _field_types(types: Iterable[object], what: str) -> tuple[TypeInformation, ...]:
    return tuple(require_type(field, f"field {i} of {what}") for i, field in enumerate(types))


def _fields_misfit(
    types: Sequence[TypeInformation], values: Sequence[Any], labels: Sequence[object]
) -> str | None:
    if len(values) != len(types):
        return f"expected {len(types)} fields, got {len(values)}"
    for label, field, value in zip(labels, types, values, strict=True):
        reason = field.check(value)
        if reason is not None:
            return f"field {label!r}: {reason}"
    return None


@dataclass(frozen=True, repr=False, init=False)
class TupleTypeInfo(TypeInformation[tuple[Any, ...]]):
    """Tuples with a type for each field. Lists, rows and named tuples come back as plain tuples.

    Parameters
    ----------
    field_types : sequence of TypeInformation
        The types, in order.

    Examples
    --------
    >>> from millstream.common.typeinfo import Types
    >>> TupleTypeInfo([Types.STRING(), Types.LONG()])
    TUPLE(STRING, LONG)
    """

    field_types: tuple[TypeInformation, ...]

    def __init__(self, field_types: Sequence[TypeInformation]) -> None:
        object.__setattr__(self, "field_types", _field_types(field_types, "TUPLE"))

    @property
    def kind(self) -> str:
        return "TUPLE"

    @property
    def is_immutable(self) -> bool:
        return False  # a list fits

    def get_field_types(self) -> list[TypeInformation]:
        """The types of the fields."""
        return list(self.field_types)

    def _misfit(self, value: Any) -> str | None:
        if isinstance(value, Row) and value.get_row_kind() is not RowKind.INSERT:
            return f"a row of kind {value.get_row_kind()} cannot be stored as a TUPLE"
        if not isinstance(value, (tuple, list, Row)):
            return got(value, "tuple")
        return _fields_misfit(self.field_types, tuple(value), range(len(value)))

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.kind, "fields": [field.to_dict() for field in self.field_types]}

    def __repr__(self) -> str:
        return f"TUPLE({', '.join(map(repr, self.field_types))})"


@dataclass(frozen=True, repr=False, init=False)
class RowTypeInfo(TypeInformation[Row]):
    """Rows with a type, and perhaps a name, for each field.

    A `Row`, a tuple or a list fits by position, a dict by name; a named `Row` fits by name if the type
    has names. They come back as `Row`, named if the type has names. Without names, the fields answer
    to ``f0``, ``f1`` and so on.

    Parameters
    ----------
    field_types : sequence of TypeInformation
        The types, in order.
    field_names : sequence of str, optional
        The names, in order.

    Examples
    --------
    >>> from millstream.common.typeinfo import Types
    >>> RowTypeInfo([Types.STRING(), Types.LONG()], ["name", "age"])
    ROW_NAMED(name: STRING, age: LONG)
    """

    field_types: tuple[TypeInformation, ...]
    field_names: tuple[str, ...] | None

    def __init__(
        self, field_types: Sequence[TypeInformation], field_names: Sequence[str] | None = None
    ) -> None:
        object.__setattr__(self, "field_types", _field_types(field_types, "ROW"))
        names = None if field_names is None else _checked_names(field_names, self.field_types)
        object.__setattr__(self, "field_names", names)

    @property
    def kind(self) -> str:
        return "ROW"

    @property
    def is_immutable(self) -> bool:
        return False

    def get_field_types(self) -> list[TypeInformation]:
        """The types of the fields."""
        return list(self.field_types)

    def get_field_names(self) -> list[str]:
        """The names of the fields; ``f0``, ``f1`` and so on if the type has none."""
        if self.field_names is None:
            return [f"f{i}" for i in range(len(self.field_types))]
        return list(self.field_names)

    def get_field_index(self, field_name: str) -> int:
        """The position of a field, -1 if there is no such field."""
        names = self.get_field_names()
        return names.index(field_name) if field_name in names else -1

    def positional(self, value: Any) -> Sequence[Any] | str:
        """The values of a row in the order of the type's fields, or why there is no such order."""
        if isinstance(value, Row):
            if value.get_row_kind() is not RowKind.INSERT:
                return f"a row of kind {value.get_row_kind()} cannot be stored as a ROW"
            if self.field_names is None or value._fields is None:
                return value._values
            return self._by_name(dict(zip(value._fields, value._values, strict=False)))
        if isinstance(value, dict):
            return self._by_name(value)
        return value if isinstance(value, (tuple, list)) else got(value, "Row")

    def _by_name(self, value: dict[Any, Any]) -> Sequence[Any] | str:
        names = self.get_field_names()
        if value.keys() != set(names):
            found = ", ".join(map(str, value))
            return f"expected the fields {', '.join(names)}, got {found or 'none'}"
        return [value[name] for name in names]

    def _misfit(self, value: Any) -> str | None:
        values = self.positional(value)
        if isinstance(values, str):
            return values
        labels = self.field_names or range(len(self.field_types))
        return _fields_misfit(self.field_types, values, labels)

    def to_dict(self) -> dict[str, Any]:
        names = None if self.field_names is None else list(self.field_names)
        fields = [field.to_dict() for field in self.field_types]
        return {"type": self.kind, "fields": fields, "names": names}

    def __repr__(self) -> str:
        if self.field_names is None:
            return f"ROW({', '.join(map(repr, self.field_types))})"
        pairs = zip(self.field_names, self.field_types, strict=True)
        return f"ROW_NAMED({', '.join(f'{name}: {field}' for name, field in pairs)})"


@dataclass(frozen=True, repr=False)
class ChangesTypeInfo(PickledBytesTypeInfo):
    """Rows with kinds, which are changes of a table. They are pickled, since a ROW stores no kind.

    Parameters
    ----------
    row : RowTypeInfo
        The type of the rows without their kinds.

    Examples
    --------
    >>> from millstream.common.typeinfo import Types
    >>> ChangesTypeInfo(Types.ROW([Types.LONG()])).get_field_names()
    ['f0']
    """

    row: RowTypeInfo

    def get_field_types(self) -> list[TypeInformation]:
        """The types of the fields."""
        return self.row.get_field_types()

    def get_field_names(self) -> list[str]:
        """The names of the fields."""
        return self.row.get_field_names()


def _checked_names(names: Sequence[object], types: Sequence[TypeInformation]) -> tuple[str, ...]:
    checked = tuple(name for name in names if isinstance(name, str) and name)
    if len(checked) == len(names) == len(types) and len(set(checked)) == len(checked):
        return checked
    raise PlanError(
        "INVALID_FIELD_NAMES",
        f"ROW_NAMED got the names {list(names)!r} for {len(types)} field types",
        location=user_location(),
        hint="give one name per field, none of them empty or twice",
    )


class _ItemsTypeInfo(TypeInformation):
    """Base of lists and arrays: values are lists (or tuples), and are returned as lists."""

    element_type: TypeInformation

    @property
    def is_immutable(self) -> bool:
        return False

    def _misfit(self, value: Any) -> str | None:
        if not isinstance(value, (list, tuple)):
            return got(value, "list")
        for index, item in enumerate(value):
            reason = self.element_type.check(item)
            if reason is not None:
                return f"item {index}: {reason}"
        return None

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.kind, "element": self.element_type.to_dict()}

    def __repr__(self) -> str:
        return f"{self.kind}({self.element_type})"


def _require_element(element: object, kinds: Sequence[str], what: str, instead: str) -> None:
    checked = require_type(element, what)
    if isinstance(checked, BasicTypeInfo) and checked.kind in kinds:
        return
    raise PlanError(
        "INVALID_ELEMENT_TYPE",
        f"{what} cannot hold {checked}",
        location=user_location(),
        hint=f"use {instead}, or one of {', '.join(kinds)} as the element type",
    )


@dataclass(frozen=True, repr=False)
class PrimitiveArrayTypeInfo(_ItemsTypeInfo):
    """Arrays of numbers, booleans or characters, none of them None.

    ``PRIMITIVE_ARRAY(BYTE)`` is the type of `bytes`.

    Parameters
    ----------
    element_type : TypeInformation
        A primitive type.

    Examples
    --------
    >>> from millstream.common.typeinfo import Types
    >>> PrimitiveArrayTypeInfo(Types.BYTE()).check(b"abc")
    """

    element_type: TypeInformation

    def __post_init__(self) -> None:
        _require_element(self.element_type, _PRIMITIVES, "PRIMITIVE_ARRAY", "OBJECT_ARRAY")

    @property
    def kind(self) -> str:
        return "PRIMITIVE_ARRAY"

    @property
    def holds_bytes(self) -> bool:
        """True for the type of `bytes`."""
        return self.element_type.kind == "BYTE"

    @property
    def is_immutable(self) -> bool:
        return self.holds_bytes

    def _misfit(self, value: Any) -> str | None:
        if self.holds_bytes:
            return None if isinstance(value, bytes) else got(value, "bytes")
        reason = super()._misfit(value)
        if reason is None and None in value:
            return f"item {value.index(None)} is None, which only a BASIC_ARRAY can hold"
        return reason


@dataclass(frozen=True, repr=False)
class BasicArrayTypeInfo(_ItemsTypeInfo):
    """Arrays of numbers, booleans, characters or strings, some of which may be None.

    Parameters
    ----------
    element_type : TypeInformation
        A primitive type or STRING.

    Examples
    --------
    >>> from millstream.common.typeinfo import Types
    >>> BasicArrayTypeInfo(Types.STRING())
    BASIC_ARRAY(STRING)
    """

    element_type: TypeInformation

    def __post_init__(self) -> None:
        _require_element(self.element_type, (*_PRIMITIVES, "STRING"), "BASIC_ARRAY", "OBJECT_ARRAY")

    @property
    def kind(self) -> str:
        return "BASIC_ARRAY"


@dataclass(frozen=True, repr=False)
class ObjectArrayTypeInfo(_ItemsTypeInfo):
    """Arrays of values of any type.

    Parameters
    ----------
    element_type : TypeInformation
        The type of the items.

    Examples
    --------
    >>> from millstream.common.typeinfo import Types
    >>> ObjectArrayTypeInfo(Types.LIST(Types.LONG()))
    OBJECT_ARRAY(LIST(LONG))
    """

    element_type: TypeInformation

    def __post_init__(self) -> None:
        require_type(self.element_type, "OBJECT_ARRAY")

    @property
    def kind(self) -> str:
        return "OBJECT_ARRAY"


@dataclass(frozen=True, repr=False)
class ListTypeInfo(_ItemsTypeInfo):
    """Lists with one type for all items.

    Parameters
    ----------
    element_type : TypeInformation
        The type of the items.

    Examples
    --------
    >>> from millstream.common.typeinfo import Types
    >>> ListTypeInfo(Types.LONG()).check([1, "a"])
    'item 1: expected int, got str'
    """

    element_type: TypeInformation

    def __post_init__(self) -> None:
        require_type(self.element_type, "LIST")

    @property
    def kind(self) -> str:
        return "LIST"


def _is_hashable(key: TypeInformation) -> bool:
    if isinstance(key, (TupleTypeInfo, RowTypeInfo)):
        return all(map(_is_hashable, key.field_types))
    if isinstance(key, PrimitiveArrayTypeInfo):
        return key.holds_bytes
    return not isinstance(key, (_ItemsTypeInfo, MapTypeInfo))


@dataclass(frozen=True, repr=False)
class MapTypeInfo(TypeInformation):
    """Dicts with one type for all keys and one for all values; keys are never None.

    Parameters
    ----------
    key_type : TypeInformation
        The type of the keys.
    value_type : TypeInformation
        The type of the values.

    Examples
    --------
    >>> from millstream.common.typeinfo import Types
    >>> MapTypeInfo(Types.STRING(), Types.LONG())
    MAP(STRING, LONG)
    """

    key_type: TypeInformation
    value_type: TypeInformation

    def __post_init__(self) -> None:
        require_type(self.value_type, "the value of MAP")
        if not _is_hashable(require_type(self.key_type, "the key of MAP")):
            raise PlanError(
                "INVALID_KEY_TYPE",
                f"a MAP cannot have keys of type {self.key_type}",
                location=user_location(),
                hint="lists and dicts cannot be keys of a Python dict; use a TUPLE",
            )

    @property
    def kind(self) -> str:
        return "MAP"

    @property
    def is_immutable(self) -> bool:
        return False

    def _misfit(self, value: Any) -> str | None:
        if not isinstance(value, dict):
            return got(value, "dict")
        if None in value:
            return "None cannot be a key of a MAP"
        for key, item in value.items():
            reason = self.key_type.check(key)
            if reason is not None:
                return f"key {key!r}: {reason}"
            reason = self.value_type.check(item)
            if reason is not None:
                return f"value of key {key!r}: {reason}"
        return None

    def to_dict(self) -> dict[str, Any]:
        key, value = self.key_type.to_dict(), self.value_type.to_dict()
        return {"type": self.kind, "key": key, "value": value}

    def __repr__(self) -> str:
        return f"MAP({self.key_type}, {self.value_type})"
