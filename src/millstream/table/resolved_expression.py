"""Expressions of a table's declaration, whose types are known."""

from __future__ import annotations

from millstream.table.expression import Expression
from millstream.table.types.data_types import DataType, data_type
from millstream.table.types.logical import LogicalType

__all__ = ["ResolvedExpression"]


class ResolvedExpression(Expression):
    """An expression over the columns of a table, with the type of its values.

    Examples
    --------
    >>> from millstream.table.types import DataTypes
    >>> found = ResolvedExpression.of("`ts` - INTERVAL '5' SECOND", DataTypes.TIMESTAMP(3).logical)
    >>> print(found.as_summary_string(), found.get_output_data_type())
    `ts` - INTERVAL '5' SECOND TIMESTAMP
    """

    @classmethod
    def of(cls, sql: str, output: LogicalType) -> ResolvedExpression:
        """The expression of a text of SQL, with its type."""
        return cls("text", (sql,), data=output)

    @property
    def output(self) -> LogicalType:
        """The type of the values."""
        found: LogicalType = self._data
        return found

    def get_output_data_type(self) -> DataType:
        """The type of the values."""
        return data_type(self.output)

    def get_resolved_children(self) -> list[ResolvedExpression]:
        """An empty list: the parts of the text are not expressions of their own."""
        return []

    def as_serializable_string(self) -> str:
        """The expression in SQL."""
        return str(self)

    def as_summary_string(self) -> str:
        """The expression in SQL."""
        return str(self)
