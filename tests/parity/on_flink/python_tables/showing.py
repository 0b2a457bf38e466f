"""What programs return: rows of tables as text that tells types apart."""

from __future__ import annotations

import re
from collections import Counter

from pyflink.common import Row, RowKind

TIMES = re.compile(r"\bTimestampType\(\d")
"""PyFlink says 3 for the digits of all timestamps."""
GONE = (RowKind.UPDATE_BEFORE, RowKind.DELETE)


def shown(value):
    """A value as text: 1 and 1.0, a tuple, a list and a row differ; maps are sorted."""
    if isinstance(value, Row):
        return f"Row({', '.join(map(shown, value))})"
    if isinstance(value, dict):
        pairs = sorted(f"{shown(key)}: {shown(each)}" for key, each in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(map(shown, value))
        return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
    return repr(bytes(value) if isinstance(value, bytearray) else value)


def final(table):
    """The rows that a table ends with, sorted."""
    rows = Counter()
    with table.execute().collect() as changes:
        for row in changes:
            rows[shown(row)] += -1 if row.get_row_kind() in GONE else 1
    return sorted(rows.elements())


def ordered(table):
    """The rows of a table as they come."""
    with table.execute().collect() as rows:
        return [shown(row) for row in rows]


def typed(table):
    """The columns of a table with their types, and the rows that it ends with."""
    schema = table.get_schema()
    types = [
        f"{name}: {TIMES.sub('TimestampType(3', repr(kind))}"
        for name, kind in zip(schema.get_field_names(), schema.get_field_data_types(), strict=True)
    ]
    return {"columns": types, "rows": final(table)}


def frame(table):
    """A table as a pandas frame: the types of its columns, and its rows sorted."""
    found = table.to_pandas()
    types = [f"{name}: {kind}" for name, kind in found.dtypes.items()]
    rows = sorted(repr([plain(value) for value in row]) for row in found.itertuples(index=False))
    return {"types": types, "rows": rows}


def plain(value):
    """A value of a frame without the classes of numpy, which print themselves."""
    if type(value).__name__ == "ndarray":
        return [plain(each) for each in value.tolist()]
    if hasattr(value, "item"):
        return value.item()
    return value


def failed(call):
    """The class of the error that a call raises, or None."""
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return None
