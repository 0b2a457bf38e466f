"""The entrance to tables: it runs SQL, makes tables, and runs their queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from millstream.common.configuration import Configuration
from millstream.common.errors import PlanError
from millstream.common.type_aliases import DurationLike
from millstream.common.typeinfo import TypeInformation, Types
from millstream.common.types import Row, RowKind, like
from millstream.connectors.sink import Changelog
from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
from millstream.datastream.streams.data_stream import DataStream
from millstream.table.catalog.ddl import execute_ddl
from millstream.table.catalog.manager import CatalogManager
from millstream.table.catalog.unsupported import refused_statement
from millstream.table.changelog_mode import ChangelogMode
from millstream.table.connectors.changes import folded
from millstream.table.connectors.simple import TableRows
from millstream.table.environment.bridges import (
    changelog_of_table,
    stream_of_table,
    table_of_stream,
)
from millstream.table.environment.catalog_methods import CatalogMethods, view_of_table
from millstream.table.environment.elements import frame_of_rows, rows_of_elements, rows_of_frame
from millstream.table.environment.flink_methods import FlinkMethods
from millstream.table.environment.function_registration import FunctionRegistration
from millstream.table.environment.inserting import (
    entry_of_descriptor,
    write_of_statement,
    write_of_table,
)
from millstream.table.environment.watermarks import time_items, watermarked_entry
from millstream.table.environment_settings import EnvironmentSettings
from millstream.table.execution.statements import Statements, Write
from millstream.table.explain_detail import detail_names
from millstream.table.expression import Expression
from millstream.table.fluent.expression_base import quoted
from millstream.table.fluent.resolving import QueryText
from millstream.table.logical.algebra import Relation, Scan, TablePath
from millstream.table.logical.binder import bind_query
from millstream.table.logical.entries import TableColumn, TableEntry, ViewEntry
from millstream.table.logical.problems import Problems
from millstream.table.schema import Schema
from millstream.table.sql import statements as ast
from millstream.table.sql.nodes import Source
from millstream.table.sql.parser import parse, parse_identifier
from millstream.table.sql.queries import Query
from millstream.table.statement_set import StatementSet
from millstream.table.table import Table
from millstream.table.table_config import TableConfig
from millstream.table.table_descriptor import TableDescriptor
from millstream.table.table_result import (
    TableResult,
    inserted_result,
    ok_result,
    shown_result,
    text_result,
)
from millstream.table.types.logical import RowType
from millstream.table.types.values import result_row

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["StreamTableEnvironment", "TableEnvironment"]

_WIDTH = "table.display.max-column-width"


class TableEnvironment(CatalogMethods, FunctionRegistration, FlinkMethods):
    """Runs SQL over the tables of its catalogs.

    Statements run as jobs on Spark, each one job; those that only change catalogs run at once. See
    `millstream.testing.in_memory` for tests without Spark.

    Parameters
    ----------
    env
        The environment whose settings the jobs have.
    settings
        Options, and names of the first catalog and database.

    Examples
    --------
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> words = t_env.from_elements([(1, "a"), (2, "b"), (3, "a")], ["id", "word"])
    >>> t_env.create_temporary_view("words", words)
    >>> t_env.execute_sql("SELECT word, COUNT(*) AS n FROM words GROUP BY word").print()
    +----+--------------------------------+----------------------+
    | op |                           word |                    n |
    +----+--------------------------------+----------------------+
    | +I |                              b |                    1 |
    | +I |                              a |                    2 |
    +----+--------------------------------+----------------------+
    2 rows in set
    """

    def __init__(
        self,
        env: StreamExecutionEnvironment | None = None,
        settings: EnvironmentSettings | None = None,
    ) -> None:
        chosen = settings or EnvironmentSettings()
        self._env = env or StreamExecutionEnvironment.get_execution_environment()
        if settings is not None and not settings.streaming:
            self._env.set_runtime_mode("BATCH")
        self.names = CatalogManager(dict(chosen.options), chosen.catalog, chosen.database)
        self.names.defaults["execution.runtime-mode"] = self._env._settings.mode.name
        self._unnamed: dict[TablePath, TableEntry] = {}
        self._inline_tables = 0
        self._statements = Statements(self._env, self.names, self._entry)

    @staticmethod
    def create(
        environment_settings: EnvironmentSettings | Configuration | None = None,
    ) -> TableEnvironment:
        """Return a new environment; a configuration has options, the mode among them."""
        return TableEnvironment(settings=_settings_of(environment_settings))

    def get_config(self) -> TableConfig:
        """The options of the session."""
        below = Configuration.from_dict(self.names.defaults)
        below.add_all(self._env._settings.given)
        return TableConfig(self.names.options, below)

    # -- statements ------------------------------------------------------------------------------

    def execute_sql(self, stmt: str) -> TableResult:
        """Run one statement.

        A query and INSERT start a job and return at once: ``wait()`` waits for the end of an INSERT,
        ``collect()`` and ``print()`` take the changes of a query while it runs.

        Raises
        ------
        SqlError
            The statement is wrong; the error has line, column and what to do.
        """
        return self._executed(self._parsed(stmt), Source(stmt))

    def _executed(self, statement: Any, source: Source) -> TableResult:
        if isinstance(statement, Query):
            return self.execute_table(Table(bind_query(statement, self.names, source), self))
        handler = _HANDLERS.get(type(statement))
        if handler is not None:
            return handler(self, statement, source)
        found = execute_ddl(statement, self.names, source)
        if found is None:
            raise refused_statement(statement, Problems(source))
        if found.kind == "SUCCESS":
            return ok_result()
        return shown_result(found.row_type, [Row(*row) for row in found.rows])

    def _parsed(self, text: str) -> ast.Statement | Query:
        statement = parse(text)
        if not isinstance(statement, (ast.SetOption, ast.Reset)):
            self.get_config()._check_dialect()
        return statement

    def _create_table(self, statement: ast.CreateTable, source: Source) -> TableResult:
        execute_ddl(statement, self.names, source)
        if statement.query is None:
            return ok_result()
        return self._execute_writes([self._write_of_created(statement, source)])

    def _write_of_created(self, statement: ast.CreateTable, source: Source) -> Write:
        """The rows of CREATE TABLE AS. A table that was there already gets them too, as in Flink."""
        assert statement.query is not None
        query = bind_query(statement.query, self.names, source)
        names = ", ".join(quoted(field.name) for field in query.row_type.fields)
        path = ".".join(quoted(name) for name in statement.name.names)
        span = statement.query.span
        text = f"INSERT INTO {path} ({names}) {source.text[span.start : span.stop]}"
        insert = parse(text)
        assert isinstance(insert, ast.Insert)
        return write_of_statement(insert, self.names, Source(text))

    def _write_of_planned(self, statement: ast.CreateTable, source: Source) -> Write:
        """The rows that CREATE TABLE AS would write; the table is there only for that moment."""
        known = self.names.find_table(statement.name.names)
        execute_ddl(statement, self.names, source)
        try:
            return self._write_of_created(statement, source)
        finally:
            made = self.names.find_table(statement.name.names)
            if made is not None and made is not known:
                self.names.drop_table(made.path, view=False, temporary=made.temporary)
            if known is not None and made is not known:
                self.names.add_table(known, replacing=True)

    def _insert(self, statement: ast.Insert, source: Source) -> TableResult:
        return self._execute_writes([write_of_statement(statement, self.names, source)])

    def _statement_set(self, statement: ast.StatementSet, source: Source) -> TableResult:
        writes = [write_of_statement(each, self.names, source) for each in statement.inserts]
        return self._execute_writes(writes)

    def _execute(self, statement: ast.Execute, source: Source) -> TableResult:
        return self._executed(statement.statement, source)

    def _change_modules(self, statement: Any, source: Source) -> TableResult:
        if isinstance(statement, ast.UseModules):
            self.use_modules(*(each.text for each in statement.names))
        elif isinstance(statement, ast.LoadModule):
            self.load_module(statement.name.text)
        else:
            self.unload_module(statement.name.text)
        return ok_result()

    def _execute_writes(self, writes: Sequence[Write]) -> TableResult:
        client = self._statements.write(writes)
        return inserted_result([str(each.entry.path) for each in writes], client)

    def _write_of(
        self, table: Table, target: str | TableDescriptor, overwrite: bool = False
    ) -> Write:
        return write_of_table(table.relation, target, overwrite, self.names)

    def _write_of_sql(self, stmt: str) -> Write:
        statement = self._parsed(stmt)
        if not isinstance(statement, ast.Insert):
            hint = "write INSERT INTO table SELECT ..."
            raise PlanError("NOT_AN_INSERT", "a statement set takes INSERT only", hint=hint)
        return write_of_statement(statement, self.names, stmt)

    def explain_sql(self, stmt: str, *extra_details: int) -> str:
        """Return how a query or INSERT would run, as text; nothing starts.

        Each operator says which changes it gives, its keys, what bounds its state, whether its result
        depends on order or time, and its stage.

        Parameters
        ----------
        stmt
            A query, INSERT or a statement set.
        extra_details
            Members of `ExplainDetail`: more to show.

        Examples
        --------
        >>> t_env = TableEnvironment.create()
        >>> print(t_env.explain_sql("SELECT 1 AS n").partition("== Optimized Execution")[0])
        == Abstract Syntax Tree ==
        Project(select=[1 AS n])
        +- Values(rows=[1], fields=[$there])
        <BLANKLINE>
        == Optimized Physical Plan ==
        Project(select=[1 AS n], changelogMode=[I], order=[D], stage=[source])
        +- Values(rows=[1], fields=[$there], changelogMode=[I], order=[D], stage=[source])
        <BLANKLINE>
        <BLANKLINE>
        """
        return self._explanation(self._parsed(stmt), Source(stmt), detail_names(extra_details))

    def _explain(self, statement: ast.Explain, source: Source) -> TableResult:
        text = self._explanation(statement.statement, source, statement.details)
        return text_result(text)

    def _explanation(self, statement: Any, source: Source, details: Sequence[str]) -> str:
        while isinstance(statement, ast.Execute):
            statement = statement.statement
        if isinstance(statement, Query):
            relation = bind_query(statement, self.names, source)
            return self._statements.explain(relation, details)
        if isinstance(statement, ast.CreateTable) and statement.query is not None:
            writes = [self._write_of_planned(statement, source)]
            return self._statements.explain_writes(writes, details)
        inserts = {ast.Insert: (statement,), ast.StatementSet: ()}.get(type(statement))
        if inserts is None:
            message = "EXPLAIN takes a query, INSERT, CREATE TABLE AS or a statement set"
            hint = "leave EXPLAIN out: other statements run at once, and have no plan"
            raise Problems(source).error("SQL_NOT_SUPPORTED", message, statement, hint)
        found = getattr(statement, "inserts", inserts)
        writes = [write_of_statement(each, self.names, source) for each in found]
        return self._statements.explain_writes(writes, details)

    def explain_table(self, table: Table, *extra_details: int) -> str:
        """Return how the query of a table would run, see `Table.explain`."""
        return self._statements.explain(table.relation, detail_names(extra_details))

    def _explain_writes(self, writes: Sequence[Write], extra_details: Sequence[int]) -> str:
        return self._statements.explain_writes(writes, detail_names(extra_details))

    def create_statement_set(self) -> StatementSet:
        """A set of INSERTs that run as one job."""
        return StatementSet(self)

    # -- tables ----------------------------------------------------------------------------------

    def sql_query(self, query: str) -> Table:
        """Return the table of a query; nothing runs."""
        statement = self._parsed(query)
        if not isinstance(statement, Query):
            raise PlanError(
                "NOT_A_QUERY",
                "sql_query takes a query",
                hint="use execute_sql for other statements",
            )
        return Table(bind_query(statement, self.names, query), self)

    def from_path(self, path: str) -> Table:
        """Return a table or view of a catalog."""
        found = self.sql_query(f"SELECT * FROM {path}")
        entry = self.names.find_table(parse_identifier(path).names)
        found.declared = entry.declared if isinstance(entry, ViewEntry) else entry
        return found

    def from_descriptor(self, descriptor: TableDescriptor) -> Table:
        """Return the table of a descriptor, without a name in a catalog."""
        return self._unnamed_table(entry_of_descriptor(descriptor, self.names, self._new_path()))

    def from_elements(
        self, elements: Iterable[Any], schema: Any = None, verify_schema: bool = True
    ) -> Table:
        """Return a table of rows that the program has.

        Parameters
        ----------
        elements
            Rows: tuples, `Row`, dicts or objects; single values if the schema is one type; or
            expressions ``row(...)``.
        schema
            ``DataTypes.ROW([...])``, a list of names, or columns as SQL has them:
            ``"id INT, x STRING"``. Types that are not given are found from all rows.
        verify_schema
            Accepted for PyFlink's sake: values always have to fit the types.

        Examples
        --------
        >>> t_env = TableEnvironment.create()
        >>> t_env.from_elements([(1, "hi"), (2, None)], ["id", "word"]).print_schema()
        (
          `id` BIGINT,
          `word` STRING
        )
        """
        given = list(elements)
        if given and all(isinstance(each, Expression) for each in given):
            return self._from_expressions(given, schema)
        row_type, rows = rows_of_elements(given, schema, self._statements.zone)
        return self._from_rows(row_type, rows)

    def _from_expressions(self, elements: list[Expression], schema: Any) -> Table:
        query = QueryText(self.names)
        values = ", ".join(query.render(each) for each in elements)
        found = Table(query.bound(f"SELECT * FROM (VALUES {values})"), self)
        if schema is None:
            return found
        row_type, _ = rows_of_elements([], schema)
        casts = [
            f"CAST(`{column}` AS {field.type.as_serializable()}) AS `{field.name}`"
            for column, field in zip(found._columns, row_type.fields, strict=True)
        ]
        return found._selected(casts)

    def from_pandas(self, pdf: pd.DataFrame, schema: Any = None, splits_num: int = 1) -> Table:
        """Return a table of the rows of a pandas frame.

        Parameters
        ----------
        pdf
            The frame; its index is left out.
        schema
            ``DataTypes.ROW([...])``, a list of names, or a list of types.
        splits_num
            Accepted for PyFlink's sake; Spark divides the rows.
        """
        return self._from_rows(*rows_of_frame(pdf, schema, self._statements.zone))

    def _from_rows(self, row_type: RowType, rows: list[Row]) -> Table:
        columns = tuple(TableColumn(each.name, each.type) for each in row_type.fields)
        options = (("connector", "values"),)
        source = TableRows(rows)
        return self._unnamed_table(TableEntry(self._new_path(), columns, options, source=source))

    def watermarked(self, table: Table, column: str, delay: Expression | DurationLike) -> Table:
        """A table with a column as its time, see `Table.with_watermark`."""
        rows = table._selected(time_items(table.relation, column)).relation
        entry = watermarked_entry(rows, column, delay, self.names, self._new_path())
        return self._unnamed_table(replace(entry, source=self._statements.rows_of(rows)))

    def _new_path(self) -> TablePath:
        return self.names.path((f"unnamed${len(self._unnamed) + 1}",))

    def _unnamed_table(self, entry: TableEntry) -> Table:
        self._unnamed[entry.path] = entry
        relation = Scan(entry.row_type, entry.path)
        return Table(relation, self, entry)

    def create_temporary_view(
        self, view_path: str, table_or_data_stream: Any, *fields_or_schema: Expression | Schema
    ) -> None:
        """Give a table a name for the session."""
        if not isinstance(table_or_data_stream, Table):
            message = f"a view shows a table, got {type(table_or_data_stream).__name__}"
            hint = "streams need StreamTableEnvironment.create(env)"
            raise PlanError("NOT_A_VIEW", message, hint=hint)
        entry = view_of_table(self._path(view_path), table_or_data_stream)
        self.names.add_table(replace(entry, temporary=True))

    def inline_name(self, table: Table) -> str:
        """A name for a table in texts of SQL, see `Table.__str__`."""
        self._inline_tables += 1
        name = f"UnnamedTable${self._inline_tables - 1}"
        self.create_temporary_view(name, table)
        return name

    # -- what `Table` asks for -------------------------------------------------------------------

    def execute_table(self, table: Table) -> TableResult:
        """Run the query of a table, see `Table.execute`."""
        row_type = table.relation.row_type
        rows, client = self._statements.collect(table.relation)
        return TableResult(
            row_type,
            (result_row(row, row_type) for row in rows),
            job_client=client,
            streaming=self._statements.streaming,
            by_type=True,
            zone=self._statements.zone,
            width=self._width,
            close=rows.close,
            wait_for=rows.wait,
        )

    def insert_table(
        self, table: Table, target: str | TableDescriptor, overwrite: bool = False
    ) -> TableResult:
        """Write a table, see `Table.execute_insert`."""
        return self._execute_writes([self._write_of(table, target, overwrite)])

    def final_rows(self, table: Table) -> list[Row]:
        """The rows of a table at the end of its job."""
        with self.execute_table(table).collect() as changes:
            return folded(changes)

    def frame(self, table: Table) -> pd.DataFrame:
        """The rows of a table at the end of its job, see `Table.to_pandas`."""
        return frame_of_rows(self.final_rows(table), table.relation.row_type, self._statements.zone)

    @property
    def _width(self) -> int:
        return int(self.names.option(_WIDTH) or 30)

    def _entry(self, path: TablePath) -> TableEntry:
        found = self._unnamed.get(path) or self.names.find_table(
            (path.catalog, path.database, path.name)
        )
        if not isinstance(found, TableEntry):
            message = f"the table {path} is not there any more"
            raise PlanError("UNKNOWN_TABLE", message, hint="make the query again")
        return found


class StreamTableEnvironment(TableEnvironment):
    """A table environment over an environment of streams, whose settings its jobs have.

    Examples
    --------
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> t_env = StreamTableEnvironment.create(env)
    >>> t_env.get_config().get_local_timezone()
    'UTC'
    """

    @staticmethod
    def create(  # type: ignore[override]
        stream_execution_environment: StreamExecutionEnvironment | None = None,
        environment_settings: EnvironmentSettings | Configuration | None = None,
    ) -> StreamTableEnvironment:
        """Return a new environment of tables over one of streams."""
        settings = _settings_of(environment_settings)
        return StreamTableEnvironment(stream_execution_environment, settings)

    def from_data_stream(
        self, data_stream: DataStream, *fields_or_schema: Expression | Schema
    ) -> Table:
        """Return a table of the records of a stream, which are all insertions.

        Parameters
        ----------
        data_stream
            The stream; the fields of its rows or tuples are columns, other values are a column ``f0``.
        fields_or_schema
            A `Schema`: without columns of the stream it has all of them first. Its metadata column
            ``rowtime`` is the event time of records, and the watermark ``SOURCE_WATERMARK()`` is that
            of the stream. Or expressions: ``col("a")``, ``col("t").rowtime``, ``col("p").proctime``.

        Examples
        --------
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> t_env = StreamTableEnvironment.create(env)
        >>> t_env.from_data_stream(env.from_collection([("a", 1)])).print_schema()
        (
          `f0` STRING,
          `f1` BIGINT NOT NULL
        )
        """
        return self._unnamed_table(self._stream_entry(data_stream, fields_or_schema))

    def from_changelog_stream(
        self,
        data_stream: DataStream[Row],
        schema: Schema | None = None,
        changelog_mode: ChangelogMode | None = None,
    ) -> Table:
        """Return a table of a stream of rows whose kinds say what they change.

        Parameters
        ----------
        data_stream
            The stream of `Row`.
        schema
            See `from_data_stream`; a mode without old rows needs a primary key.
        changelog_mode
            The kinds that come; by default all.
        """
        upsert = changelog_mode is not None and not changelog_mode.contains(RowKind.UPDATE_BEFORE)
        given = () if schema is None else (schema,)
        changes: Changelog = "upsert" if upsert else "retract"
        if changelog_mode == ChangelogMode.insert_only():
            changes = "append"
        return self._unnamed_table(self._stream_entry(data_stream, given, changes))

    def _stream_entry(
        self, stream: DataStream, given: Sequence[Any], changes: Changelog = "append"
    ) -> TableEntry:
        return table_of_stream(stream, given, self.names, self._new_path(), changes)

    def create_temporary_view(
        self, view_path: str, table_or_data_stream: Any, *fields_or_schema: Expression | Schema
    ) -> None:
        """Give a table or a stream a name for the session; see `from_data_stream` for streams."""
        table = table_or_data_stream
        if isinstance(table, DataStream):
            table = self.from_data_stream(table, *fields_or_schema)
        super().create_temporary_view(view_path, table)

    def to_data_stream(self, table: Table) -> DataStream[Row]:
        """Return the rows of a table that only grows; ``env.execute()`` runs it.

        The time column of the table is the event time of records.

        Examples
        --------
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> t_env = StreamTableEnvironment.create(env)
        >>> words = t_env.from_elements([("to", 1), ("be", 2)], ["word", "n"])
        >>> t_env.to_data_stream(words).map(lambda row: row.word).execute_and_collect(limit=2)
        ['to', 'be']
        """
        return stream_of_table(self._statements, table.relation)

    def to_changelog_stream(
        self,
        table: Table,
        target_schema: Schema | None = None,
        changelog_mode: ChangelogMode | None = None,
    ) -> DataStream[Row]:
        """Return the changes of a table, as rows with kinds.

        Parameters
        ----------
        table
            The table.
        target_schema
            Columns to cast to, by their names; a metadata column takes the place of the time column.
        changelog_mode
            The kinds that may come; by default all.
        """
        relation = table.relation if target_schema is None else self._cast(table, target_schema)
        return changelog_of_table(self._statements, relation, changelog_mode)

    def _cast(self, table: Table, schema: Schema) -> Relation:
        """The columns of a schema; without physical ones those of the table, without its time."""
        wanted = [each for each in schema.columns if each.kind == "physical"]
        if wanted:
            items = [f"CAST(`{each.name}` AS {each.type_text}) AS `{each.name}`" for each in wanted]
        else:
            left = table._columns
            if any(each.kind == "metadata" for each in schema.columns):
                left = left[:-1]
            items = [f"`{name}`" for name in left]
        return table._selected(items).relation

    def to_append_stream(self, table: Table, type_info: TypeInformation) -> DataStream:
        """Return the rows of a table that only grows, in a type; fields are those in their order."""
        return stream_of_table(self._statements, table.relation, type_info)

    def to_retract_stream(
        self, table: Table, type_info: TypeInformation
    ) -> DataStream[tuple[bool, Row]]:
        """Return the changes of a table as pairs: True and a row added, False and one taken back."""
        changes = changelog_of_table(self._statements, table.relation)
        return changes.map(_retracted, Types.TUPLE([Types.BOOLEAN(), type_info]))


def _retracted(row: Row) -> tuple[bool, Row]:
    added = row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER)
    return added, like(Row(*row), list(row))


def _settings_of(given: EnvironmentSettings | Configuration | None) -> EnvironmentSettings | None:
    if isinstance(given, Configuration):
        return EnvironmentSettings.new_instance().with_configuration(given).build()
    return given


_HANDLERS: dict[type, Callable[[TableEnvironment, Any, Source], TableResult]] = {
    ast.CreateTable: TableEnvironment._create_table,
    ast.Insert: TableEnvironment._insert,
    ast.StatementSet: TableEnvironment._statement_set,
    ast.Execute: TableEnvironment._execute,
    ast.Explain: TableEnvironment._explain,
    ast.UseModules: TableEnvironment._change_modules,
    ast.LoadModule: TableEnvironment._change_modules,
    ast.UnloadModule: TableEnvironment._change_modules,
}
