"""Rows made field by field: for demos, tests and load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.typeinfo import TypeInformation
from millstream.common.typesystem.composites import RowTypeInfo
from millstream.connectors.datagen.fields import FieldGenerator
from millstream.connectors.datagen.options import PER_SECOND, fields_of, number
from millstream.connectors.datagen.source import FieldsSource
from millstream.connectors.source import Source
from millstream.datastream.connectors.data_generator import (
    RateLimiterStrategy,
    checked_count,
    checked_parts,
    limits_of,
)

__all__ = ["DataGenSource", "FieldGenerator"]

_EVENT_TIMES = ("LONG", "SQL_TIMESTAMP", "INSTANT")


class DataGenSource(Source):
    """Rows whose fields are made by generators: Flink's table connector ``datagen``, and more.

    Row n of a seed is always the same, whatever the number of channels, the rate, and the restarts of
    the job. Rows are made as columns, some million per second.

    Parameters
    ----------
    fields
        The generator of each field, by its name.
    count
        How many rows; None for no end. A sequence with an end ends the source, too.
    rate_limiter_strategy
        How fast; by default without a limit.
    seed
        Other seeds give other random values.
    event_time
        The field with the event times: SQL_TIMESTAMP, INSTANT, or LONG for milliseconds.
    parts
        The number of channels: row n is in channel ``n % parts``.

    Examples
    --------
    >>> from millstream.common import Types, WatermarkStrategy
    >>> from millstream.testing import run_local
    >>> source = DataGenSource(
    ...     {
    ...         "id": FieldGenerator.sequence(1, 3),
    ...         "sensor": FieldGenerator.choice(["hall", "roof"]),
    ...         "celsius": FieldGenerator.random(Types.INT(), min=-10, max=30),
    ...     }
    ... )
    >>> def program(env):
    ...     return env.from_source(source, WatermarkStrategy.no_watermarks(), "rows")
    >>> for row in run_local(program).values():
    ...     print(row)
    Row(id=1, sensor='roof', celsius=-8)
    Row(id=2, sensor='hall', celsius=28)
    Row(id=3, sensor='hall', celsius=-9)
    """

    def __init__(
        self,
        fields: Mapping[str, FieldGenerator],
        count: int | None = None,
        rate_limiter_strategy: RateLimiterStrategy | None = None,
        *,
        seed: int = 0,
        event_time: str | None = None,
        parts: int = 1,
    ) -> None:
        _check_fields(fields)
        if event_time is not None:
            _check_event_time(fields, event_time)
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise _refusal(f"the seed {short_repr(seed)} is no whole number", "give seed=7 or so")
        self._source = FieldsSource(
            dict(fields),
            _rows(fields, checked_count(count)),
            seed,
            checked_parts(parts),
            limits_of(rate_limiter_strategy, parts),
            event_time,
        )

    @staticmethod
    def from_options(
        row_type: RowTypeInfo, options: Mapping[str, str], *, parts: int = 1
    ) -> DataGenSource:
        """Return a source by the options of Flink's table connector ``datagen``.

        Parameters
        ----------
        row_type
            The columns.
        options
            ``rows-per-second`` (10000), ``number-of-rows``, ``seed``; for each column ``fields.#.kind``
            (random or sequence), ``.min``, ``.max``, ``.length``, ``.var-len``, ``.null-rate``,
            ``.start``, ``.end``.
        parts
            The number of channels.

        Examples
        --------
        >>> from millstream.common import Types
        >>> columns = Types.ROW_NAMED(["id", "word"], [Types.LONG(), Types.STRING()])
        >>> source = DataGenSource.from_options(columns, {
        ...     "number-of-rows": "10", "fields.word.length": "4",
        ...     "fields.id.kind": "sequence", "fields.id.start": "1", "fields.id.end": "5"})
        >>> source.bounded
        True
        """
        columns = dict(zip(row_type.get_field_names(), row_type.get_field_types(), strict=True))
        rate = number(options, "rows-per-second") or PER_SECOND
        return DataGenSource(
            fields_of(columns, options),
            number(options, "number-of-rows"),
            RateLimiterStrategy.per_second(rate),
            seed=number(options, "seed") or 0,
            parts=parts,
        )

    def parts(self) -> tuple[FieldsSource]:
        return (self._source,)

    def get_produced_type(self) -> TypeInformation:
        return self._source.get_produced_type()


def _rows(fields: Mapping[str, FieldGenerator], count: int | None) -> int | None:
    ends = [end for end in (count, *(field.count for field in fields.values())) if end is not None]
    return min(ends, default=None)


def _check_fields(fields: Any) -> None:
    if not isinstance(fields, Mapping) or not fields:
        raise _refusal(f"no generators of fields: {short_repr(fields)}", 'give {"id": ...}')
    for name, field in fields.items():
        if not isinstance(name, str) or not isinstance(field, FieldGenerator):
            raise _refusal(
                f"field {short_repr(name)} has no generator: {short_repr(field)}",
                "use FieldGenerator.sequence, random, choice or expression",
            )


def _check_event_time(fields: Mapping[str, FieldGenerator], name: str) -> None:
    if name not in fields:
        raise _refusal(
            f"there is no field {name!r} with event times", f"fields: {', '.join(fields)}"
        )
    kind = fields[name].type_info.kind
    if kind not in _EVENT_TIMES:
        raise _refusal(
            f"field {name!r} is {kind}, which is no event time", f"use {', '.join(_EVENT_TIMES)}"
        )


def _refusal(message: str, hint: str) -> PlanError:
    return PlanError("BAD_FIELD_GENERATOR", message, location=user_location(), hint=hint)
