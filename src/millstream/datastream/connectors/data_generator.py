"""Records made by a function of their number: for demos, tests and load."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from millstream.common.errors import PlanError, user_location
from millstream.common.typeinfo import TypeInformation
from millstream.connectors.generator import GeneratorSource
from millstream.connectors.source import Limits, Source
from millstream.datastream.building.stream_types import output_type_of
from millstream.datastream.functions import MapFunction
from millstream.datastream.functions.checks import MAP, plain_callable

__all__ = ["DataGeneratorSource", "GeneratorFunction", "RateLimiterStrategy"]


class GeneratorFunction(MapFunction):
    """Makes a record from its number; a plain function is accepted as well."""


@dataclass(frozen=True)
class RateLimiterStrategy:
    """How fast a `DataGeneratorSource` runs, all its parts together.

    Examples
    --------
    >>> RateLimiterStrategy.per_second(100)
    RateLimiterStrategy(records_per_second=100, records_per_epoch=None)
    """

    records_per_second: float | None = None
    records_per_epoch: int | None = None

    @staticmethod
    def per_second(records_per_second: float) -> RateLimiterStrategy:
        """Return a limit by time."""
        _positive("per_second", records_per_second)
        return RateLimiterStrategy(records_per_second=records_per_second)

    @staticmethod
    def per_checkpoint(records_per_checkpoint: int) -> RateLimiterStrategy:
        """Return a limit by checkpoint; a checkpoint is an epoch."""
        _positive("per_checkpoint", records_per_checkpoint)
        return RateLimiterStrategy(records_per_epoch=records_per_checkpoint)

    @staticmethod
    def no_op() -> RateLimiterStrategy:
        """Return no limit."""
        return RateLimiterStrategy()


class DataGeneratorSource(Source):
    """Calls a function with 0, 1, 2, ... and emits what it returns.

    Parameters
    ----------
    generator_function
        A function of the record's number. It must give the same record for the same number
        whenever it is asked: after a failure it is asked again.
    count
        How many records; None for no end.
    rate_limiter_strategy
        How fast; by default without a limit.
    type_info
        The type of the records; by default the function's return annotation.
    parts
        The number of channels.

    Examples
    --------
    >>> def reading(n: int) -> tuple[str, int]:
    ...     return f"sensor-{n % 3}", n * n
    >>> source = DataGeneratorSource(reading, 1_000, RateLimiterStrategy.per_second(100))
    >>> source.bounded
    True
    """

    def __init__(
        self,
        generator_function: Callable[[int], Any] | GeneratorFunction,
        count: int | None,
        rate_limiter_strategy: RateLimiterStrategy | None = None,
        type_info: TypeInformation | Any = None,
        *,
        parts: int = 1,
    ) -> None:
        self._type = output_type_of(type_info, generator_function, MAP)
        function = plain_callable(generator_function, MAP._replace(call="DataGeneratorSource"))
        wanted = checked_count(count)
        last = None if wanted is None else wanted - 1
        limits = limits_of(rate_limiter_strategy, checked_parts(parts))
        self._source = GeneratorSource(0, last, parts, function, limits)

    def parts(self) -> tuple[GeneratorSource]:
        return (self._source,)

    def get_produced_type(self) -> TypeInformation | None:
        return self._type


def limits_of(strategy: RateLimiterStrategy | None, parts: int) -> Limits:
    """Return the share of each channel in a limit for all of them."""
    strategy = strategy or RateLimiterStrategy.no_op()
    per_second, per_epoch = strategy.records_per_second, strategy.records_per_epoch
    return Limits(
        per_second=None if per_second is None else per_second / parts,
        per_epoch=None if per_epoch is None else math.ceil(per_epoch / parts),
    )


def checked_count(count: int | None) -> int | None:
    """Return the number of records if it is one, or None for no end."""
    if count is not None:
        _positive("count", count)
    return count


def checked_parts(parts: int) -> int:
    """Return the number of channels if it is one."""
    _positive("parts", parts)
    return parts


def _positive(what: str, number: float) -> None:
    if isinstance(number, bool) or not isinstance(number, int | float) or number <= 0:
        raise PlanError(
            "BAD_NUMBER",
            f"{what} must be a positive number, got {number!r}",
            location=user_location(),
            hint="give at least 1",
        )
