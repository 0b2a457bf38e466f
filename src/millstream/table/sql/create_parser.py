"""CREATE, REPLACE and DROP."""

from __future__ import annotations

from typing import Any

from millstream.table.sql.column_parser import ColumnParser
from millstream.table.sql.lexer import Token
from millstream.table.sql.nodes import Identifier
from millstream.table.sql.statements import (
    Column,
    CreateCatalog,
    CreateDatabase,
    CreateFunction,
    CreateTable,
    CreateView,
    Drop,
    Option,
    Statement,
    TableConstraint,
    Unsupported,
    WatermarkSpec,
)

__all__ = ["CreateParser"]

_LANGUAGES = ("JAVA", "SCALA", "SQL", "PYTHON")


class CreateParser(ColumnParser):
    """Reads statements that create and drop things."""

    def create(self, token: Token) -> Statement:
        self.expect("CREATE")
        if self.accept("OR", "ALTER"):
            self.expect("MATERIALIZED", "TABLE")
            return self._materialized_table(token)
        replace = self.accept("OR", "REPLACE")
        temporary = self.accept("TEMPORARY")
        if self.accept("TABLE"):
            return self._create_table(token, temporary=temporary, replace=replace)
        if self.accept("VIEW"):
            return self._view(token, temporary, replace)
        if self.accept("CATALOG"):
            return self._catalog(token)
        if self.accept("DATABASE"):
            return self._database(token)
        if self.accept("MODEL"):
            return self._model(token)
        if self.accept("CONNECTION") or (temporary and self.accept("SYSTEM", "CONNECTION")):
            return self._connection(token)
        if self.at("MATERIALIZED"):
            self._refuse_materialized(temporary, replace)
            self.expect("MATERIALIZED", "TABLE")
            return self._materialized_table(token)
        system = self.at("SYSTEM")
        if system and not temporary:
            hint = "write CREATE TEMPORARY SYSTEM"
            raise self.error(
                "SQL_CLAUSE", "system functions and connections are temporary", self.token, hint
            )
        if system:
            self.advance()
        self.expect("FUNCTION")
        return self._function(token, temporary, system)

    def replace(self, token: Token) -> Statement:
        self.expect("REPLACE")
        temporary = self.accept("TEMPORARY")
        self.expect("TABLE")
        found = self._create_table(token, temporary=temporary, replace=True, creates=False)
        return found

    # Tables

    def _create_table(
        self, token: Token, *, temporary: bool, replace: bool, creates: bool = True
    ) -> CreateTable:
        if_not_exists = self.if_not_exists()
        name = self.identifier("the name of a table")
        opening = self.token
        parts = self._table_columns() if self.accept("(") else {}
        parts["comment"] = self.comment()
        if self.accept("DISTRIBUTED"):
            parts["distribution"] = self.distribution()
        parts["partitioned_by"] = self.partitioned_by()
        parts["options"] = self.options() if self.accept("WITH") else ()
        if creates and self.accept("LIKE"):
            parts["like"] = self.table_like()
        elif self.accept("AS"):
            if not self.at_query():
                self.fail("a query")
            parts["query"] = self.query()
        elif not creates:
            self.fail()
        if parts.get("column_names") and "query" not in parts:
            hint = "write a type behind each column"
            raise self.error(
                "SQL_CLAUSE", "columns without types need AS and a query", opening, hint
            )
        return CreateTable(
            name,
            **parts,
            temporary=temporary,
            if_not_exists=if_not_exists,
            replace=replace,
            creates=creates,
            span=self.since(token),
        )

    def _table_columns(self) -> dict[str, Any]:
        """The part in brackets: columns, or names only."""
        if self._names_only():
            names = [self.identifier()]
            while self.accept(","):
                names.append(self.identifier())
            self.expect(")")
            return {"column_names": tuple(names)}
        columns: list[Column] = []
        constraints: list[TableConstraint] = []
        watermark: WatermarkSpec | None = None
        while True:
            if self.at_constraint():
                constraints.append(self.table_constraint())
            elif self.at("WATERMARK"):
                watermark = self.watermark(watermark)
            else:
                columns.append(self.column())
            if not self.accept(","):
                break
        self.expect(")")
        return {
            "columns": tuple(columns),
            "constraints": tuple(constraints),
            "watermark": watermark,
        }

    def _names_only(self) -> bool:
        return self.at_name() and self.ahead().kind == "sign" and self.ahead().text in (",", ")")

    # Others

    def _view(self, token: Token, temporary: bool, replace: bool) -> Statement:
        if_not_exists = self.if_not_exists()
        name = self.identifier("the name of a view")
        columns = self.names_in_brackets() if self.at("(") else ()
        comment = self.comment()
        self.expect("AS")
        if not self.at_query():
            self.fail("a query")
        query = self.query()
        return CreateView(
            name,
            query,
            columns,
            comment,
            temporary,
            if_not_exists,
            replace,
            span=self.since(token),
        )

    def _catalog(self, token: Token) -> Statement:
        if_not_exists = self.if_not_exists()
        name = self.name("the name of a catalog")
        comment = self.comment()
        options = self.options() if self.accept("WITH") else ()
        return CreateCatalog(name, options, comment, if_not_exists, span=self.since(token))

    def _database(self, token: Token) -> Statement:
        if_not_exists = self.if_not_exists()
        name = self.identifier("the name of a database")
        comment = self.comment()
        options = self.options() if self.accept("WITH") else ()
        return CreateDatabase(name, options, comment, if_not_exists, span=self.since(token))

    def language(self) -> str | None:
        """``LANGUAGE PYTHON``, if it stands here."""
        return self.expect_any(*_LANGUAGES) if self.accept("LANGUAGE") else None

    def _function(self, token: Token, temporary: bool, system: bool) -> Statement:
        if_not_exists = self.if_not_exists()
        if system:
            simple = self.name("the name of a function")
            name = Identifier((simple,), span=simple.span)
        else:
            name = self.identifier("the name of a function")
        self.expect("AS")
        class_name = self.plain_string()
        start = self.token
        language = self.language()
        jars: list[str] = []
        if self.accept("USING"):
            if language in ("SQL", "PYTHON"):
                message = f"a function of the language {language} takes no jars"
                raise self.error("SQL_CLAUSE", message, start, "remove USING")
            jars.append(self._resource())
            while self.accept(","):
                jars.append(self._resource())
        options: tuple[Option, ...] = self.options() if self.accept("WITH") else ()
        return CreateFunction(
            name,
            class_name,
            language,
            tuple(jars),
            options,
            temporary,
            system,
            if_not_exists,
            span=self.since(token),
        )

    def _resource(self) -> str:
        self.expect_any("JAR", "ARTIFACT")
        return self.plain_string()

    # Statements that Millstream does not run; their syntax is still checked.

    def _model(self, token: Token) -> Statement:
        self.if_not_exists()
        name = self.identifier()
        for word in ("INPUT", "OUTPUT"):
            if self.accept(word):
                self.expect("(")
                self._table_columns()
        self.comment()
        if self.accept("WITH"):
            self.options()
        query = self.query() if self.accept("AS") else None
        return Unsupported("CREATE MODEL", name, query, span=self.since(token))

    def _connection(self, token: Token) -> Statement:
        self.if_not_exists()
        name = self.identifier()
        self.comment()
        self.expect("WITH")
        self.options()
        return Unsupported("CREATE CONNECTION", name, span=self.since(token))

    def _refuse_materialized(self, temporary: bool, replace: bool) -> None:
        word = "TEMPORARY" if temporary else "OR REPLACE" if replace else None
        if word:
            message = f"a materialized table takes no {word}"
            raise self.error("SQL_CLAUSE", message, self.token, f"remove {word}")

    def _materialized_table(self, token: Token) -> Statement:
        name = self.identifier("the name of a table")
        if self.accept("("):
            self._table_columns()
        self.comment()
        if self.accept("DISTRIBUTED"):
            self.distribution()
        self.partitioned_by()
        if self.accept("WITH"):
            self.options()
        if self.accept("FRESHNESS"):
            self.expect("=")
            self.interval_literal()
        if self.accept("REFRESH_MODE"):
            self.expect("=")
            self.expect_any("FULL", "CONTINUOUS")
        self._start_mode()
        self.expect("AS")
        if not self.at_query():
            self.fail("a query")
        query = self.query()
        return Unsupported("CREATE MATERIALIZED TABLE", name, query, span=self.since(token))

    def _start_mode(self) -> None:
        if not self.accept("START_MODE"):
            return
        self.expect("=")
        word = self.expect_any(
            "RESUME_OR_FROM_BEGINNING",
            "RESUME_OR_FROM_NOW",
            "RESUME_OR_FROM_TIMESTAMP",
            "FROM_BEGINNING",
            "FROM_NOW",
            "FROM_TIMESTAMP",
        )
        if self.accept("("):
            self.expression()
            self.expect(")")
        elif word.endswith("TIMESTAMP"):
            self.fail()

    # DROP

    def drop(self, token: Token) -> Statement:
        self.expect("DROP")
        temporary = self.accept("TEMPORARY")
        system = self.at("SYSTEM", "FUNCTION") and self.accept("SYSTEM")
        if self.accept("MATERIALIZED"):
            self._refuse_materialized(temporary, False)
            self.expect("TABLE")
            return self._drop_unsupported(token, "MATERIALIZED TABLE")
        if self.accept("MODEL"):
            return self._drop_unsupported(token, "MODEL")
        if self.accept("CONNECTION") or self.accept("SYSTEM", "CONNECTION"):
            return self._drop_unsupported(token, "CONNECTION")
        kinds = ("FUNCTION",) if system else ("TABLE", "VIEW", "FUNCTION", "CATALOG", "DATABASE")
        kind = self.expect_any(*kinds)
        if_exists = self.if_exists()
        name = self.identifier()
        cascade = False
        if kind == "DATABASE":
            cascade = self.accept_any("RESTRICT", "CASCADE") == "CASCADE"
        return Drop(kind, name, if_exists, temporary, system, cascade, span=self.since(token))

    def _drop_unsupported(self, token: Token, what: str) -> Statement:
        self.if_exists()
        name = self.identifier()
        return Unsupported(f"DROP {what}", name, span=self.since(token))
