"""Several aggregates of a window: what a program asks for, checked, and the type of the results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.typeinfo import RowTypeInfo, TypeInformation, Types
from millstream.common.typesystem.certainty import guessed, no_surer_than
from millstream.datastream.building.aggregations import Summary
from millstream.datastream.building.stream_types import aggregate_type, checked_field

__all__ = ["AggregateName", "summary_of"]

AggregateName = Literal["sum", "min", "max", "avg"]


def summary_of(
    records: TypeInformation | None, key: TypeInformation | None, aggregates: Sequence[object]
) -> tuple[Summary, TypeInformation | None]:
    """Return what is computed of records of a type, and the type of the key with the results.

    Examples
    --------
    >>> record = Types.TUPLE([Types.STRING(), Types.INT()])
    >>> summary_of(record, Types.STRING(), ["count", ("max", 1)])
    (Summary(asked=(('count', None), ('max', 1))), TUPLE(STRING, LONG, INT))
    """
    asked = tuple(_checked(records, one) for one in aggregates)
    if not asked:
        raise _bad_aggregate(None)
    found = [key, *(aggregate_type(records, kind, field) for kind, field in asked)]
    types = [type_info for type_info in found if type_info is not None]
    whole = Types.TUPLE(types) if len(types) == len(found) else None
    return Summary(asked), guessed(no_surer_than(whole, key, records))


def _checked(records: TypeInformation | None, asked: object) -> tuple[str, int | str | None]:
    """Return an aggregate and its field, checked to be one that the records have."""
    if asked == "count":
        return "count", None
    if not isinstance(asked, tuple) or len(asked) != 2 or asked[0] not in get_args(AggregateName):
        raise _bad_aggregate(asked)
    kind, field = asked
    found = checked_field(records, field, kind, numbers=kind in ("sum", "avg"))
    names = records.field_names if isinstance(records, RowTypeInfo) else None
    # One name for a field, however it is asked for: stored aggregates go by it.
    return kind, names[found] if names is not None and isinstance(found, int) else found


def _bad_aggregate(asked: object) -> PlanError:
    got = f", got {short_repr(asked)}" if asked is not None else ""
    return PlanError(
        "BAD_AGGREGATE",
        f"summarize needs an aggregate{got}",
        location=user_location(),
        hint='give "count", or pairs of "sum", "min", "max" or "avg" and a field, as in ("sum", 1)',
    )
