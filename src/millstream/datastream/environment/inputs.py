"""Inputs of streams, checked before the stream is made."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from millstream.common.errors import PlanError, TypeMismatchError, short_repr, user_location
from millstream.common.stored_values import as_stored
from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP
from millstream.common.typeinfo import RowTypeInfo, TypeInformation, infer_from_values
from millstream.common.types import Row, RowKind, like
from millstream.common.typesystem.certainty import inferred
from millstream.common.typesystem.composites import ChangesTypeInfo
from millstream.connectors.source import Source, SourceSpec
from millstream.datastream.building.spark_schema import row_type_of_schema
from millstream.datastream.timestamped_value import TimestampedValue
from millstream.plan.specs import DataFrameSpec, SocketSpec

__all__ = ["checked_elements", "dataframe_spec", "socket_spec", "source_specs"]


def checked_elements(
    collection: Iterable[Any], declared: TypeInformation | None, timestamps: Iterable[int] | None
) -> tuple[list[Any], list[int] | None, TypeInformation]:
    """Return the elements of a collection, their event times if they have any, and their type."""
    values, own_times = _without_timestamps(_listed(collection))
    times = own_times
    if timestamps is not None:
        if own_times is not None:
            raise _error(
                "TIMESTAMPS_TWICE",
                "timestamps= is given, and the elements are TimestampedValue objects",
                "use one of the two",
            )
        times = list(timestamps)
    _check_times(times, len(values))
    if declared is None:
        return values, times, inferred(infer_from_values(values))
    if isinstance(declared, RowTypeInfo) and any(map(_is_change, values)):
        _check_types([like(Row(*each), list(each)) for each in values], declared)
        return values, times, ChangesTypeInfo(declared)
    _check_types(values, declared)
    return [as_stored(declared, value) for value in values], times, declared


def _is_change(value: object) -> bool:
    return isinstance(value, Row) and value.get_row_kind() is not RowKind.INSERT


def _listed(collection: object) -> list[Any]:
    if isinstance(collection, str | bytes | Mapping) or not isinstance(collection, Iterable):
        hint = "put the elements into a list"
        if isinstance(collection, Mapping):
            hint = "for pairs of key and value use list(d.items())"
        raise _error(
            "NOT_A_COLLECTION",
            f"from_collection needs a list of elements, got {short_repr(collection)}",
            hint,
        )
    return list(collection)


def _without_timestamps(elements: list[Any]) -> tuple[list[Any], list[int] | None]:
    with_time = [isinstance(element, TimestampedValue) for element in elements]
    if not any(with_time):
        return elements, None
    if not all(with_time):
        index = with_time.index(False)
        raise _error(
            "MIXED_TIMESTAMPS",
            f"element {index} of the collection, {short_repr(elements[index])}, has no timestamp, "
            "and others have",
            "make all elements TimestampedValue objects, or none",
        )
    return [e.value for e in elements], [e.timestamp for e in elements]


def _check_times(times: Sequence[object] | None, count: int) -> None:
    if times is None:
        return
    if len(times) != count:
        raise _error(
            "TIMESTAMP_COUNT",
            f"there are {len(times)} timestamps for {count} elements",
            "give one timestamp for each element",
        )
    for index, time in enumerate(times):
        if type(time) is not int or not MIN_TIMESTAMP < time < MAX_TIMESTAMP:
            raise _error(
                "BAD_TIMESTAMP",
                f"the timestamp of element {index} is {short_repr(time)}",
                "give a whole number of milliseconds since 1970",
            )


def _check_types(values: list[Any], declared: TypeInformation) -> None:
    for index, value in enumerate(values):
        reason = declared.check(value)
        if reason is not None:
            hint = "change the element, or the declared type"
            if isinstance(value, Row) and value.get_row_kind() != RowKind.INSERT:
                hint = "leave out the type here, and give it to changelog(...)"
            raise TypeMismatchError(
                "ELEMENT_TYPE",
                f"element {index} of the collection, {short_repr(value)}, "
                f"is not a {declared}: {reason}",
                parameters={"index": index, "element": value, "type": str(declared)},
                location=user_location(),
                hint=hint,
            )


def socket_spec(host: object, port: object) -> SocketSpec:
    """Return a socket to read."""
    if not isinstance(host, str) or not host:
        raise _error("BAD_SOCKET", f"the host is a name, got {host!r}", 'for example "localhost"')
    if not isinstance(port, int) or isinstance(port, bool) or not 0 < port < 65_536:
        raise _error("BAD_SOCKET", f"the port is a number, got {port!r}", "from 1 to 65535")
    return SocketSpec(host=host, port=port)


def dataframe_spec(
    df: Any, channel: str | None, position: str | None, resume: Callable[[Any], Any] | None = None
) -> tuple[DataFrameSpec, RowTypeInfo | None]:
    """Return a DataFrame to read, and the type of its rows."""
    if not hasattr(df, "isStreaming") or not hasattr(df, "schema"):
        raise _error(
            "NOT_A_DATAFRAME",
            f"from_dataframe needs a Spark DataFrame, got {short_repr(df)}",
            "for pandas write spark.createDataFrame(df) first",
        )
    if (channel is None) != (position is None):
        raise _error(
            "CHANNEL_AND_POSITION",
            "channel= and position= belong together: a position is one in a channel",
            "give both, or neither",
        )
    schema = df.schema
    for column in (channel, position):
        if column is not None:
            _check_column(column, list(schema.fieldNames()))
    if resume is not None and not callable(resume):
        raise _error(
            "BAD_RESUME",
            f"resume= needs a function that makes a DataFrame of an offset, got {short_repr(resume)}",
            "give a function of one argument",
        )
    spec = DataFrameSpec(dataframe=df, channel=channel, position=position, resume=resume)
    return spec, row_type_of_schema(schema.jsonValue())


def _check_column(column: str, columns: list[str]) -> None:
    if column in columns:
        return
    close = difflib.get_close_matches(str(column), columns, 1)
    raise _error(
        "UNKNOWN_FIELD",
        f"the DataFrame has no column {column!r}",
        f"did you mean {close[0]!r}?" if close else f"columns are {', '.join(columns)}",
    )


def source_specs(source: object) -> tuple[SourceSpec, ...]:
    """Return what a source reads."""
    if isinstance(source, Source):
        specs = source.parts()
        for spec in specs:
            _check_bounded(spec)
        return specs
    hint = "see millstream.datastream.connectors"
    if isinstance(source, type) and issubclass(source, Source):
        hint = f"write {source.__name__}(...), an object and not the class"
    elif hasattr(source, "build"):
        hint = "call build() on it"
    raise _error("NOT_A_SOURCE", f"a Source is needed, got {short_repr(source)}", hint)


def _check_bounded(spec: SourceSpec) -> None:
    """Refuse a method: it would count as True."""
    if callable(spec.bounded):
        raise _error(
            "BAD_SOURCE",
            f"{type(spec).__name__}.bounded is a method",
            "write `bounded = True` in the class, or @property before the method",
        )


def _error(code: str, message: str, hint: str) -> PlanError:
    return PlanError(code, message, location=user_location(), hint=hint)
