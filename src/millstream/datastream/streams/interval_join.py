"""Joining two keyed streams where event times are near each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Self, overload

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.output_tag import OutputTag
from millstream.common.time import to_millis
from millstream.common.type_aliases import DurationLike
from millstream.common.type_variables import T1, T2
from millstream.datastream.building.stream_types import output_type_of
from millstream.datastream.functions.checks import PROCESS_JOIN, check_function
from millstream.datastream.streams.connected_streams import check_keys
from millstream.datastream.streams.data_stream import DataStream
from millstream.datastream.streams.keyed_stream import KeyedStream
from millstream.datastream.windowing.streams import Lateness
from millstream.kernel.operators.two_inputs.specs import IntervalJoinSpec
from millstream.plan.graph import KeyedNode

if TYPE_CHECKING:
    from millstream.common.type_aliases import TypeLike
    from millstream.common.type_variables import V
    from millstream.datastream.functions.two_inputs import ProcessJoinFunction

__all__ = ["IntervalJoin", "IntervalJoined"]


class IntervalJoin(Generic[T1, T2]):
    """Two keyed streams that are about to be joined; made by `KeyedStream.interval_join`."""

    def __init__(
        self, left: KeyedStream[Any, T1], right: KeyedStream[Any, T2], lateness: Lateness
    ) -> None:
        left._check_stream(right, "a.key_by(...).interval_join(b.key_by(...))")
        if not isinstance(right, KeyedStream):
            raise PlanError(
                "NEEDS_KEY",
                "interval_join needs a keyed stream on both sides",
                location=user_location(),
                hint="write a.key_by(...).interval_join(b.key_by(...))",
            )
        if lateness not in ("channel", "operator"):
            raise PlanError(
                "BAD_LATENESS",
                f"lateness cannot be {short_repr(lateness)}",
                location=user_location(),
                hint='use "channel" or "operator"',
            )
        self._left = left
        self._right = right
        self._lateness = lateness

    def between(
        self, lower_bound: DurationLike, upper_bound: DurationLike
    ) -> IntervalJoined[T1, T2]:
        """Set how far apart a pair may be: ``left + lower <= right <= left + upper``.

        Parameters
        ----------
        lower_bound, upper_bound
            Durations such as ``"-5 s"``, ``timedelta(seconds=5)`` or ``Time.seconds(5)``. Negative
            ones lie before the left record.
        """
        lower = to_millis(lower_bound, "lower bound", allow_negative=True)
        upper = to_millis(upper_bound, "upper bound", allow_negative=True)
        check_keys(self._left, self._right)
        return IntervalJoined(self._left, self._right, lower, upper, self._lateness)


class IntervalJoined(Generic[T1, T2]):
    """Two keyed streams joined by event time; what is left is the function for each pair.

    Examples
    --------
    >>> from millstream.common import WatermarkStrategy
    >>> from millstream.datastream import ProcessJoinFunction, StreamExecutionEnvironment
    >>> from millstream.testing import run_local
    >>> class Delay(ProcessJoinFunction):
    ...     def process_element(self, order, payment, ctx):
    ...         yield order[0], ctx.get_right_timestamp() - ctx.get_left_timestamp()
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
    ...     lambda event, _: event[1]
    ... )
    >>> orders = env.from_collection([("a", 1_000), ("b", 2_000)])
    >>> payments = env.from_collection([("a", 4_000), ("b", 9_000)])
    >>> left = orders.assign_timestamps_and_watermarks(times).key_by(lambda event: event[0])
    >>> right = payments.assign_timestamps_and_watermarks(times).key_by(lambda event: event[0])
    >>> joined = left.interval_join(right).between("0 s", "5 s")
    >>> run_local(joined.process(Delay())).values()
    [('a', 3000)]
    """

    def __init__(
        self,
        left: KeyedStream[Any, T1],
        right: KeyedStream[Any, T2],
        lower: int,
        upper: int,
        lateness: Lateness,
    ) -> None:
        self._left = left
        self._right = right
        self._lower_ms = lower
        self._upper_ms = upper
        self._lateness = lateness
        self._is_open = [False, False]
        self._late_tags: list[OutputTag | None] = [None, None]
        self._check_bounds()

    def lower_bound_exclusive(self) -> Self:
        """Leave out the pairs that lie exactly on the lower bound."""
        self._is_open[0] = True
        return self

    def upper_bound_exclusive(self) -> Self:
        """Leave out the pairs that lie exactly on the upper bound."""
        self._is_open[1] = True
        return self

    def side_output_left_late_data(self, output_tag: OutputTag[Any]) -> Self:
        """Send late records of the left stream to a side output.

        Without it they are counted, as metric ``late`` of the operator.
        """
        self._late_tags[0] = _checked_tag(output_tag, "side_output_left_late_data")
        return self

    def side_output_right_late_data(self, output_tag: OutputTag[Any]) -> Self:
        """Send late records of the right stream to a side output."""
        self._late_tags[1] = _checked_tag(output_tag, "side_output_right_late_data")
        return self

    @overload
    def process(self, process_join_function: ProcessJoinFunction[T1, T2, V]) -> DataStream[V]: ...

    @overload
    def process(
        self,
        process_join_function: ProcessJoinFunction[T1, T2, object],
        output_type: TypeLike[V] | None,
    ) -> DataStream[V]: ...

    def process(self, process_join_function: Any, output_type: Any = None) -> DataStream[Any]:
        """Call a function with each pair of records.

        A pair is emitted as soon as its later record comes. A result has the event time of the
        later one.

        Parameters
        ----------
        process_join_function
            The function. ``yield value`` emits, ``yield tag, value`` goes to a side output.
        output_type
            The type of what it emits, see `DataStream.map`.
        """
        check_function(process_join_function, PROCESS_JOIN)
        type_info = output_type_of(output_type, process_join_function, PROCESS_JOIN)
        left, right = self._left, self._right
        lower, upper = self._check_bounds()
        spec = IntervalJoinSpec(
            function=process_join_function,
            lower_ms=lower,
            upper_ms=upper,
            lateness=self._lateness,
            late_tags=(self._late_tags[0], self._late_tags[1]),
        )
        return left._env._stream(
            KeyedNode,
            name="Interval Join",
            inputs=(left._id, right._id),
            kind="interval_join",
            function=spec,
            selector=left._selector,
            second=right._selector,
            key_type=left._key_type,
            output_type=type_info,
        )

    def _check_bounds(self) -> tuple[int, int]:
        """Return the first and the last millisecond of the interval."""
        lower = self._lower_ms + self._is_open[0]
        upper = self._upper_ms - self._is_open[1]
        if lower > upper:
            raise PlanError(
                "EMPTY_INTERVAL",
                f"nothing lies between {self._lower_ms} ms and {self._upper_ms} ms"
                f"{' without its ends' if any(self._is_open) else ''}",
                location=user_location(),
                hint="give the lower bound first, as in between('-5 s', '5 s')",
            )
        return lower, upper


def _checked_tag(tag: object, call: str) -> OutputTag:
    if isinstance(tag, OutputTag):
        return tag
    raise PlanError(
        "NOT_A_TAG",
        f"{call} needs an OutputTag, got {short_repr(tag)}",
        location=user_location(),
        hint=f'write {call}(OutputTag("late", Types...))',
    )
