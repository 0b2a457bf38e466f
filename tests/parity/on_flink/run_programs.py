"""Runs many SQL programs on Flink, several in one job, and prints the changes of their results.

    python run_programs.py programs.json columns.json

A program is ``{"statements": [...], "query": "SELECT ...", "zone": "UTC"}``, perhaps with ``options`` of
the session. With ``"sink": "id INT, ..."`` the query is an INSERT into the table ``sink``, which has
these columns. ``streams`` are upsert tables by name: ``{"columns": [[name, type], ...], "key": [...],
"watermark": [column, expression] or None, "rows": [[kind, ...], ...]}``. Programs with the same
statements share a database. The print connector writes the changes: ``name#attempt> +I[1, a]``. A job
that fails is cut in two until the programs that fail are alone. ``columns.json`` has for each program
``{"attempt": 3, "columns": [[name, type], ...]}`` or ``{"error": "..."}``. It runs in PyFlink's
environment, which has no Millstream.
"""

from __future__ import annotations

import datetime
import json
import sys
from itertools import count
from typing import Any

from pyflink.common import Configuration, Row, RowKind, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.java_gateway import get_gateway
from pyflink.table import (
    EnvironmentSettings,
    Schema,
    StreamTableEnvironment,
    TableDescriptor,
    TableEnvironment,
)
from pyflink.table.changelog_mode import ChangelogMode

TOGETHER = 24

KINDS = {"+I": RowKind.INSERT, "+U": RowKind.UPDATE_AFTER, "-D": RowKind.DELETE}
TYPES = {"INT": Types.INT(), "BIGINT": Types.LONG(), "STRING": Types.STRING()}

attempts = count(1)


def environment(zone: str, mode: str, options: dict[str, str]) -> tuple[Any, Any]:
    """A new environment, one task per operator, and that of its streams."""
    jobs = StreamExecutionEnvironment.get_execution_environment(Configuration())
    jobs.set_parallelism(1)
    if mode == "streaming":
        found = StreamTableEnvironment.create(jobs, EnvironmentSettings.in_streaming_mode())
    else:
        found = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    config = found.get_config()
    for key, value in options.items():
        config.set(key, value)
    config.set("parallelism.default", "1")
    config.set("table.exec.resource.default-parallelism", "1")
    config.set("restart-strategy.type", "none")
    config.set("table.local-time-zone", zone)
    # A watermark after each row, so that it does not depend on the time of day which rows are late.
    config.set("pipeline.auto-watermark-interval", "0 ms")
    config.set("taskmanager.memory.network.max", "512mb")
    config.set("taskmanager.memory.network.min", "512mb")
    return found, jobs


def run(programs: dict[str, Any], found: dict[str, Any], kind: tuple[str, str, str]) -> None:
    """Run programs as one job, or in halves if that fails."""
    zone, mode, options = kind
    t_env, jobs = environment(zone, mode, json.loads(options))
    attempt = next(attempts)
    databases: dict[str, str] = {}
    together = t_env.create_statement_set()
    planned: list[str] = []
    for name, program in programs.items():
        try:
            use_tables(t_env, jobs, program, databases)
            columns = add(t_env, together, f"{name}#{attempt}", program)
        except Exception as error:
            found[name] = {"error": cause(error)}
            continue
        found[name] = {"attempt": attempt, "columns": columns}
        planned.append(name)
    try:
        if planned:
            together.execute().wait()
    except Exception as error:
        if len(planned) == 1:
            found[planned[0]] = {"error": cause(error)}
            return
        middle = len(planned) // 2
        for half in (planned[:middle], planned[middle:]):
            run({name: programs[name] for name in half}, found, kind)


def add(t_env: TableEnvironment, together: Any, identifier: str, program: dict[str, Any]) -> Any:
    """Add a program to the job, after a try whether it can be planned; returns its columns."""
    if program.get("sink"):
        name = f"sink_{next(attempts)}"
        options = f"'connector' = 'print', 'print-identifier' = '{identifier}'"
        t_env.execute_sql(f"CREATE TABLE {name} ({program['sink']}) WITH ({options})")
        insert = program["query"].replace("INTO sink", f"INTO {name}")
        t_env.explain_sql(insert)
        together.add_insert_sql(insert)
        return columns_of(t_env.from_path(name))
    table = t_env.sql_query(program["query"])
    table.explain()
    sink = TableDescriptor.for_connector("print").option("print-identifier", identifier)
    together.add_insert(sink.build(), table)
    return columns_of(table)


def columns_of(table: Any) -> list[list[str]]:
    """The names and types of the columns of a table."""
    schema = table._j_table.getResolvedSchema()
    types, names = schema.getColumnDataTypes(), schema.getColumnNames()
    return [[names.get(at), types.get(at).toString()] for at in range(types.size())]


def use_tables(
    t_env: TableEnvironment, jobs: Any, program: dict[str, Any], databases: dict[str, str]
) -> None:
    """Use the database of the tables of a program, made first if need be."""
    statements, streams = program["statements"], program.get("streams") or {}
    key = json.dumps([statements, streams])
    if key in databases:
        t_env.use_database(databases[key])
        return
    databases[key] = f"tables{len(databases)}"
    t_env.execute_sql(f"CREATE DATABASE {databases[key]}")
    t_env.use_database(databases[key])
    for name, stream in streams.items():
        t_env.create_temporary_view(name, upserts(t_env, jobs, stream))
    for statement in statements:
        t_env.execute_sql(statement)


def upserts(t_env: Any, jobs: Any, stream: dict[str, Any]) -> Any:
    """A table of a stream of upserts."""
    names = [name for name, _ in stream["columns"]]
    types = [TYPES.get(kind.split()[0], Types.SQL_TIMESTAMP()) for _, kind in stream["columns"]]
    rows = [row_of(*row) for row in stream["rows"]]
    info = Types.ROW_NAMED(names, types)
    schema = Schema.new_builder()
    for name, kind in stream["columns"]:
        required = " NOT NULL" if name in stream["key"] else ""
        plain = kind.replace(" *ROWTIME*", "").replace(" NOT NULL", "")
        if plain in TYPES:
            schema.column(name, plain + required)
        else:
            schema._j_builder.column(name, java_timestamp())
    if stream["watermark"]:
        schema.watermark(*stream["watermark"])
    schema.primary_key(*stream["key"])
    read = jobs.from_collection(rows, info)
    return t_env.from_changelog_stream(read, schema.build(), ChangelogMode.upsert())


def java_timestamp() -> Any:
    """TIMESTAMP(3) whose values are those that Python's datetimes become in Java."""
    java = get_gateway().jvm
    values = java.java.lang.Class.forName("java.sql.Timestamp")
    return java.org.apache.flink.table.api.DataTypes.TIMESTAMP(3).bridgedTo(values)


def row_of(kind: str, *values: Any) -> Row:
    """A row with its kind."""
    row = Row(*(time_of(value) for value in values))
    row.set_row_kind(KINDS[kind])
    return row


def time_of(value: Any) -> Any:
    """A value; texts that are times become times."""
    if isinstance(value, str) and value[4:5] == "-" and "T" in value:
        return datetime.datetime.fromisoformat(value)
    return value


def cause(error: Exception) -> str:
    """The innermost reason of an error."""
    inner, text = getattr(error, "java_exception", None), str(error)
    while inner is not None:
        text = inner.toString()
        inner = inner.getCause()
    return text[:400]


def main() -> None:
    source, target = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        programs = json.load(file)
    found: dict[str, Any] = {}
    names: dict[tuple[str, str, str], list[str]] = {}
    for name, each in programs.items():
        options = json.dumps(each.get("options") or {}, sort_keys=True)
        names.setdefault((each["zone"], each["mode"], options), []).append(name)
    done = 0
    for kind, same in sorted(names.items()):
        for start in range(0, len(same), TOGETHER):
            part = {name: programs[name] for name in same[start : start + TOGETHER]}
            run(part, found, kind)
            done += len(part)
            print(f"{done} of {len(programs)}", file=sys.stderr, flush=True)
            with open(target, "w", encoding="utf-8") as file:
                json.dump(found, file)


if __name__ == "__main__":
    main()
