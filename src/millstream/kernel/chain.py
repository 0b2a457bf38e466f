"""Fused stateless operators: a tree of steps that a batch of records runs through.

Steps work on whole batches, not record by record: a map is one list comprehension. A step keeps, for
each value, the row of the record it came from; event times and order keys are taken once, at the
leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from millstream.common.errors import (
    MillstreamError,
    PlanError,
    TypeMismatchError,
    user_code_error,
)
from millstream.common.output_tag import OutputTag
from millstream.common.stored_values import as_stored
from millstream.common.time import MIN_TIMESTAMP
from millstream.common.typeinfo import TypeInformation
from millstream.common.watermark_strategy import WatermarkStrategy
from millstream.kernel.buffers import NO_TIMESTAMP, BufferWriter, Codec, Records, Row
from millstream.kernel.calls import apply_each, hash_keys
from millstream.kernel.hashing import HashCache
from millstream.kernel.order import Ints, OrderKeys, run_ordinals
from millstream.kernel.outputs import frozen
from millstream.kernel.runtime import KernelRuntimeContext, OperatorInfo


@dataclass(slots=True)
class Flow:
    """Values on their way through the steps, beside the rows of ``base`` they came from.

    ``rows`` None: value i came from row i.
    """

    values: list[Any]
    base_ts: Ints
    base_keys: OrderKeys
    rows: Ints | None = None

    def row_numbers(self) -> Ints:
        return np.arange(len(self.values)) if self.rows is None else self.rows

    def timestamps(self) -> Ints:
        return self.base_ts if self.rows is None else self.base_ts[self.rows]

    def keep(self, places: Sequence[int]) -> Flow:
        """The values at some places."""
        values = list(map(self.values.__getitem__, places))
        rows = np.array(places, np.int64) if self.rows is None else self.rows[places]
        return Flow(values, self.base_ts, self.base_keys, rows)

    def replace(self, values: list[Any]) -> Flow:
        """Other values in the same places."""
        return Flow(values, self.base_ts, self.base_keys, self.rows)

    def records(self) -> Records:
        """The values with event times and order keys of their own."""
        if self.rows is None:
            return Records(self.values, self.base_ts, self.base_keys.extended(None))
        keys = self.base_keys.take(self.rows).extended(run_ordinals(self.rows))
        return Records(self.values, self.base_ts[self.rows], keys)


class Step:
    """A node of the tree. ``send`` hands a flow to all that follow."""

    def __init__(self, info: OperatorInfo) -> None:
        self.info = info
        self.children: list[Step] = []

    def open(self, make_context: Callable[..., KernelRuntimeContext]) -> None:
        for child in self.children:
            child.open(make_context)

    def close(self) -> None:
        for child in self.children:
            child.close()

    def send(self, flow: Flow) -> None:
        if not flow.values:
            return
        shared = len(self.children) > 1
        for child in self.children:
            # A function may change its record; other branches must not see that.
            apart = shared and not isinstance(child, EdgeStep)
            child.push(flow.replace([frozen(v) for v in flow.values]) if apart else flow)

    def push(self, flow: Flow) -> None:
        self.send(flow)

    def flush(self) -> None:
        for child in self.children:
            child.flush()

    def failure(self, error: BaseException, value: Any) -> MillstreamError:
        return user_code_error(
            error, self.info.name, self.info.uid, value, location=self.info.location
        )


class FunctionStep(Step):
    """A step that calls a user function, opened before its first record."""

    method = ""

    def __init__(self, info: OperatorInfo, function: Any) -> None:
        super().__init__(info)
        self.function = function
        self.call: Callable[..., Any] = getattr(function, self.method, function)

    def open(self, make_context: Callable[..., KernelRuntimeContext]) -> None:
        opener = getattr(self.function, "open", None)
        if opener is not None and not isinstance(self.function, type):
            self._guarded(lambda: opener(make_context(self.info, None)))
        super().open(make_context)

    def close(self) -> None:
        closer = getattr(self.function, "close", None)
        if closer is not None and not isinstance(self.function, type):
            self._guarded(closer)
        super().close()

    def _guarded(self, call: Callable[[], Any]) -> None:
        try:
            call()
        except MillstreamError:
            raise
        except Exception as error:
            raise self.failure(error, None) from error


class MapStep(FunctionStep):
    method = "map"

    def push(self, flow: Flow) -> None:
        self.send(flow.replace(apply_each(self.call, flow.values, self.failure)))


class StoredStep(Step):
    """Values as their declared type stores them: a function sees a Row where a Row was promised."""

    def __init__(self, info: OperatorInfo, type_info: TypeInformation) -> None:
        super().__init__(info)
        self.type_info = type_info

    def push(self, flow: Flow) -> None:
        type_info = self.type_info
        for place, value in enumerate(flow.values):
            reason = type_info.check(value)
            if reason is not None:
                raise TypeMismatchError(
                    "TYPE_MISMATCH",
                    f"record {value!r:.200} of operator {self.info.name!r} does not fit its declared "
                    f"type {type_info}: {reason}",
                    location=self.info.location,
                    hint="return what output_type says, or declare what is returned",
                    parameters={"index": place},
                )
        self.send(flow.replace([as_stored(type_info, value) for value in flow.values]))


class FilterStep(FunctionStep):
    method = "filter"

    def push(self, flow: Flow) -> None:
        verdicts = apply_each(self.call, flow.values, self.failure)
        self.send(flow.keep([place for place, verdict in enumerate(verdicts) if verdict]))


def _gathered(results: Any) -> list[Any]:
    """What a function gave. A generator may go on changing what it has yielded, a list cannot."""
    if results is None:
        return []
    if results.__class__ is list:
        return results
    return [frozen(value) for value in results]


class FlatMapStep(FunctionStep):
    method = "flat_map"

    def results(self, flow: Flow) -> list[list[Any]]:
        return apply_each(lambda value: _gathered(self.call(value)), flow.values, self.failure)

    def push(self, flow: Flow) -> None:
        results = self.results(flow)
        rows = np.repeat(flow.row_numbers(), [len(result) for result in results])
        values = [value for result in results for value in result]
        self.send(Flow(values, flow.base_ts, flow.base_keys, rows))


class ProcessContext:
    """The context of a function without a key: event time, but no timers and no watermark."""

    def __init__(self, info: OperatorInfo, now_ms: Callable[[], int]) -> None:
        self._info = info
        self._now_ms = now_ms
        self.current: int = NO_TIMESTAMP

    def timestamp(self) -> int | None:
        return None if self.current == NO_TIMESTAMP else self.current

    def timer_service(self) -> ProcessContext:
        return self

    def current_processing_time(self) -> int:
        return self._now_ms()

    def current_watermark(self) -> int:
        raise needs_key(self._info, "reads the watermark")

    def register_event_time_timer(self, timestamp: int) -> None:
        raise needs_key(self._info, "registers a timer")

    register_processing_time_timer = register_event_time_timer
    delete_event_time_timer = register_event_time_timer
    delete_processing_time_timer = register_event_time_timer


def needs_key(info: OperatorInfo, what: str) -> PlanError:
    """The error of a function that does without a key what only a key makes possible."""
    return PlanError(
        "NEEDS_KEY",
        f"operator {info.name!r} {what}, but its input is not keyed",
        location=info.location,
        hint="call key_by(...) before process(...)",
    )


class ProcessStep(FlatMapStep):
    """A `ProcessFunction` without key; what it yields with a tag goes to the side outputs."""

    method = "process_element"

    def __init__(self, info: OperatorInfo, function: Any, now_ms: Callable[[], int]) -> None:
        super().__init__(info, function)
        self.sides: dict[str, Step] = {}
        self.context = ProcessContext(info, now_ms)

    def open(self, make_context: Callable[..., KernelRuntimeContext]) -> None:
        super().open(make_context)
        for side in self.sides.values():
            side.open(make_context)

    def close(self) -> None:
        super().close()
        for side in self.sides.values():
            side.close()

    def flush(self) -> None:
        super().flush()
        for side in self.sides.values():
            side.flush()

    def results(self, flow: Flow) -> list[list[Any]]:
        times = iter(flow.timestamps().tolist())
        context, call = self.context, self.call

        def one(value: Any) -> list[Any]:
            context.current = next(times)
            return _gathered(call(value, context))

        return apply_each(one, flow.values, self.failure)

    def push(self, flow: Flow) -> None:
        results = self.results(flow)
        rows = np.repeat(flow.row_numbers(), [len(result) for result in results])
        main: list[int] = []
        tagged: dict[str, list[int]] = {}
        values = [value for result in results for value in result]
        for place, value in enumerate(values):
            if value.__class__ is tuple and len(value) == 2 and value[0].__class__ is OutputTag:
                tagged.setdefault(value[0].tag_id, []).append(place)
                values[place] = value[1]
            else:
                main.append(place)
        out = Flow(values, flow.base_ts, flow.base_keys, rows)
        self.send(out.keep(main))
        for tag, places in tagged.items():
            if tag in self.sides:
                self.sides[tag].send(out.keep(places))


class TimestampStep(Step):
    """Assigns event times, and stamps each record with its channel's watermark just before it.

    Only what the task itself has read of the fragment counts here; the keyed stage raises stamps to
    the floor that earlier fragments and epochs have set.
    """

    def __init__(
        self,
        info: OperatorInfo,
        timeline: int,
        strategy: WatermarkStrategy,
        at_epoch_end: bool,
        channel_offset: int = 0,
    ) -> None:
        super().__init__(info)
        self.channel_offset = np.int64(channel_offset)
        self.timeline = timeline
        self.strategy = strategy
        self.at_epoch_end = at_epoch_end
        self.behind = strategy.out_of_orderness_ms + 1
        self.watermarks: dict[tuple[int, int], int] = {}

    def push(self, flow: Flow) -> None:
        ts = timestamps_of(self.strategy, flow.values, flow.timestamps(), self.info)
        channels = flow.base_keys.channel + self.channel_offset
        place = (int(channels[0]), int(flow.base_keys.frag[0]))
        before = self.watermarks.get(place, MIN_TIMESTAMP)
        stamps = np.full(len(ts), MIN_TIMESTAMP, np.int64)
        if self.strategy.kind != "none":
            # The lowest times have no room for a watermark below them: it must not wrap around.
            highest = np.maximum(np.maximum.accumulate(ts), MIN_TIMESTAMP + self.behind)
            after = np.maximum(highest - self.behind, before)
            self.watermarks[place] = int(after[-1])
            if not self.at_epoch_end:
                stamps[0] = before
                stamps[1:] = after[:-1]
        keys = flow.base_keys if flow.rows is None else flow.base_keys.take(flow.rows)
        if flow.rows is not None:
            keys = keys.extended(run_ordinals(flow.rows))
            channels = channels[flow.rows]
        keys = OrderKeys(stamps, keys.born, channels, keys.frag, keys.pos, keys.path)
        self.send(Flow(flow.values, ts, keys))


def timestamps_of(
    strategy: WatermarkStrategy, values: list[Any], earlier: Ints, info: OperatorInfo
) -> Ints:
    """The event times a strategy gives to records, which may have had others before."""
    times = earlier
    if strategy.assigner is not None:
        extract: Any = getattr(strategy.assigner, "extract_timestamp", strategy.assigner)
        before = iter(earlier.tolist())
        found = apply_each(
            lambda value: extract(value, next(before)),
            values,
            lambda error, value: user_code_error(
                error, info.name, info.uid, value, location=info.location
            ),
        )
        times = _checked(found, values, info)
    if strategy.kind != "none" and (times == NO_TIMESTAMP).any():
        value = values[int(np.flatnonzero(times == NO_TIMESTAMP)[0])]
        raise PlanError(
            "NO_TIMESTAMP",
            f"the record {value!r:.200} has no timestamp to make a watermark of",
            location=info.location,
            hint="add with_timestamp_assigner(...) to the watermark strategy",
        )
    return times


def _checked(times: list[Any], values: list[Any], info: OperatorInfo) -> Ints:
    for ts, value in zip(times, values, strict=True):
        if ts.__class__ is not int:
            raise PlanError(
                "BAD_TIMESTAMP",
                f"the timestamp assigner gave {ts!r} for the record {value!r:.200}",
                location=info.location,
                hint="return the event time as an int, in milliseconds since 1970",
            )
    return np.array(times, np.int64)


class Place(Enum):
    """Where records without a key of their own go."""

    ANYWHERE = "anywhere"
    BY_CHANNEL = "by channel"
    ONE_SLOT = "one slot"


ANYWHERE, BY_CHANNEL, ONE_SLOT = Place.ANYWHERE, Place.BY_CHANNEL, Place.ONE_SLOT
Route = Callable[[Any], Any] | Place
"""A key selector, or a place."""


class EdgeStep(Step):
    """A leaf: records leave for an operator of a keyed stage, or for a sink."""

    def __init__(
        self,
        info: OperatorInfo,
        tag: int,
        codec: Codec,
        slots: int,
        route: Route,
        *,
        raised: bool,
    ) -> None:
        super().__init__(info)
        self.tag = tag
        self.codec = codec
        self.route = route
        self.slots = slots
        self.raised = raised
        self.cache = HashCache()
        self.writers: dict[int, BufferWriter] = {}
        self.emit: Callable[[Row], None] = _nowhere
        self.own_slot = 0

    def bind(self, emit: Callable[[Row], None], own_slot: int) -> None:
        """Where rows go in this run, and the slot that records without a key take."""
        self.emit = emit
        self.own_slot = own_slot
        self.writers.clear()

    def push(self, flow: Flow) -> None:
        records = flow.records()
        if self.route is ANYWHERE:
            if not self.raised:
                # No stage will raise these stamps; by position a channel's records are in order.
                records.keys.stamp = np.full(len(records), MIN_TIMESTAMP, np.int64)
            self._writer(self.own_slot).add(records)
            return
        records.hashes = hash_keys(self._keys(records), self.cache, self.info)
        if self.slots == 1:
            self._writer(0).add(records)
            return
        slots = (records.hashes % self.slots).astype(np.uint16)
        order = np.argsort(slots, kind="stable")
        found, starts = np.unique(slots[order], return_index=True)
        ends = [*starts[1:].tolist(), len(order)]
        for slot, start, end in zip(found.tolist(), starts.tolist(), ends, strict=True):
            self._writer(slot).add(records.take(order[start:end]))

    def _keys(self, records: Records) -> list[Any]:
        if self.route is BY_CHANNEL:
            channels: list[Any] = records.keys.channel.tolist()
            return channels
        if self.route is ONE_SLOT:
            return [0] * len(records)
        assert callable(self.route)
        return apply_each(self.route, records.values, self.failure)

    def _writer(self, slot: int) -> BufferWriter:
        writer = self.writers.get(slot)
        if writer is None:
            writer = BufferWriter(slot, self.tag, self.codec, self.raised, self.emit)
            self.writers[slot] = writer
        return writer

    def flush(self) -> None:
        for writer in self.writers.values():
            try:
                writer.flush()
            except MillstreamError as error:
                error.location = error.location or self.info.location
                raise


def _nowhere(row: Row) -> None:
    raise AssertionError("an edge was used before it was bound")


def walk(step: Step) -> Iterable[Step]:
    """A step and all that follow it."""
    yield step
    for child in step.children:
        yield from walk(child)
    for side in getattr(step, "sides", {}).values():
        yield from walk(side)


@dataclass
class Chain:
    """The steps behind one entry point: a source, or an output of a keyed operator."""

    root: Step
    edges: list[EdgeStep] = field(init=False)
    clocks: list[TimestampStep] = field(init=False)

    def __post_init__(self) -> None:
        steps = list(walk(self.root))
        self.edges = [step for step in steps if isinstance(step, EdgeStep)]
        self.clocks = [step for step in steps if isinstance(step, TimestampStep)]

    def bind(self, emit: Callable[[Row], None], own_slot: int) -> None:
        for edge in self.edges:
            edge.bind(emit, own_slot)
        for clock in self.clocks:
            clock.watermarks.clear()

    def push(self, values: list[Any], ts: Ints, keys: OrderKeys) -> None:
        if values:
            self.root.send(Flow(values, ts, keys))

    def flush(self) -> None:
        self.root.flush()
