"""A sequence of numbers."""

from __future__ import annotations

from millstream.common.errors import PlanError, user_location
from millstream.common.typeinfo import TypeInformation, Types
from millstream.connectors.generator import GeneratorSource
from millstream.connectors.source import Source
from millstream.datastream.connectors.data_generator import checked_parts

__all__ = ["NumberSequenceSource"]


class NumberSequenceSource(Source):
    """The whole numbers from ``start`` to ``end``, both included.

    Parameters
    ----------
    start, end
        The first and the last number.
    parts
        The number of channels. With one the numbers come in order. It does not
        follow the parallelism, so the result does not depend on it either.

    Examples
    --------
    >>> from millstream.common import WatermarkStrategy
    >>> from millstream.datastream import StreamExecutionEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> numbers = env.from_source(
    ...     NumberSequenceSource(1, 10), WatermarkStrategy.no_watermarks(), "numbers"
    ... )
    >>> numbers.get_type()
    LONG
    """

    def __init__(self, start: int, end: int, *, parts: int = 1) -> None:
        if not isinstance(start, int) or not isinstance(end, int) or start > end:
            raise PlanError(
                "BAD_SEQUENCE",
                f"a sequence needs whole numbers start <= end, got {start!r} and {end!r}",
                location=user_location(),
                hint="give the first and the last number",
            )
        self._source = GeneratorSource(start, end, checked_parts(parts))

    def parts(self) -> tuple[GeneratorSource]:
        return (self._source,)

    def get_produced_type(self) -> TypeInformation:
        return Types.LONG()
