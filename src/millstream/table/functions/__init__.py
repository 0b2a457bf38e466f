"""The built-in functions of Flink SQL 2.3: one registry of signatures, result types and
implementations.
"""

from __future__ import annotations

from millstream.table.functions import aggregates as _aggregates
from millstream.table.functions import arithmetic as _arithmetic
from millstream.table.functions import collections as _collections
from millstream.table.functions import conditions as _conditions
from millstream.table.functions import hashes as _hashes
from millstream.table.functions import json_functions as _json_functions
from millstream.table.functions import operators as _operators
from millstream.table.functions import regexps as _regexps
from millstream.table.functions import special as _special
from millstream.table.functions import strings as _strings
from millstream.table.functions import times as _times
from millstream.table.functions.casts import bind_cast
from millstream.table.functions.conditions import bind_case
from millstream.table.functions.json_functions import bind_json_query, bind_json_value
from millstream.table.functions.registry import FUNCTIONS, BindError, Function, bind, lookup

__all__ = [
    "FUNCTIONS",
    "BindError",
    "Function",
    "bind",
    "bind_case",
    "bind_cast",
    "bind_json_query",
    "bind_json_value",
    "lookup",
]

# Importing them fills the registry.
_MODULES = (
    _aggregates,
    _arithmetic,
    _collections,
    _conditions,
    _hashes,
    _json_functions,
    _operators,
    _regexps,
    _special,
    _strings,
    _times,
)
