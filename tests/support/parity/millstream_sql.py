"""The SQL programs about time on Millstream, in memory, with results as Flink's are recorded."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from millstream.common import Row
from millstream.datastream import StreamExecutionEnvironment
from millstream.table.connectors.changes import folded
from millstream.table.connectors.simple import TableRows
from millstream.table.execution.planning import Planner
from millstream.table.logical.entries import TableEntry
from millstream.table.table_environment import TableEnvironment
from tests.support.parity.timed_programs import TABLES, VIEWS, InputTable, TimedProgram
from tests.support.sql import changes_in_memory

__all__ = ["environment", "on_millstream"]


def environment(zone: str = "UTC", *, batch: bool = False) -> TableEnvironment:
    """An environment with the tables and views of the programs."""
    t_env = TableEnvironment.create()
    t_env.names.options["table.local-time-zone"] = zone
    if batch:
        t_env.names.options["execution.runtime-mode"] = "batch"
    for name, table in TABLES.items():
        columns = f"{table.columns}, WATERMARK FOR {table.time} AS {table.watermark}"
        t_env.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'values')")
        entry = t_env.names.find_table((name,))
        assert isinstance(entry, TableEntry)
        rows = TableRows(_rows(table))
        t_env.names.add_table(replace(entry, source=rows), replacing=True)
    for name, query in VIEWS.items():
        t_env.execute_sql(f"CREATE TEMPORARY VIEW {name} AS {query}")
    return t_env


def on_millstream(program: TimedProgram, **options: Any) -> list[Any]:
    """The rows that a program ends with, sorted, as JSON can hold them. ``options``: of `run_local`."""
    t_env = environment(program.zone, batch=program.batch)
    env = StreamExecutionEnvironment.get_execution_environment()
    planner = Planner(env, t_env._entry, program.zone, batch=program.batch)
    planned = planner.planned(t_env.sql_query(program.query).relation)
    rows = folded(changes_in_memory(planner, planned, **options))
    return [json.loads(text) for text in sorted(json.dumps(_plain(row)) for row in rows)]


def _rows(table: InputTable) -> list[Row]:
    at = table.names().index(table.time)
    return [Row(*row[:at], _time(row[at]), *row[at + 1 :]) for row in table.rows]


def _time(text: str) -> datetime:
    if text.endswith("Z"):
        return datetime.fromisoformat(text[:-1]).replace(tzinfo=UTC)
    return datetime.fromisoformat(text)


def _plain(value: Any) -> Any:
    if isinstance(value, Row | list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None).isoformat()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value
