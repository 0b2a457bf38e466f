"""Questions to Flink: every case as SQL text, and the table of the cases with columns."""

from __future__ import annotations

from typing import Any

from tests.support.functions.cases import GROUPS, ROWS, ROWS_TYPES
from tests.support.functions.language import sql
from tests.support.functions.texts import text_groups, text_query

__all__ = ["questions", "rows_query"]


def rows_query() -> str:
    """The table of the cases with columns, as a query."""
    lines = []
    for row in ROWS:
        cells = [
            f"CAST({sql(value)} AS {kind})"
            for value, kind in zip(row, ROWS_TYPES.values(), strict=True)
        ]
        lines.append(f"({', '.join(cells)})")
    names = ", ".join(f"`{name}`" for name in ROWS_TYPES)
    return f"SELECT * FROM (VALUES {', '.join(lines)}) AS V({names})"


def questions() -> dict[str, Any]:
    """The groups of cases as Flink is asked."""
    texts = {
        name: {
            "zone": group["zone"],
            "table": text_query(group),
            "expressions": group["expressions"],
        }
        for name, group in text_groups().items()
    }
    return texts | {
        name: {
            "zone": zone,
            "table": rows_query() if columns else "",
            "expressions": list(dict.fromkeys(sql(case) for case in cases)),
        }
        for name, (zone, columns, cases) in GROUPS.items()
    }
