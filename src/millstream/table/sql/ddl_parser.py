"""ALTER, on top of CREATE and DROP."""

from __future__ import annotations

from millstream.table.sql.create_parser import CreateParser
from millstream.table.sql.lexer import Token
from millstream.table.sql.nodes import Identifier
from millstream.table.sql.statements import (
    AddColumns,
    AddPartitions,
    AlterCatalog,
    AlterDatabase,
    AlterFunction,
    AlterTable,
    AlterView,
    ColumnPosition,
    Distribution,
    DropColumns,
    DropConstraint,
    DropPart,
    DropPartitions,
    Option,
    PartitionValue,
    RenameColumn,
    RenameTable,
    ResetOptions,
    SetOptions,
    Statement,
    TableAction,
    TableConstraint,
    Unsupported,
    WatermarkSpec,
)

__all__ = ["DdlParser"]


class DdlParser(CreateParser):
    """Reads ALTER."""

    def alter(self, token: Token) -> Statement:
        self.expect("ALTER")
        if self.accept("TABLE"):
            return self._alter_table(token)
        if self.accept("VIEW"):
            return self._alter_view(token)
        if self.accept("DATABASE"):
            name = self.identifier()
            self.expect("SET")
            return AlterDatabase(name, self.options(), span=self.since(token))
        if self.accept("CATALOG"):
            return self._alter_catalog(token)
        if self.accept("MODEL"):
            return self._alter_simple(token, "MODEL")
        if self.accept("CONNECTION"):
            return self._alter_simple(token, "CONNECTION")
        if self.accept("MATERIALIZED", "TABLE"):
            return self._alter_materialized(token)
        return self._alter_function(token)

    def _alter_function(self, token: Token) -> Statement:
        temporary = self.accept("TEMPORARY")
        system = temporary and self.accept("SYSTEM")
        self.expect("FUNCTION")
        if_exists = self.if_exists()
        name = self.identifier()
        self.expect("AS")
        class_name = self.plain_string()
        language = self.language()
        return AlterFunction(
            name, class_name, language, temporary, system, if_exists, span=self.since(token)
        )

    def _alter_view(self, token: Token) -> Statement:
        name = self.identifier()
        if self.accept("RENAME", "TO"):
            return AlterView(name, self.identifier(), span=self.since(token))
        self.expect("AS")
        if not self.at_query():
            self.fail("a query")
        return AlterView(name, query=self.query(), span=self.since(token))

    def _alter_catalog(self, token: Token) -> Statement:
        name = self.name()
        if self.accept("COMMENT"):
            comment = self.plain_string()
            return AlterCatalog(name, comment=comment, span=self.since(token))
        action = self._options_action()
        if action is None:
            self.fail()
        return AlterCatalog(name, action, span=self.since(token))

    def _options_action(self) -> SetOptions | ResetOptions | None:
        start = self.token
        if self.accept("SET"):
            return SetOptions(self.options(), span=self.since(start))
        if self.accept("RESET"):
            return ResetOptions(self.option_keys(), span=self.since(start))
        return None

    # Tables

    def _alter_table(self, token: Token) -> Statement:
        if_exists = self.if_exists()
        name = self.identifier("the name of a table")
        action = self._options_action() or self._table_action()
        return AlterTable(name, action, if_exists, span=self.since(token))

    def _table_action(self) -> TableAction:
        start = self.token
        if self.accept("RENAME"):
            return self._rename(start)
        if self.accept("DROP"):
            return self._drop_action(start)
        if self.accept("MODIFY"):
            return self._add_columns(start, modify=True)
        self.expect("ADD")
        if self.at("PARTITION") or self.at("IF", "NOT", "EXISTS"):
            return self._add_partitions(start)
        return self._add_columns(start, modify=False)

    def _rename(self, start: Token) -> RenameTable | RenameColumn:
        if self.accept("TO"):
            return RenameTable(self.identifier(), span=self.since(start))
        old = self.identifier()
        self.expect("TO")
        new = self.identifier()
        return RenameColumn(old, new, span=self.since(start))

    def _add_partitions(self, start: Token) -> AddPartitions:
        if_not_exists = self.if_not_exists()
        partitions: list[tuple[PartitionValue, ...]] = []
        options: list[tuple[Option, ...]] = []
        self.expect("PARTITION")
        while True:
            partitions.append(self.partition_spec())
            options.append(self.options() if self.accept("WITH") else ())
            if not self.accept("PARTITION"):
                break
        return AddPartitions(
            tuple(partitions), tuple(options), if_not_exists, span=self.since(start)
        )

    def _add_columns(self, start: Token, modify: bool) -> AddColumns:
        columns: list[ColumnPosition] = []
        constraints: list[TableConstraint] = []
        watermark: WatermarkSpec | None = None
        distribution: Distribution | None = None
        bracketed = self.accept("(")
        while True:
            if self.at_constraint():
                constraints.append(self.table_constraint())
            elif self.at("WATERMARK"):
                watermark = self.watermark(watermark)
            elif self.accept("DISTRIBUTION"):
                distribution = self.distribution()
            else:
                columns.append(self._positioned_column())
            if not (bracketed and self.accept(",")):
                break
        if bracketed:
            self.expect(")")
        return AddColumns(
            tuple(columns),
            tuple(constraints),
            watermark,
            distribution,
            modify,
            span=self.since(start),
        )

    def _positioned_column(self) -> ColumnPosition:
        start = self.token
        column = self.column()
        if self.accept("FIRST"):
            return ColumnPosition(column, "FIRST", span=self.since(start))
        if self.accept("AFTER"):
            after = self.identifier()
            return ColumnPosition(column, "AFTER", after, span=self.since(start))
        return ColumnPosition(column, span=self.since(start))

    def _drop_action(self, start: Token) -> TableAction:
        if self.at("PARTITION") or self.at("IF", "EXISTS"):
            return self._drop_partitions(start)
        if self.accept("PRIMARY", "KEY"):
            return DropPart("PRIMARY KEY", span=self.since(start))
        if word := self.accept_any("WATERMARK", "DISTRIBUTION"):
            return DropPart(word, span=self.since(start))
        if self.accept("CONSTRAINT"):
            return DropConstraint(self.name(), span=self.since(start))
        columns: tuple[Identifier, ...]
        columns = self.identifiers_in_brackets() if self.at("(") else (self.identifier(),)
        return DropColumns(columns, span=self.since(start))

    def _drop_partitions(self, start: Token) -> DropPartitions:
        if_exists = self.if_exists()
        self.expect("PARTITION")
        partitions = [self.partition_spec()]
        while self.accept(","):
            self.expect("PARTITION")
            partitions.append(self.partition_spec())
        return DropPartitions(tuple(partitions), if_exists, span=self.since(start))

    # Statements that Millstream does not run; their syntax is still checked.

    def _alter_simple(self, token: Token, what: str) -> Statement:
        self.if_exists()
        name = self.identifier()
        if self.accept("RENAME"):
            self.expect("TO")
            self.identifier()
        elif self._options_action() is None:
            self.fail()
        return Unsupported(f"ALTER {what}", name, span=self.since(token))

    def _alter_materialized(self, token: Token) -> Statement:
        name = self.identifier()
        query = None
        if self.accept("RESUME"):
            if self.accept("WITH"):
                self.options()
        elif self.accept("REFRESH"):
            if self.accept("PARTITION"):
                self.partition_spec()
        elif self.accept("AS"):
            query = self.query()
        elif self.accept("SET", "FRESHNESS"):
            self.expect("=")
            self.interval_literal()
        elif self.accept("SET", "REFRESH_MODE"):
            self.expect("=")
            self.expect_any("FULL", "CONTINUOUS")
        elif not self.accept("SUSPEND") and self._options_action() is None:
            if self.at("RENAME") or self.ahead().text == "PARTITION":
                self.fail()
            self._table_action()
        feature = "ALTER MATERIALIZED TABLE"
        return Unsupported(feature, name, query, span=self.since(token))
