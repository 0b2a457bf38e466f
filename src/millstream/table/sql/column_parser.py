"""Parts of DDL: options, columns, constraints, watermarks, distributions, partitions."""

from __future__ import annotations

from millstream.table.sql.expressions import (
    Expression,
    IntervalLiteral,
    NumberLiteral,
    UnaryOperation,
)
from millstream.table.sql.nodes import Identifier, Name
from millstream.table.sql.query_parser import QueryParser
from millstream.table.sql.statements import (
    Column,
    ComputedColumn,
    Distribution,
    LikeOption,
    MetadataColumn,
    Option,
    PartitionValue,
    PhysicalColumn,
    TableConstraint,
    TableLike,
    WatermarkSpec,
)

__all__ = ["ColumnParser"]

_STRATEGIES = ("INCLUDING", "EXCLUDING", "OVERWRITING")
_FEATURES = (
    "ALL",
    "CONSTRAINTS",
    "DISTRIBUTION",
    "GENERATED",
    "METADATA",
    "OPTIONS",
    "PARTITIONS",
    "WATERMARKS",
)


class ColumnParser(QueryParser):
    """Reads what stands in CREATE TABLE and in ALTER TABLE."""

    def if_exists(self) -> bool:
        return self.accept("IF", "EXISTS")

    def if_not_exists(self) -> bool:
        return self.accept("IF", "NOT", "EXISTS")

    def comment(self) -> str | None:
        """``COMMENT '...'``, if it stands here."""
        return self.plain_string() if self.accept("COMMENT") else None

    def identifiers_in_brackets(self) -> tuple[Identifier, ...]:
        self.expect("(")
        found = [self.identifier()]
        while self.accept(","):
            found.append(self.identifier())
        self.expect(")")
        return tuple(found)

    def options(self) -> tuple[Option, ...]:
        """``('key' = 'value', ...)``, perhaps empty."""
        self.expect("(")
        found: list[Option] = []
        if not self.at(")"):
            found.append(self._option())
            while self.accept(","):
                found.append(self._option())
        self.expect(")")
        return tuple(found)

    def _option(self) -> Option:
        start = self.token
        key = self.string_literal("an option such as 'key' = 'value'").value
        self.expect("=")
        value = self.string_literal().value
        return Option(key, value, span=self.since(start))

    def option_keys(self) -> tuple[str, ...]:
        """``('key', ...)``, perhaps empty."""
        self.expect("(")
        keys: list[str] = []
        if not self.at(")"):
            keys.append(self.string_literal().value)
            while self.accept(","):
                keys.append(self.string_literal().value)
        self.expect(")")
        return tuple(keys)

    def partition_spec(self, optional: bool = False) -> tuple[PartitionValue, ...]:
        """``(a = 1, b = 'x')``; with `optional`, values may be left away."""
        self.expect("(")
        found = [self._partition_value(optional)]
        while self.accept(","):
            found.append(self._partition_value(optional))
        self.expect(")")
        return tuple(found)

    def _partition_value(self, optional: bool) -> PartitionValue:
        start = self.token
        name = self.name("the name of a column")
        value = None
        if not optional or self.at("="):
            self.expect("=")
            value = self.literal()
        return PartitionValue(name, value, span=self.since(start))

    def literal(self) -> Expression:
        """A literal, perhaps with a sign."""
        start = self.token
        words = ("TRUE", "FALSE", "UNKNOWN", "NULL", "DATE", "TIME", "TIMESTAMP", "INTERVAL")
        if sign := self.accept_any("+", "-"):
            if not self.at_kind("number"):
                self.fail("a number")
            token = self.advance()
            number = NumberLiteral(token.raw, span=self.span_of(token))
            return UnaryOperation(sign, number, span=self.since(start))
        if not (self.at_string() or self.at_kind("number", "binary") or start.text in words):
            self.fail("a literal")
        return self.expression(1000)

    def interval_literal(self) -> IntervalLiteral:
        """A value of FRESHNESS."""
        start = self.token
        found = self.expression()
        if not isinstance(found, IntervalLiteral):
            hint = "write INTERVAL '3' MINUTE"
            raise self.error("SQL_CLAUSE", "FRESHNESS takes an interval literal", start, hint)
        return found

    # Columns

    def column(self) -> Column:
        """A column of any kind."""
        start = self.token
        name = self.identifier("the name of a column")
        if self.accept("AS"):
            if len(name.parts) > 1:
                raise self.error("SQL_SYNTAX", "a computed column has a plain name", name.span)
            value = self.expression()
            return ComputedColumn(name, value, self.comment(), span=self.since(start))
        type_ = self.nullable_type()
        if self.accept("METADATA"):
            key = self.string_literal().value if self.accept("FROM") else None
            virtual = self.accept("VIRTUAL")
            comment = self.comment()
            return MetadataColumn(name, type_, key, virtual, comment, span=self.since(start))
        constraint = self._column_constraint(name)
        return PhysicalColumn(name, type_, constraint, self.comment(), span=self.since(start))

    def at_constraint(self) -> bool:
        return self.at_any("CONSTRAINT", "PRIMARY", "UNIQUE")

    def _constraint_start(self) -> tuple[Name | None, str]:
        name = self.name() if self.accept("CONSTRAINT") else None
        if self.accept("UNIQUE"):
            return name, "UNIQUE"
        self.expect("PRIMARY", "KEY")
        return name, "PRIMARY KEY"

    def _enforcement(self) -> bool | None:
        if self.accept("NOT", "ENFORCED"):
            return False
        return True if self.accept("ENFORCED") else None

    def _column_constraint(self, column: Identifier) -> TableConstraint | None:
        start = self.token
        if not self.at_constraint():
            return None
        name, kind = self._constraint_start()
        enforced = self._enforcement()
        columns = (column.parts[-1],)
        return TableConstraint(kind, columns, name, enforced, span=self.since(start))

    def table_constraint(self) -> TableConstraint:
        start = self.token
        name, kind = self._constraint_start()
        columns = self.names_in_brackets()
        enforced = self._enforcement()
        return TableConstraint(kind, columns, name, enforced, span=self.since(start))

    def watermark(self, earlier: WatermarkSpec | None) -> WatermarkSpec:
        """``WATERMARK FOR ts AS expression``; a table has one at most."""
        start = self.expect("WATERMARK")
        if earlier is not None:
            hint = "keep one WATERMARK"
            raise self.error("SQL_CLAUSE", "the table has a second watermark", start, hint)
        self.expect("FOR")
        column = self.identifier("the name of a column")
        self.expect("AS")
        value = self.expression()
        return WatermarkSpec(column, value, span=self.since(start))

    def distribution(self) -> Distribution:
        """The part behind DISTRIBUTED or DISTRIBUTION."""
        start = self.token
        kind = buckets = None
        columns: tuple[Name, ...] = ()
        if self.accept("BY"):
            kind = self.accept_any("HASH", "RANGE")
            columns = self.names_in_brackets()
            if self.at("INTO"):
                buckets = self._buckets()
        else:
            buckets = self._buckets()
        return Distribution(kind, columns, buckets, span=self.since(start))

    def _buckets(self) -> int:
        self.expect("INTO")
        count = self.unsigned_integer("the number of buckets, a whole number,")
        self.expect("BUCKETS")
        return count

    def partitioned_by(self) -> tuple[Name, ...]:
        return self.names_in_brackets() if self.accept("PARTITIONED", "BY") else ()

    def table_like(self) -> TableLike:
        """The part behind LIKE."""
        start = self.token
        table = self.identifier("the name of a table")
        options: list[LikeOption] = []
        if self.accept("("):
            while True:
                first = self.token
                strategy = self.expect_any(*_STRATEGIES)
                feature = self.expect_any(*_FEATURES)
                options.append(LikeOption(strategy, feature, span=self.since(first)))
                if self.accept(")"):
                    break
        return TableLike(table, tuple(options), span=self.since(start))
