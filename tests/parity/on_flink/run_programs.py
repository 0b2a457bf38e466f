"""Runs many SQL programs on Flink, several in one job, and prints the changes of their results.

    python run_programs.py programs.json columns.json

A program is ``{"statements": [...], "query": "SELECT ...", "zone": "UTC"}``. Programs with the same
statements share a database. The print connector writes the changes: ``name#attempt> +I[1, a]``. A job
that fails is cut in two until the programs that fail are alone. ``columns.json`` has for each program
``{"attempt": 3, "columns": [[name, type], ...]}`` or ``{"error": "..."}``. It runs in PyFlink's
environment, which has no Millstream.
"""

from __future__ import annotations

import json
import sys
from itertools import count
from typing import Any

from pyflink.table import EnvironmentSettings, TableDescriptor, TableEnvironment

TOGETHER = 24

attempts = count(1)


def environment(zone: str, mode: str) -> TableEnvironment:
    """A new environment, one task per operator."""
    streaming = mode == "streaming"
    settings = (
        EnvironmentSettings.in_streaming_mode if streaming else EnvironmentSettings.in_batch_mode
    )
    found = TableEnvironment.create(settings())
    config = found.get_config()
    config.set("parallelism.default", "1")
    config.set("table.exec.resource.default-parallelism", "1")
    config.set("restart-strategy.type", "none")
    config.set("table.local-time-zone", zone)
    # A watermark after each row, so that it does not depend on the time of day which rows are late.
    config.set("pipeline.auto-watermark-interval", "0 ms")
    config.set("taskmanager.memory.network.max", "512mb")
    config.set("taskmanager.memory.network.min", "512mb")
    return found


def run(programs: dict[str, Any], found: dict[str, Any], zone: str, mode: str) -> None:
    """Run programs as one job, or in halves if that fails."""
    t_env = environment(zone, mode)
    attempt = next(attempts)
    databases: dict[str, str] = {}
    together = t_env.create_statement_set()
    planned: dict[str, Any] = {}
    for name, program in programs.items():
        try:
            use_tables(t_env, program["statements"], databases)
            table = t_env.sql_query(program["query"])
            types = table._j_table.getResolvedSchema().getColumnDataTypes()
            names = table._j_table.getResolvedSchema().getColumnNames()
            columns = [[names.get(at), types.get(at).toString()] for at in range(types.size())]
            table.explain()
            planned[name] = table, columns
        except Exception as error:
            found[name] = {"error": cause(error)}
    for name, (table, columns) in planned.items():
        sink = TableDescriptor.for_connector("print").option(
            "print-identifier", f"{name}#{attempt}"
        )
        together.add_insert(sink.build(), table)
        found[name] = {"attempt": attempt, "columns": columns}
    try:
        if planned:
            together.execute().wait()
    except Exception as error:
        if len(planned) == 1:
            found[next(iter(planned))] = {"error": cause(error)}
            return
        halves = list(planned)
        middle = len(halves) // 2
        for half in (halves[:middle], halves[middle:]):
            run({name: programs[name] for name in half}, found, zone, mode)


def use_tables(t_env: TableEnvironment, statements: list[str], databases: dict[str, str]) -> None:
    """Use the database of some statements, made first if need be."""
    key = json.dumps(statements)
    if key in databases:
        t_env.use_database(databases[key])
        return
    databases[key] = f"tables{len(databases)}"
    t_env.execute_sql(f"CREATE DATABASE {databases[key]}")
    t_env.use_database(databases[key])
    for statement in statements:
        t_env.execute_sql(statement)


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
    kinds = {(each["zone"], each["mode"]) for each in programs.values()}
    for zone, mode in sorted(kinds):
        names = [n for n, each in programs.items() if (each["zone"], each["mode"]) == (zone, mode)]
        for start in range(0, len(names), TOGETHER):
            part = {name: programs[name] for name in names[start : start + TOGETHER]}
            run(part, found, zone, mode)
            print(f"{start + len(part)} of {len(names)}", file=sys.stderr, flush=True)
            with open(target, "w", encoding="utf-8") as file:
                json.dump(found, file)


if __name__ == "__main__":
    main()
