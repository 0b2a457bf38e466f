"""Questions in SQL over columns of all types: texts that go through the parser and the binder.

`texts.json` has them by groups, with the table that they read. Flink's answers are in `answers.json`,
beside those of the cases.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from millstream.table.expressions import Context, kinds
from millstream.table.expressions.vectors import build, internal
from millstream.table.functions.evaluate import evaluate
from millstream.table.logical.binder import parse_and_bind_expression
from millstream.table.types.logical import RowType
from tests.support.functions.binding import plain_values
from tests.support.sql import Tables, row_type

__all__ = ["text_groups", "text_query", "text_table", "value_of_text"]

FILE = Path(__file__).resolve().parents[2] / "unit/table/functions/texts.json"
_ONE = pa.record_batch({"_": pa.array([0])})
_NOTHING = row_type("_ INT")


@cache
def text_groups() -> dict[str, Any]:
    """Groups of questions: a time zone, columns with types, rows of SQL texts, and expressions."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def text_query(group: dict[str, Any]) -> str:
    """The table of a group as a query for Flink; nothing if the expressions have no columns."""
    columns: dict[str, str] = group["columns"]
    if not columns:
        return ""
    rows = (
        ", ".join(
            f"CAST({cell} AS {kind})" for cell, kind in zip(row, columns.values(), strict=True)
        )
        for row in group["rows"]
    )
    names = ", ".join(f"`{name}`" for name in columns)
    return f"SELECT * FROM (VALUES {', '.join(f'({row})' for row in rows)}) AS V({names})"


def text_table(group: dict[str, Any]) -> tuple[pa.RecordBatch, RowType]:
    """The table of a group as columns."""
    columns: dict[str, str] = group["columns"]
    if not columns:
        return _ONE, _NOTHING
    arrays = {}
    for at, (name, text) in enumerate(columns.items()):
        kind = kinds.parse_type(text)
        cells: list[Any] = []
        for row in group["rows"]:
            sql = f"CAST({row[at]} AS {text})"
            cell = parse_and_bind_expression(sql, _NOTHING, Tables(zone=group["zone"]))
            cells += internal(evaluate(cell, _ONE, Context(zone_name=group["zone"])), cell.type)
        arrays[name] = build(cells, kind)
    names = ", ".join(f"`{name}` {text}" for name, text in columns.items())
    return pa.record_batch(arrays), row_type(names)


def value_of_text(
    text: str, zone: str, table: tuple[pa.RecordBatch, RowType]
) -> tuple[str, list[Any]]:
    """The type of an expression, and its values as the answers have them."""
    found = parse_and_bind_expression(text, table[1], Tables(zone=zone))
    array = evaluate(found, table[0], Context(zone_name=zone))
    return found.type.as_summary(), plain_values(array, found.type)
