"""Statements: queries, INSERT and its relatives, and the commands of a session."""

from __future__ import annotations

from collections.abc import Callable

from millstream.table.sql.ddl_parser import DdlParser
from millstream.table.sql.lexer import Token
from millstream.table.sql.nodes import Identifier, Node
from millstream.table.sql.queries import Aliased, Query, Relation, TableRef
from millstream.table.sql.statements import (
    AddJar,
    AnalyzeTable,
    Assignment,
    BeginStatementSet,
    CallProcedure,
    CreateTable,
    Delete,
    Describe,
    EndStatementSet,
    Execute,
    Explain,
    Insert,
    LoadModule,
    RemoveJar,
    Reset,
    SetOption,
    Show,
    Statement,
    StatementSet,
    StopJob,
    TruncateTable,
    UnloadModule,
    Unsupported,
    Update,
    Use,
    UseModules,
)

__all__ = ["StatementParser"]

_DETAILS = ("ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN", "PLAN_ADVICE")
# SHOW with FROM or IN and with a pattern: the keywords, and the operators of the pattern.
_SHOWN_LISTS = (
    (("CATALOGS",), False, ("LIKE", "ILIKE")),
    (("DATABASES",), True, ("LIKE", "ILIKE")),
    (("FUNCTIONS",), True, ("LIKE", "ILIKE")),
    (("USER", "FUNCTIONS"), True, ("LIKE", "ILIKE")),
    (("PROCEDURES",), True, ("LIKE", "ILIKE")),
    (("TABLES",), True, ("LIKE",)),
    (("VIEWS",), True, ("LIKE",)),
    (("MATERIALIZED", "TABLES"), True, ("LIKE",)),
    (("MODELS",), True, ("LIKE",)),
    (("CONNECTIONS",), True, ("LIKE",)),
    (("MODULES",), False, ()),
    (("FULL", "MODULES"), False, ()),
    (("JARS",), False, ()),
    (("JOBS",), False, ()),
    (("CURRENT", "CATALOG"), False, ()),
    (("CURRENT", "DATABASE"), False, ()),
)
_SHOWN_THINGS = ("TABLE", "VIEW", "CATALOG", "MODEL", "CONNECTION", "MATERIALIZED TABLE")
_DESCRIBED = ("TABLE", "CATALOG", "DATABASE", "FUNCTION", "MODEL", "CONNECTION")


class StatementParser(DdlParser):
    """Reads statements."""

    def statement(self) -> Statement | Query:
        """One statement."""
        token = self.token
        if self.at_query():
            return self.query()
        reader = _READERS.get(token.text) if token.kind == "word" else None
        if reader is None:
            for word in (*_READERS, "SELECT", "WITH", "VALUES", "TABLE"):
                self.expect_here(word)
            self.fail("a statement")
        return reader(self, token)

    # INSERT and statement sets

    def insert(self) -> Insert:
        start = self.token
        upsert = self.expect_any("INSERT", "UPSERT") == "UPSERT"
        overwrite = self.expect_any("INTO", "OVERWRITE") == "OVERWRITE"
        if upsert and overwrite:
            message = "OVERWRITE goes with INSERT only"
            raise self.error("SQL_CLAUSE", message, start, "write INSERT OVERWRITE or UPSERT INTO")
        table = self.identifier("the name of a table")
        hints = self.hints()
        partition = self.partition_spec() if self.accept("PARTITION") else ()
        columns: tuple[Identifier, ...] = ()
        if self.at("(") and not self.at_query():
            columns = self.identifiers_in_brackets()
        query = self._source()
        conflict = None
        if self.accept("ON"):
            self.expect("CONFLICT", "DO")
            conflict = self.expect_any("ERROR", "NOTHING", "DEDUPLICATE")
        return Insert(
            table,
            query,
            columns,
            partition,
            hints,
            overwrite,
            upsert,
            conflict,
            span=self.since(start),
        )

    def _source(self) -> Query:
        if not self.at_query():
            for word in ("SELECT", "VALUES", "WITH"):
                self.expect_here(word)
            self.fail("a query")
        return self.query()

    def _insert(self, token: Token) -> Statement:
        return self.insert()

    def _statement_set(self) -> StatementSet:
        start = self.expect("STATEMENT", "SET", "BEGIN")
        inserts = []
        while self.at_any("INSERT", "UPSERT"):
            inserts.append(self.insert())
            self.expect(";")
        if not inserts:
            self.fail()
        self.expect("END")
        return StatementSet(tuple(inserts), span=self.since(start))

    def _execute(self, token: Token) -> Statement:
        self.advance()
        if self.accept("PLAN"):
            self.string_literal()
            return Unsupported("EXECUTE PLAN", span=self.since(token))
        found: Query | Insert | StatementSet
        if self.at("STATEMENT"):
            found = self._statement_set()
        elif self.at_any("INSERT", "UPSERT"):
            found = self.insert()
        else:
            found = self._source()
        return Execute(found, span=self.since(token))

    def _begin(self, token: Token) -> Statement:
        self.expect("BEGIN", "STATEMENT", "SET")
        return BeginStatementSet(span=self.since(token))

    def _end(self, token: Token) -> Statement:
        self.advance()
        return EndStatementSet(span=self.since(token))

    def _compile(self, token: Token) -> Statement:
        self.advance()
        executes = self.accept("AND", "EXECUTE")
        self.expect("PLAN")
        self.string_literal()
        if not executes:
            self.if_not_exists()
        self.expect("FOR")
        if self.at("STATEMENT"):
            self._statement_set()
        else:
            self.insert()
        feature = "COMPILE AND EXECUTE PLAN" if executes else "COMPILE PLAN"
        return Unsupported(feature, span=self.since(token))

    # UPDATE, DELETE and other changes

    def _target(self) -> Relation:
        start = self.token
        name = self.identifier("the name of a table")
        found: Relation = TableRef(name, self.hints(), span=self.since(start))
        if self.accept("AS") or self.at_name():
            found = Aliased(found, self.name(), span=self.since(start))
        return found

    def _update(self, token: Token) -> Statement:
        self.advance()
        table = self._target()
        self.expect("SET")
        assignments = [self._assignment()]
        while self.accept(","):
            assignments.append(self._assignment())
        where = self.expression() if self.accept("WHERE") else None
        return Update(table, tuple(assignments), where, span=self.since(token))

    def _assignment(self) -> Assignment:
        start = self.token
        name = self.name("the name of a column")
        column = Identifier((name,), span=name.span)
        self.expect("=")
        value = self.expression()
        return Assignment(column, value, span=self.since(start))

    def _delete(self, token: Token) -> Statement:
        self.expect("DELETE", "FROM")
        table = self._target()
        where = self.expression() if self.accept("WHERE") else None
        return Delete(table, where, span=self.since(token))

    def _merge(self, token: Token) -> Statement:
        self.expect("MERGE", "INTO")
        self._target()
        self.expect("USING")
        self._relation()
        self.expect("ON")
        self.expression()
        matched = False
        while self.accept("WHEN"):
            matched = True
            negated = self.accept("NOT")
            self.expect("MATCHED", "THEN")
            if negated:
                self.expect("INSERT")
                if self.at("("):
                    self.names_in_brackets()
                self.accept("VALUES")
                self.expect("(")
                self.expressions()
                self.expect(")")
            else:
                self.expect("UPDATE", "SET")
                self._assignment()
                while self.accept(","):
                    self._assignment()
        if not matched:
            self.fail()
        return Unsupported("MERGE", span=self.since(token))

    def _truncate(self, token: Token) -> Statement:
        self.expect("TRUNCATE", "TABLE")
        return TruncateTable(self.identifier(), span=self.since(token))

    def _call_procedure(self, token: Token) -> Statement:
        self.advance()
        call = self.table_function_call()
        return CallProcedure(call, span=self.since(token))

    # EXPLAIN, DESCRIBE, SHOW

    def _explain(self, token: Token) -> Statement:
        self.advance()
        details: list[str] = []
        if not self.accept("PLAN", "FOR") and self.at_any(*_DETAILS):
            details.append(self._detail(details))
            while self.accept(","):
                details.append(self._detail(details))
        inner = self._explained()
        return Explain(inner, tuple(details), span=self.since(token))

    def _detail(self, earlier: list[str]) -> str:
        token = self.token
        detail = self.expect_any(*_DETAILS)
        if detail in earlier:
            message = f"{detail} is written twice"
            raise self.error("SQL_CLAUSE", message, token, "remove one")
        return detail

    def _explained(self) -> Node:
        start = self.token
        if self.at("STATEMENT"):
            return self._statement_set()
        if self.at("EXECUTE"):
            return self._execute(start)
        if self.at_any("INSERT", "UPSERT"):
            return self.insert()
        if self.at_any("CREATE", "REPLACE"):
            found = self.statement()
            if not (isinstance(found, CreateTable) and found.query):
                message = "EXPLAIN takes CREATE TABLE only with AS and a query"
                raise self.error("SQL_CLAUSE", message, start, "explain the query instead")
            return found
        return self._source()

    def _describe(self, token: Token) -> Statement:
        self.advance()
        if self.accept("JOB"):
            return Describe("JOB", self.plain_string(), span=self.since(token))
        kind = self.accept_any(*_DESCRIBED) or "TABLE"
        extended = self.accept("EXTENDED")
        name = self._simple_name() if kind == "CATALOG" else self.identifier()
        return Describe(kind, name, extended, span=self.since(token))

    def _simple_name(self) -> Identifier:
        name = self.name("the name of a catalog")
        return Identifier((name,), span=name.span)

    def _show(self, token: Token) -> Statement:
        self.advance()
        if self.accept("CREATE"):
            return self._show_create(token)
        if self.accept("COLUMNS"):
            preposition = self.expect_any("FROM", "IN")
            name = self.identifier()
            return self._show_filtered(token, "COLUMNS", name, ("LIKE",), preposition)
        if self.accept("PARTITIONS"):
            name = self.identifier()
            partition = self.partition_spec() if self.accept("PARTITION") else ()
            return Show("PARTITIONS", name, partition=partition, span=self.since(token))
        for words, has_owner, operators in _SHOWN_LISTS:
            if self.accept(*words):
                owner = preposition_ = None
                if has_owner:
                    preposition_ = self.accept_any("FROM", "IN")
                    simple = words == ("DATABASES",)
                    read = self._simple_name if simple else self.identifier
                    owner = read() if preposition_ else None
                return self._show_filtered(token, " ".join(words), owner, operators, preposition_)
        self.fail()

    def _show_create(self, token: Token) -> Statement:
        if self.accept("OR"):
            self.expect("ALTER", "MATERIALIZED", "TABLE")
            what = "OR ALTER MATERIALIZED TABLE"
        elif self.accept("MATERIALIZED"):
            self.expect("TABLE")
            what = "MATERIALIZED TABLE"
        else:
            what = self.expect_any(*_SHOWN_THINGS)
        name = self._simple_name() if what == "CATALOG" else self.identifier()
        return Show(f"CREATE {what}", name, span=self.since(token))

    def _show_filtered(
        self,
        token: Token,
        what: str,
        name: Identifier | None,
        operators: tuple[str, ...],
        preposition: str | None,
    ) -> Statement:
        negated, operator, pattern = False, None, None
        if operators:
            negated = self.accept("NOT")
            operator = self.accept_any(*operators)
            if operator:
                pattern = self.plain_string()
            elif negated:
                self.fail()
        return Show(
            what,
            name,
            operator,
            pattern,
            negated,
            preposition=preposition,
            span=self.since(token),
        )

    # The session

    def _use(self, token: Token) -> Statement:
        self.advance()
        if self.accept("CATALOG"):
            return Use("CATALOG", self._simple_name(), span=self.since(token))
        if self.accept("MODULES"):
            names = [self.name()]
            while self.accept(","):
                names.append(self.name())
            return UseModules(tuple(names), span=self.since(token))
        return Use("DATABASE", self.identifier(), span=self.since(token))

    def _set(self, token: Token) -> Statement:
        self.advance()
        if self.at_kind("end") or self.at(";"):
            return SetOption(span=self.since(token))
        if not self.at_string():
            self.fail("an option such as 'key' = 'value'")
        key = self.string_literal().value
        self.expect("=")
        value = self.string_literal().value
        return SetOption(key, value, span=self.since(token))

    def _reset(self, token: Token) -> Statement:
        self.advance()
        key = self.string_literal().value if self.at_string() else None
        return Reset(key, span=self.since(token))

    def _load(self, token: Token) -> Statement:
        self.expect("LOAD", "MODULE")
        name = self.name()
        options = self.options() if self.accept("WITH") else ()
        return LoadModule(name, options, span=self.since(token))

    def _unload(self, token: Token) -> Statement:
        self.expect("UNLOAD", "MODULE")
        return UnloadModule(self.name(), span=self.since(token))

    def _add(self, token: Token) -> Statement:
        self.expect("ADD", "JAR")
        return AddJar(self.plain_string(), span=self.since(token))

    def _remove(self, token: Token) -> Statement:
        self.expect("REMOVE", "JAR")
        return RemoveJar(self.plain_string(), span=self.since(token))

    def _analyze(self, token: Token) -> Statement:
        self.expect("ANALYZE", "TABLE")
        table = self.identifier()
        partition = self.partition_spec(optional=True) if self.accept("PARTITION") else ()
        self.expect("COMPUTE", "STATISTICS")
        names = []
        every = False
        if self.accept("FOR"):
            every = self.accept("ALL")
            self.expect("COLUMNS")
            if not every:
                names.append(self.name())
                while self.accept(","):
                    names.append(self.name())
        return AnalyzeTable(table, partition, tuple(names), every, span=self.since(token))

    def _stop(self, token: Token) -> Statement:
        self.expect("STOP", "JOB")
        job = self.plain_string()
        savepoint = self.accept("WITH", "SAVEPOINT")
        drain = False
        if self.at("WITH", "DRAIN"):
            if not savepoint:
                message = "WITH DRAIN needs WITH SAVEPOINT before it"
                hint = "write STOP JOB 'id' WITH SAVEPOINT WITH DRAIN"
                raise self.error("SQL_CLAUSE", message, self.token, hint)
            drain = self.accept("WITH", "DRAIN")
        return StopJob(job, savepoint, drain, span=self.since(token))


_READERS: dict[str, Callable[[StatementParser, Token], Statement]] = {
    "INSERT": StatementParser._insert,
    "UPSERT": StatementParser._insert,
    "EXECUTE": StatementParser._execute,
    "BEGIN": StatementParser._begin,
    "END": StatementParser._end,
    "COMPILE": StatementParser._compile,
    "UPDATE": StatementParser._update,
    "DELETE": StatementParser._delete,
    "MERGE": StatementParser._merge,
    "TRUNCATE": StatementParser._truncate,
    "CALL": StatementParser._call_procedure,
    "EXPLAIN": StatementParser._explain,
    "DESCRIBE": StatementParser._describe,
    "DESC": StatementParser._describe,
    "SHOW": StatementParser._show,
    "USE": StatementParser._use,
    "SET": StatementParser._set,
    "RESET": StatementParser._reset,
    "LOAD": StatementParser._load,
    "UNLOAD": StatementParser._unload,
    "ADD": StatementParser._add,
    "REMOVE": StatementParser._remove,
    "ANALYZE": StatementParser._analyze,
    "STOP": StatementParser._stop,
    "CREATE": StatementParser.create,
    "REPLACE": StatementParser.replace,
    "ALTER": StatementParser.alter,
    "DROP": StatementParser.drop,
}
