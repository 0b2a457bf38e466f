"""The schema that a table descriptor or a stream declares: columns, watermark, primary key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from millstream.common.errors import PlanError
from millstream.table.environment.resolved_schema import (
    ComputedColumn,
    MetadataColumn,
    ResolvedSchema,
)
from millstream.table.fluent.expression_base import quoted, sql_text
from millstream.table.table_schema import TableSchema
from millstream.table.types.data_types import DataType, RowType, logical_of

__all__ = ["Schema", "SchemaColumn"]


@dataclass(frozen=True)
class SchemaColumn:
    """A column that is declared: with a type, an expression of SQL, or a key of metadata.

    ``shown`` is its type or expression as Flink prints it: what was given as a text is in brackets.
    """

    name: str
    kind: Literal["physical", "computed", "metadata"]
    type_text: str = ""
    expression: str = ""
    metadata_key: str | None = None
    virtual: bool = False
    shown: str = ""

    def sql(self) -> str:
        """The column as DDL has it."""
        if self.kind == "computed":
            return f"{quoted(self.name)} AS {self.expression}"
        return f"{quoted(self.name)} {self.type_text}{self._origin()}"

    def _origin(self) -> str:
        if self.kind != "metadata":
            return ""
        key = f" FROM '{self.metadata_key}'" if self.metadata_key else ""
        return f" METADATA{key}{' VIRTUAL' if self.virtual else ''}"

    def __str__(self) -> str:
        link = " AS " if self.kind == "computed" else " "
        return f"{quoted(self.name)}{link}{self.shown}{self._origin()}"


@dataclass(frozen=True)
class Schema:
    """Columns, at most one watermark, and a primary key.

    Examples
    --------
    >>> from millstream.table.types import DataTypes
    >>> print(Schema.new_builder().column("id", DataTypes.BIGINT().not_null()).primary_key("id").build())
    (
      `id` BIGINT NOT NULL,
      CONSTRAINT `PK_id` PRIMARY KEY (`id`) NOT ENFORCED
    )
    """

    columns: tuple[SchemaColumn, ...] = ()
    watermark: tuple[str, str] | None = None
    primary_key: tuple[str, ...] = ()
    primary_key_name: str | None = None
    watermark_shown: str = ""

    @staticmethod
    def new_builder() -> Schema.Builder:
        """A builder."""
        return Schema.Builder()

    def sql(self) -> str:
        """The text between the brackets of CREATE TABLE."""
        mark = self.watermark[1] if self.watermark else ""
        return ", ".join(self._parts([each.sql() for each in self.columns], mark))

    def _parts(self, columns: list[str], mark: str) -> list[str]:
        parts = list(columns)
        if self.watermark:
            parts.append(f"WATERMARK FOR {quoted(self.watermark[0])} AS {mark}")
        if self.primary_key:
            name = f"CONSTRAINT {quoted(self.primary_key_name)} " if self.primary_key_name else ""
            keys = ", ".join(map(quoted, self.primary_key))
            parts.append(f"{name}PRIMARY KEY ({keys}) NOT ENFORCED")
        return parts

    def __str__(self) -> str:
        parts = self._parts(list(map(str, self.columns)), self.watermark_shown)
        return "(\n" + ",\n".join(f"  {part}" for part in parts) + "\n)"

    class Builder:
        """Collects columns."""

        def __init__(self) -> None:
            self._columns: list[SchemaColumn] = []
            self._watermark: tuple[str, str] | None = None
            self._watermark_shown = ""
            self._key: tuple[str, ...] = ()
            self._key_name: str | None = None

        def from_schema(self, unresolved_schema: Schema) -> Schema.Builder:
            """Add all of another schema."""
            self._columns += unresolved_schema.columns
            if unresolved_schema.watermark:
                self._watermark = unresolved_schema.watermark
                self._watermark_shown = unresolved_schema.watermark_shown
            if unresolved_schema.primary_key:
                self._key = unresolved_schema.primary_key
                self._key_name = unresolved_schema.primary_key_name
            return self

        def from_resolved_schema(
            self, resolved_schema: ResolvedSchema | TableSchema
        ) -> Schema.Builder:
            """Add the columns of a table, its watermark and its primary key."""
            given = resolved_schema
            if isinstance(given, TableSchema):
                return self.from_fields(given.get_field_names(), given.get_field_data_types())
            for each in given.get_columns():
                if isinstance(each, ComputedColumn):
                    self.column_by_expression(each.name, each.expression)
                elif isinstance(each, MetadataColumn):
                    kind = each.get_data_type()
                    self.column_by_metadata(each.name, kind, each.metadata_key, each.virtual)
                else:
                    self.column(each.name, each.get_data_type())
            for mark in given.get_watermark_specs():
                self.watermark(mark.get_rowtime_attribute(), mark.get_watermark_expression())
            key = given.get_primary_key()
            return self if key is None else self.primary_key_named(key.name, *key.columns)

        def from_row_data_type(self, data_type: DataType) -> Schema.Builder:
            """Add the fields of a row type as columns."""
            assert isinstance(data_type, RowType), "from_row_data_type takes DataTypes.ROW(...)"
            return self.from_fields(data_type.field_names(), data_type.field_types())

        def from_fields(
            self, field_names: Sequence[str], field_data_types: Sequence[DataType]
        ) -> Schema.Builder:
            """Add columns of names and types."""
            for name, data_type in zip(field_names, field_data_types, strict=True):
                self.column(name, data_type)
            return self

        def column(self, column_name: str, data_type: str | DataType) -> Schema.Builder:
            """Add a column of a type; a text is a type of SQL."""
            text = logical_of(data_type).as_serializable()
            shown = _type_shown(data_type)
            self._columns.append(SchemaColumn(column_name, "physical", text, shown=shown))
            return self

        def column_by_expression(self, column_name: str, expr: Any) -> Schema.Builder:
            """Add a column that is computed; a text is SQL."""
            text, shown = sql_text(expr), _expression_shown(expr)
            column = SchemaColumn(column_name, "computed", expression=text, shown=shown)
            self._columns.append(column)
            return self

        def column_by_metadata(
            self,
            column_name: str,
            data_type: DataType | str,
            metadata_key: str | None = None,
            is_virtual: bool = False,
        ) -> Schema.Builder:
            """Add a column of what the connector knows about a row; a virtual one is not written."""
            text = logical_of(data_type).as_serializable()
            shown = _type_shown(data_type)
            column = SchemaColumn(
                column_name, "metadata", text, "", metadata_key, is_virtual, shown
            )
            self._columns.append(column)
            return self

        def watermark(self, column_name: str, watermark_expr: Any) -> Schema.Builder:
            """Make a column the time of the table, with its watermark."""
            self._watermark = (column_name, sql_text(watermark_expr))
            self._watermark_shown = _expression_shown(watermark_expr)
            return self

        def primary_key(self, *column_names: str) -> Schema.Builder:
            """Set the primary key; its name is made of the columns."""
            return self.primary_key_named(f"PK_{'_'.join(column_names)}", *column_names)

        def primary_key_named(self, constraint_name: str, *column_names: str) -> Schema.Builder:
            """Set the primary key, with a name."""
            if not column_names:
                message = "a primary key has at least one column"
                hint = "name them: primary_key('id')"
                raise PlanError("BAD_SCHEMA", message, hint=hint)
            self._key, self._key_name = column_names, constraint_name
            return self

        def build(self) -> Schema:
            """The schema."""
            mark, shown = self._watermark, self._watermark_shown
            return Schema(tuple(self._columns), mark, self._key, self._key_name, shown)


def _type_shown(given: str | DataType) -> str:
    return f"[{given}]" if isinstance(given, str) else given.logical.as_summary()


def _expression_shown(given: Any) -> str:
    return f"[{given}]" if isinstance(given, str) else str(given)
