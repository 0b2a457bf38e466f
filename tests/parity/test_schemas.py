"""The columns of queries are those that Flink gives; the answers are recorded."""

from __future__ import annotations

import json
from typing import Any

from millstream.table.sql.errors import SqlError
from tests.parity.record_schemas import ANSWERS
from tests.support.catalogs import catalog, schema

# UNNEST without names of columns, and NULL without a type, are not yet as in Flink.
KNOWN = {"SELECT NULL FROM t", "SELECT t.a, q.* FROM t, UNNEST(arr) AS q"}


def _plain(columns: Any) -> Any:
    """Flink takes the marks of time attributes away later, when it plans; the binder does it here."""
    if isinstance(columns, str):
        return "refused"
    marks = (" *ROWTIME*", " *PROCTIME*")
    return [[name, kind.replace(marks[0], "").replace(marks[1], "")] for name, kind in columns]


def test_names_and_types_are_those_of_flink() -> None:
    manager = catalog()
    wrong = {}
    for query, answer in json.loads(ANSWERS.read_text(encoding="utf-8")).items():
        try:
            found = _plain(schema(query, manager))
        except SqlError:
            found = "refused"
        if found != _plain(answer):
            wrong[query] = (_plain(answer), found)
    assert set(wrong) == KNOWN, {query: wrong[query] for query in set(wrong) - KNOWN}
