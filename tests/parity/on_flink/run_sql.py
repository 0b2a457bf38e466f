"""Runs SQL programs on Flink, and writes the tables that they end with.

    python run_sql.py programs.json results.json

A program is ``{"statements": [...], "query": "SELECT ..."}``, and perhaps ``options`` of the session and
``batch``; each has an environment of its own. The
result of a program is ``{"columns": [[name, type], ...], "rows": [...]}``, its changelog folded and its
rows sorted, or ``{"error": "..."}``. It runs in PyFlink's environment, which has no Millstream.
"""

from __future__ import annotations

import datetime
import json
import sys
from collections import Counter
from decimal import Decimal
from typing import Any

from pyflink.common import Row, RowKind
from pyflink.table import EnvironmentSettings, TableEnvironment

GONE = (RowKind.UPDATE_BEFORE, RowKind.DELETE)


def plain(value: Any) -> Any:
    """A value as JSON can hold it, the same for equal values."""
    if isinstance(value, Row):
        return [plain(each) for each in value._values]
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return sorted(([plain(key), plain(each)] for key, each in value.items()), key=repr)
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return f"{value.total_seconds()} s"
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    return str(value) if isinstance(value, Decimal) else value


def folded(changes: Any) -> list[Any]:
    """The rows that are left of a changelog, as often as they are there, sorted."""
    rows: Counter[str] = Counter()
    for row in changes:
        rows[json.dumps(plain(row))] += -1 if row.get_row_kind() in GONE else 1
    assert all(count >= 0 for count in rows.values()), "a row was taken back that was not there"
    return [json.loads(text) for text in sorted(rows.elements())]


def run(program: dict[str, Any]) -> dict[str, Any]:
    """The result of one program."""
    mode = "in_batch_mode" if program.get("batch") else "in_streaming_mode"
    environment = TableEnvironment.create(getattr(EnvironmentSettings, mode)())
    environment.get_config().set("parallelism.default", "1")
    environment.get_config().set("table.local-time-zone", "UTC")
    for key, value in program.get("options", {}).items():
        environment.get_config().set(key, value)
    try:
        for statement in program["statements"]:
            environment.execute_sql(statement).wait()
        table = environment.sql_query(program["query"])
        schema = table.get_schema()
        types = [str(kind) for kind in schema.get_field_data_types()]
        with table.execute().collect() as changes:
            rows = folded(changes)
    except Exception as error:
        causes = [line for line in str(error).splitlines() if "Exception: " in line]
        return {"error": (causes or [str(error)])[-1][:500]}
    return {"columns": [*zip(schema.get_field_names(), types, strict=True)], "rows": rows}


def main() -> None:
    source, target = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        programs = json.load(file)
    results = {}
    for name, program in programs.items():
        results[name] = run(program)
        print(name, results[name].get("error") or len(results[name]["rows"]), flush=True)
    with open(target, "w", encoding="utf-8") as file:
        json.dump(results, file)


if __name__ == "__main__":
    main()
