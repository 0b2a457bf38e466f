"""The columns of a table as they are known in the end: kinds, types, watermark and primary key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Self

from millstream.table.fluent.expression_base import literal_text, quoted
from millstream.table.logical.entries import TableColumn, TableEntry
from millstream.table.resolved_expression import ResolvedExpression
from millstream.table.types.data_types import DataType, RowField, RowType, data_type, logical_of
from millstream.table.types.logical import LogicalType
from millstream.table.types.logical import RowType as LogicalRowType

__all__ = [
    "Column",
    "ComputedColumn",
    "Constraint",
    "MetadataColumn",
    "PhysicalColumn",
    "ResolvedSchema",
    "UniqueConstraint",
    "WatermarkSpec",
]


@dataclass(frozen=True)
class Column(ABC):
    """A column of a `ResolvedSchema`. ``type`` knows whether it is a time of the table.

    Examples
    --------
    >>> from millstream.table.types import DataTypes
    >>> print(Column.metadata("t", DataTypes.TIMESTAMP(3), "timestamp", True))
    `t` TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL
    """

    name: str
    type: LogicalType
    comment: str | None

    @staticmethod
    def physical(name: str, data_type: DataType) -> PhysicalColumn:
        """A column that the connector reads and writes."""
        return PhysicalColumn(name, logical_of(data_type), None)

    @staticmethod
    def computed(name: str, resolved_expression: ResolvedExpression) -> ComputedColumn:
        """A column that is computed of others."""
        return ComputedColumn(name, resolved_expression.output, None, resolved_expression)

    @staticmethod
    def metadata(
        name: str, data_type: DataType, metadata_key: str | None, is_virtual: bool
    ) -> MetadataColumn:
        """A column of what the connector knows about a row; a virtual one is not written."""
        return MetadataColumn(name, logical_of(data_type), None, metadata_key, is_virtual)

    def get_name(self) -> str:
        """The name."""
        return self.name

    def get_data_type(self) -> DataType:
        """The type."""
        return data_type(self.type)

    def get_comment(self) -> str | None:
        """The comment, None if there is none."""
        return self.comment

    def with_comment(self, comment: str | None) -> Self:
        """The column with a comment."""
        return replace(self, comment=comment)

    def copy(self, new_data_type: DataType) -> Self:
        """The column with another type."""
        return replace(self, type=logical_of(new_data_type))

    def rename(self, new_name: str) -> Self:
        """The column with another name."""
        return replace(self, name=new_name)

    @abstractmethod
    def is_physical(self) -> bool:
        """Whether it is neither computed nor metadata."""

    @abstractmethod
    def is_persisted(self) -> bool:
        """Whether INSERT writes it."""

    @abstractmethod
    def explain_extras(self) -> str | None:
        """The text behind its type, None for a physical column."""

    def as_summary_string(self) -> str:
        """The column as `Table.print_schema` prints it."""
        extras = self.explain_extras()
        comment = f" COMMENT '{self.comment}'" if self.comment is not None else ""
        shown = f"{quoted(self.name)} {self.type.as_summary()}"
        return f"{shown}{' ' + extras if extras else ''}{comment}"

    def __str__(self) -> str:
        return self.as_summary_string()


@dataclass(frozen=True)
class PhysicalColumn(Column):
    """A column that the connector reads and writes."""

    def is_physical(self) -> bool:
        return True

    def is_persisted(self) -> bool:
        return True

    def explain_extras(self) -> str | None:
        return None

    __str__ = Column.__str__


@dataclass(frozen=True)
class ComputedColumn(Column):
    """A column that is computed of others."""

    expression: ResolvedExpression

    def is_physical(self) -> bool:
        return False

    def is_persisted(self) -> bool:
        return False

    def get_expression(self) -> ResolvedExpression:
        """The expression."""
        return self.expression

    def explain_extras(self) -> str:
        return f"AS {self.expression.as_summary_string()}"

    def __eq__(self, other: object) -> bool:
        # `==` of expressions makes an expression.
        return isinstance(other, ComputedColumn) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


@dataclass(frozen=True)
class MetadataColumn(Column):
    """A column of what the connector knows about a row."""

    metadata_key: str | None
    virtual: bool

    def is_physical(self) -> bool:
        return False

    def is_persisted(self) -> bool:
        return not self.virtual

    def is_virtual(self) -> bool:
        """Whether INSERT leaves it out."""
        return self.virtual

    def get_metadata_key(self) -> str | None:
        """The name that the connector has for it, None if it is that of the column."""
        return self.metadata_key

    def explain_extras(self) -> str:
        source = f" FROM {literal_text(self.metadata_key)}" if self.metadata_key else ""
        return f"METADATA{source}{' VIRTUAL' if self.virtual else ''}"


class WatermarkSpec:
    """Which column is the time of a table, and how its watermark is computed."""

    def __init__(self, rowtime_attribute: str, watermark_expression: ResolvedExpression) -> None:
        self._column = rowtime_attribute
        self._expression = watermark_expression

    @staticmethod
    def of(rowtime_attribute: str, watermark_expression: ResolvedExpression) -> WatermarkSpec:
        """The watermark of a column."""
        return WatermarkSpec(rowtime_attribute, watermark_expression)

    def get_rowtime_attribute(self) -> str:
        """The name of the column."""
        return self._column

    def get_watermark_expression(self) -> ResolvedExpression:
        """The watermark."""
        return self._expression

    def as_summary_string(self) -> str:
        """The watermark as `Table.print_schema` prints it."""
        output = self._expression.output.as_summary()
        return f"WATERMARK FOR {quoted(self._column)}: {output} AS {self._expression}"

    __str__ = as_summary_string

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WatermarkSpec) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


@dataclass(frozen=True)
class Constraint(ABC):
    """A condition for the rows of a table."""

    name: str

    class ConstraintType(Enum):
        """Kinds of constraints."""

        PRIMARY_KEY = 0
        UNIQUE_KEY = 1

    def get_name(self) -> str:
        """The name."""
        return self.name

    def is_enforced(self) -> bool:
        """False: nobody checks the rows of a connector."""
        return False

    @abstractmethod
    def get_type(self) -> Constraint.ConstraintType:
        """The kind."""

    @abstractmethod
    def as_summary_string(self) -> str:
        """The constraint as `Table.print_schema` prints it."""


@dataclass(frozen=True)
class UniqueConstraint(Constraint):
    """A primary key.

    Examples
    --------
    >>> print(UniqueConstraint.primary_key("pk", ["id"]))
    CONSTRAINT `pk` PRIMARY KEY (`id`) NOT ENFORCED
    """

    columns: tuple[str, ...]

    @staticmethod
    def primary_key(name: str, columns: Sequence[str]) -> UniqueConstraint:
        """A primary key that is not enforced."""
        return UniqueConstraint(name, tuple(columns))

    def get_columns(self) -> list[str]:
        """The names of its columns."""
        return list(self.columns)

    def get_type(self) -> Constraint.ConstraintType:
        return Constraint.ConstraintType.PRIMARY_KEY

    def get_type_string(self) -> str:
        """``PRIMARY KEY``."""
        return "PRIMARY KEY"

    def as_summary_string(self) -> str:
        keys = ", ".join(map(quoted, self.columns))
        return f"CONSTRAINT {quoted(self.name)} PRIMARY KEY ({keys}) NOT ENFORCED"

    def __str__(self) -> str:
        return self.as_summary_string()


class ResolvedSchema:
    """The columns of a table, its watermark and its primary key.

    Examples
    --------
    >>> from millstream.table.types import DataTypes
    >>> print(ResolvedSchema.physical(["id", "word"], [DataTypes.INT().not_null(), DataTypes.STRING()]))
    (
      `id` INT NOT NULL,
      `word` STRING
    )
    """

    def __init__(
        self,
        columns: Sequence[Column],
        watermark_specs: Sequence[WatermarkSpec] = (),
        primary_key: UniqueConstraint | None = None,
    ) -> None:
        self._columns = list(columns)
        self._watermarks = list(watermark_specs)
        self._key = primary_key

    @staticmethod
    def of(columns: Sequence[Column]) -> ResolvedSchema:
        """A schema of columns only."""
        return ResolvedSchema(columns)

    @staticmethod
    def physical(
        column_names: Sequence[str], column_data_types: Sequence[DataType]
    ) -> ResolvedSchema:
        """A schema of physical columns only."""
        pairs = zip(column_names, column_data_types, strict=True)
        return ResolvedSchema([Column.physical(name, kind) for name, kind in pairs])

    @staticmethod
    def of_row_type(row_type: LogicalRowType) -> ResolvedSchema:
        """The schema of the result of a query."""
        fields = row_type.fields
        return ResolvedSchema([PhysicalColumn(each.name, each.type, None) for each in fields])

    @staticmethod
    def of_table(entry: TableEntry) -> ResolvedSchema:
        """The schema of a table of a catalog."""
        marks = []
        if entry.watermark is not None:
            mark = entry.watermark
            expression = ResolvedExpression.of(mark.text, mark.expression.type)
            marks.append(WatermarkSpec(mark.column, expression))
        key = None
        if entry.primary_key:
            key = UniqueConstraint(entry.primary_key_name or "", entry.primary_key)
        return ResolvedSchema([_column(each) for each in entry.columns], marks, key)

    def get_column_count(self) -> int:
        """The number of columns."""
        return len(self._columns)

    def get_columns(self) -> list[Column]:
        """All columns."""
        return list(self._columns)

    def get_column_names(self) -> list[str]:
        """The names of all columns."""
        return [each.name for each in self._columns]

    def get_column_data_types(self) -> list[DataType]:
        """The types of all columns."""
        return [each.get_data_type() for each in self._columns]

    def get_column(self, column_index_or_name: int | str) -> Column | None:
        """The column at a place or of a name, None if there is none."""
        given = column_index_or_name
        if isinstance(given, str):
            return next((each for each in self._columns if each.name == given), None)
        return self._columns[given] if 0 <= given < len(self._columns) else None

    def get_watermark_specs(self) -> list[WatermarkSpec]:
        """The watermark, if there is one."""
        return list(self._watermarks)

    def get_primary_key(self) -> UniqueConstraint | None:
        """The primary key, None if there is none."""
        return self._key

    def get_primary_key_indexes(self) -> list[int]:
        """The places of the columns of the primary key."""
        names = self.get_column_names()
        return [names.index(each) for each in self._key.columns] if self._key else []

    def to_source_row_data_type(self) -> RowType:
        """All columns as one row type."""
        return self._row_type(lambda each: True)

    def to_physical_row_data_type(self) -> RowType:
        """The physical columns as one row type."""
        return self._row_type(lambda each: each.is_physical())

    def to_sink_row_data_type(self) -> RowType:
        """The columns that INSERT writes as one row type."""
        return self._row_type(lambda each: each.is_persisted())

    def _row_type(self, wanted: Callable[[Column], bool]) -> RowType:
        chosen = [each for each in self._columns if wanted(each)]
        return RowType([RowField(each.name, each.get_data_type()) for each in chosen], False)

    def __str__(self) -> str:
        parts = [*self._columns, *self._watermarks, *([self._key] if self._key else [])]
        return "(\n" + ",\n".join(f"  {part}" for part in parts) + "\n)"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResolvedSchema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def _column(column: TableColumn) -> Column:
    name, kind, comment = column.name, column.type, column.comment
    if column.kind == "computed":
        expression = ResolvedExpression.of(column.text or "", kind)
        return ComputedColumn(name, kind, comment, expression)
    if column.kind == "metadata":
        return MetadataColumn(name, kind, comment, column.metadata_key, column.virtual)
    return PhysicalColumn(name, kind, comment)
