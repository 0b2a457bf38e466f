"""The columns of a table: names and types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from millstream.table.types.data_types import DataType, RowField, RowType, data_type
from millstream.table.types.logical import LogicalType
from millstream.table.types.logical import RowType as LogicalRowType

if TYPE_CHECKING:
    from millstream.table.environment.resolved_schema import ResolvedSchema

__all__ = ["TableSchema"]


class TableSchema:
    """Names and types of columns.

    Examples
    --------
    >>> from millstream.table.types import DataTypes
    >>> TableSchema(["a"], [DataTypes.INT()]).get_field_data_type("a")
    IntType(true)
    """

    def __init__(
        self,
        field_names: Sequence[str] | None = None,
        data_types: Sequence[DataType] | None = None,
    ) -> None:
        self._names = list(field_names or [])
        self._types = list(data_types or [])
        # Of a table: they know which column is its time, and data types do not.
        self._logical: list[LogicalType] | None = None
        self._extras: list[str] = [""] * len(self._names)
        self._marks: list[str] = []

    @classmethod
    def of(cls, row_type: LogicalRowType) -> Self:
        """The columns of a row type."""
        fields = row_type.fields
        found = cls([each.name for each in fields], [data_type(each.type) for each in fields])
        found._logical = [each.type for each in fields]
        return found

    @classmethod
    def of_resolved(cls, schema: ResolvedSchema) -> Self:
        """The columns of a table, with what is computed, the watermark and the primary key."""
        columns = schema.get_columns()
        found = cls([each.name for each in columns], [each.get_data_type() for each in columns])
        found._logical = [each.type for each in columns]
        found._extras = [f" {each.explain_extras() or ''}".rstrip() for each in columns]
        for mark in schema.get_watermark_specs():
            expression = mark.get_watermark_expression()
            kind = expression.output.as_summary()
            name = mark.get_rowtime_attribute()
            found._marks.append(f"WATERMARK FOR {name}: {kind} AS {expression}")
        key = schema.get_primary_key()
        if key is not None:
            keys = ", ".join(key.columns)
            found._marks.append(f"CONSTRAINT {key.name} PRIMARY KEY ({keys})")
        return found

    def copy(self) -> Self:
        """The same columns again."""
        found = type(self)(self._names, self._types)
        found._logical = self._logical
        found._extras, found._marks = self._extras, self._marks
        return found

    def get_field_names(self) -> list[str]:
        """The names."""
        return list(self._names)

    def get_field_data_types(self) -> list[DataType]:
        """The types."""
        return list(self._types)

    def get_field_name(self, field_index: int) -> str | None:
        """The name at a place, None if there is none."""
        return self._names[field_index] if 0 <= field_index < len(self._names) else None

    def get_field_data_type(self, field: int | str) -> DataType | None:
        """The type at a place or of a name, None if there is none."""
        if isinstance(field, str):
            field = self._names.index(field) if field in self._names else -1
        return self._types[field] if 0 <= field < len(self._types) else None

    def get_field_count(self) -> int:
        """The number of columns."""
        return len(self._names)

    def to_row_data_type(self) -> RowType:
        """The columns as one row type."""
        pairs = zip(self._names, self._types, strict=True)
        return RowType([RowField(name, type_) for name, type_ in pairs])

    def _summaries(self) -> list[tuple[str, str]]:
        types = self._logical
        if types is None:
            types = [each.logical for each in self._types]
        return [(n, each.as_summary()) for n, each in zip(self._names, types, strict=True)]

    def __repr__(self) -> str:
        pairs = zip(self._summaries(), self._extras, strict=True)
        columns = [f"{name}: {type_}{extra}" for (name, type_), extra in pairs]
        return "root\n" + "".join(f" |-- {line}\n" for line in [*columns, *self._marks])

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableSchema) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    @classmethod
    def builder(cls) -> TableSchema.Builder:
        """A builder of a schema."""
        return TableSchema.Builder()

    class Builder:
        """Collects columns."""

        def __init__(self) -> None:
            self._fields: list[tuple[str, DataType]] = []

        def field(self, name: str, data_type: DataType) -> TableSchema.Builder:
            """Add a column."""
            self._fields.append((name, data_type))
            return self

        def build(self) -> TableSchema:
            """The schema."""
            names, types = [n for n, _ in self._fields], [t for _, t in self._fields]
            return TableSchema(names, types)
