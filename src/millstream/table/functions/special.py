"""Syntax that has its own nodes in the tree, and functions that the planner replaces, for the list
of functions.
"""

from __future__ import annotations

from millstream.table.functions.registry import declare, signature

__all__: list[str] = []

_ENTRIES = [
    ("CASE", "conditional", "CASE [value] WHEN value1 THEN result1 ... [ELSE result] END", "The result of the first condition that is TRUE, or of the first equal value."),
    ("CAST", "conversion", "CAST(value AS type)", "The value as another type; an error if it cannot be converted."),
    ("TRY_CAST", "conversion", "TRY_CAST(value AS type)", "The value as another type; NULL if it cannot be converted."),
    ("DATE", "temporal", "DATE string", "A date such as DATE '2020-01-31'."),
    ("TIME", "temporal", "TIME string", "A time such as TIME '10:00:00'."),
    ("TIMESTAMP", "temporal", "TIMESTAMP string", "A timestamp such as TIMESTAMP '2020-01-31 10:00:00.123'."),
    ("INTERVAL", "temporal", "INTERVAL string range", "An interval such as INTERVAL '1 02:03' DAY TO MINUTE."),
    ("FIELD", "value access", "row.field", "A field of a row."),
    ("EXISTS", "comparison", "EXISTS (query)", "TRUE if the query has a row; the planner makes a join of it."),
    ("IN QUERY", "comparison", "value IN (query)", "TRUE if a row of the query is equal to the value; the planner makes a join of it."),
    ("NOT IN QUERY", "comparison", "value NOT IN (query)", "TRUE if no row of the query is equal to the value; the planner makes a join of it."),
    ("CURRENT_DATABASE", "catalog", "CURRENT_DATABASE()", "The current database; the binder makes a literal of it."),
]  # fmt: skip

for _name, _category, _syntax, _text in _ENTRIES:
    declare(_name, _category, _syntax, _text, signature("ANY*", "STRING"), None)
declare("CURRENT_WATERMARK", "temporal", "CURRENT_WATERMARK(rowtime)", "The watermark before the row, in its channel; NULL if there was none, and in batch mode.", signature("TIMESTAMP", lambda types: types[0].with_nullability(True)), None, deterministic=False)  # fmt: skip
declare("SOURCE_WATERMARK", "temporal", "SOURCE_WATERMARK()", "In DDL: the source makes the watermarks.", signature("", "TIMESTAMP_LTZ(3)!"), None, deterministic=False)  # fmt: skip
