"""The page of functions, made from the registry.

python -m millstream.table.functions.documentation docs/reference/sql_functions.md
"""

from __future__ import annotations

import sys
from pathlib import Path

from millstream.table.functions import FUNCTIONS

__all__ = ["differences_section", "page"]

_HEAD = """# SQL functions

The built-in functions of Flink SQL 2.3, with Flink's names, result types and NULL rules. This page is made from the registry
(`python -m millstream.table.functions.documentation docs/reference/sql_functions.md`). Thousands of results, recorded from Flink itself,
are compared in the tests.
"""
_DIFFERENCES = """## Differences from Flink

Each one is a case of the recorded results. `tests/unit/table/functions/differences.json` lists all cases that differ, with reasons.

| Difference | Reason |
| --- | --- |
| `1.0E0 / 0` is Infinity | Flink fails here only because the planner computes the constant as a decimal; with a column it is Infinity there too. |
| `SIGN` and `TRUNCATE` of TINYINT and SMALLINT, `TRUNCATE(1E20, 2)` give a result | Flink's generated code does not compile, or fails with a null pointer. |
| The last digit of `SIN` may differ | Java and C round differently. |
| `UPPER('ß')` is longer than its CHAR type says | Flink cuts the constant; with a column it does not. |
| A text of emoji compares with one of the last characters of the basic plane by code points | Flink compares constants by UTF-16 units, and columns by bytes, as here. |
| `array[5]` behind the end, `map['absent']` and `ELEMENT` of an empty array are NULL if elements are NOT NULL | Flink gives -1, which stands in the unset memory. |
| `TIMESTAMPDIFF` of TIMEs in months, quarters and years is 0 | Flink takes milliseconds for days. |
| Maps have no NULL among their keys | Arrow's maps have none. |
| `CAST(TIMESTAMP '1969-12-31 12:00:00' AS TIME)` is 12:00:00 | Flink computes a negative time of day, and fails. |
| TIMESTAMP(0) and TIME have whole seconds behind `+ INTERVAL '0.5' SECOND` too | Flink's value then has more digits than its type. |
| `SUBSTRING(s, n)`, `LEFT`, `RIGHT`, `ELT` and others take a BIGINT | The code that Flink generates for it fails. |
| `VAR_SAMP` and others of whole numbers add exactly: 3 for 1, 2, 2, 5 | Flink computes 2.9999999999999996, and cuts it to 2. |
| `PRINTF` has no `%h` and no `%a` | They show how Java stores values. |
| `OBJECT_OF`, `OBJECT_UPDATE` and structured types are missing | Rows with names are there instead. |
| `JSON_VALUE` and others with filters such as `$.a[?(@.x == 1)]` work | PyFlink 2.3 comes without a class that its JSON library needs. |
| Regular expressions with intersections of classes, `[a-z&&[^b]]`, are errors | Python's `re`, to which patterns are translated, has none. |
| Names of months and days are English | Flink takes the language of the machine. |
"""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def differences_section() -> str:
    """The part of the page about what differs from Flink."""
    return _DIFFERENCES


def page() -> str:
    """The page, in Markdown."""
    parts = [_HEAD]
    for category in dict.fromkeys(sorted(entry.category for entry in FUNCTIONS.values())):
        parts.append(f"## {category.capitalize()}\n\n| Syntax | Result |\n| --- | --- |")
        rows: dict[str, str] = {}
        for entry in FUNCTIONS.values():
            if entry.category == category:
                note = "" if entry.deterministic else " Not deterministic."
                rows.setdefault(entry.syntax, entry.text + note)
        parts += [f"| `{_cell(syntax)}` | {_cell(text)} |" for syntax, text in rows.items()]
        parts.append("")
    return "\n".join([*parts, _DIFFERENCES])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
