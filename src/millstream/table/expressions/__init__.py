"""The typed expression tree and its reference evaluator over Arrow columns.

PyFlink's functions, such as ``col`` and ``lit``, are here too; they are loaded when they are asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from millstream.table.expressions.context import Context as Context
from millstream.table.expressions.context import EvaluationError as EvaluationError
from millstream.table.expressions.tree import Call as Call
from millstream.table.expressions.tree import Case as Case
from millstream.table.expressions.tree import Cast as Cast
from millstream.table.expressions.tree import Expression as Expression
from millstream.table.expressions.tree import FieldAccess as FieldAccess
from millstream.table.expressions.tree import InputRef as InputRef
from millstream.table.expressions.tree import Literal as Literal
from millstream.table.expressions.tree import Symbol as Symbol

if TYPE_CHECKING:
    # For type checkers and the documentation; the module itself is loaded when it is needed.
    from millstream.table.fluent.expression_functions import CURRENT_RANGE as CURRENT_RANGE
    from millstream.table.fluent.expression_functions import CURRENT_ROW as CURRENT_ROW
    from millstream.table.fluent.expression_functions import UNBOUNDED_RANGE as UNBOUNDED_RANGE
    from millstream.table.fluent.expression_functions import UNBOUNDED_ROW as UNBOUNDED_ROW
    from millstream.table.fluent.expression_functions import and_ as and_
    from millstream.table.fluent.expression_functions import array as array
    from millstream.table.fluent.expression_functions import atan2 as atan2
    from millstream.table.fluent.expression_functions import call as call
    from millstream.table.fluent.expression_functions import call_sql as call_sql
    from millstream.table.fluent.expression_functions import coalesce as coalesce
    from millstream.table.fluent.expression_functions import col as col
    from millstream.table.fluent.expression_functions import concat as concat
    from millstream.table.fluent.expression_functions import concat_ws as concat_ws
    from millstream.table.fluent.expression_functions import convert_tz as convert_tz
    from millstream.table.fluent.expression_functions import current_database as current_database
    from millstream.table.fluent.expression_functions import current_date as current_date
    from millstream.table.fluent.expression_functions import current_time as current_time
    from millstream.table.fluent.expression_functions import current_timestamp as current_timestamp
    from millstream.table.fluent.expression_functions import current_watermark as current_watermark
    from millstream.table.fluent.expression_functions import date_format as date_format
    from millstream.table.fluent.expression_functions import descriptor as descriptor
    from millstream.table.fluent.expression_functions import e as e
    from millstream.table.fluent.expression_functions import from_unixtime as from_unixtime
    from millstream.table.fluent.expression_functions import if_then_else as if_then_else
    from millstream.table.fluent.expression_functions import json as json
    from millstream.table.fluent.expression_functions import json_array as json_array
    from millstream.table.fluent.expression_functions import json_array_agg as json_array_agg
    from millstream.table.fluent.expression_functions import json_object as json_object
    from millstream.table.fluent.expression_functions import json_object_agg as json_object_agg
    from millstream.table.fluent.expression_functions import json_string as json_string
    from millstream.table.fluent.expression_functions import lag as lag
    from millstream.table.fluent.expression_functions import lead as lead
    from millstream.table.fluent.expression_functions import lit as lit
    from millstream.table.fluent.expression_functions import local_time as local_time
    from millstream.table.fluent.expression_functions import local_timestamp as local_timestamp
    from millstream.table.fluent.expression_functions import log as log
    from millstream.table.fluent.expression_functions import map_ as map_
    from millstream.table.fluent.expression_functions import map_from_arrays as map_from_arrays
    from millstream.table.fluent.expression_functions import negative as negative
    from millstream.table.fluent.expression_functions import not_ as not_
    from millstream.table.fluent.expression_functions import null_of as null_of
    from millstream.table.fluent.expression_functions import object_of as object_of
    from millstream.table.fluent.expression_functions import or_ as or_
    from millstream.table.fluent.expression_functions import pi as pi
    from millstream.table.fluent.expression_functions import rand as rand
    from millstream.table.fluent.expression_functions import rand_integer as rand_integer
    from millstream.table.fluent.expression_functions import range_ as range_
    from millstream.table.fluent.expression_functions import row as row
    from millstream.table.fluent.expression_functions import row_interval as row_interval
    from millstream.table.fluent.expression_functions import source_watermark as source_watermark
    from millstream.table.fluent.expression_functions import temporal_overlaps as temporal_overlaps
    from millstream.table.fluent.expression_functions import timestamp_diff as timestamp_diff
    from millstream.table.fluent.expression_functions import to_date as to_date
    from millstream.table.fluent.expression_functions import to_timestamp as to_timestamp
    from millstream.table.fluent.expression_functions import to_timestamp_ltz as to_timestamp_ltz
    from millstream.table.fluent.expression_functions import unix_timestamp as unix_timestamp
    from millstream.table.fluent.expression_functions import uuid as uuid
    from millstream.table.fluent.expression_functions import with_all_columns as with_all_columns
    from millstream.table.fluent.expression_functions import with_columns as with_columns
    from millstream.table.fluent.expression_functions import without_columns as without_columns


def __getattr__(name: str) -> Any:
    """A function of `pyflink.table.expressions`; ``import *`` takes these only."""
    if name == "__all__" or not name.startswith("__"):
        functions = import_module("millstream.table.fluent.expression_functions")
        if name == "__all__" or name in functions.__all__:
            return getattr(functions, name)
    raise AttributeError(f"module 'millstream.table.expressions' has no attribute {name!r}")
