"""Chains: the tree of fused steps behind a source or a keyed operator, down to the edges they feed.

Timestamps are assigned on the way; at its leaves records are cut into buffers by slot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.common.errors import Location, PlanError
from millstream.common.recognition import field_read_by, fields_read_by
from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP
from millstream.common.typeinfo import TypeInformation
from millstream.common.watermark_strategy import WatermarkStrategy
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.calls.invoke import hash_keys, located
from millstream.kernel.calls.policy import Failure, Outcome, Policy
from millstream.kernel.calls.reports import Reports
from millstream.kernel.keys.hashing import HashCache, Hashes
from millstream.kernel.records.buffers import (
    NO_TIMESTAMP,
    ArrowCodec,
    BufferRow,
    BufferWriter,
    Codec,
    Received,
    Records,
)
from millstream.kernel.records.columns import Columns, Values, as_list, field_index
from millstream.kernel.records.key_columns import KeyColumns
from millstream.kernel.records.order import Ints, OrderKeys
from millstream.kernel.records.selected import Selected
from millstream.kernel.steps.routing import Place
from millstream.kernel.steps.stateless import Flow, Step


class TimestampStep(Step):
    """Assigns event times, and stamps each record with its channel's watermark just before it.

    Only what the task itself has read of the fragment counts here; the keyed stage raises stamps to
    the floor that earlier fragments and epochs have set. ``channel_offset`` sets the channels of its
    timeline apart from others of the source. Records keep the channels of the source on the way: the
    edges move them, each by the last strategy before it.
    """

    takes_columns = True
    takes_weights = True
    counts_records = True

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
        self.field = field_read_by(strategy.assigner)
        self.watermarks: dict[tuple[int, int], int] = {}
        self.last_stamps: Ints = np.empty(0, np.int64)

    def push(self, flow: Flow) -> None:
        if isinstance(flow.values, Columns):
            times = self._times_of(flow.values, flow)
            if times is not None:
                self.send(self.stamped(flow, times))
                return
            flow.values = flow.values.tolist()
        earlier = flow.timestamps()
        times, found = event_times(
            self.strategy, flow.values, earlier, self.info, self.failure, self.policy
        )
        stamped = self.stamped(flow, times)
        if found.places is None:
            self.send(stamped)
        else:
            self.send(stamped.keep(found.places))
            # Such a record moves no watermark; its dead letter has the stamp of its place.
            self.send_letters(Flow(flow.values, earlier, stamped.base_keys), found)

    def _times_of(self, columns: Columns, flow: Flow) -> Ints | None:
        """The event times of records in columns, None if objects are needed to find them."""
        place = getattr(self.strategy.assigner, "time_column", None)
        if place is not None:
            return times_of_timestamps(columns, place)
        if self.strategy.assigner is not None:
            return times_in_column(columns, self.field)
        # They keep the times that they have; a record without one is an error that shows the record.
        earlier = flow.timestamps()
        is_missing = self.strategy.kind != "none" and (earlier == NO_TIMESTAMP).any()
        return None if is_missing else earlier

    def stamped(self, flow: Flow, ts: Ints) -> Flow:
        """The records with their event times and stamps; the lowest time moves no watermark."""
        place = (int(flow.base_keys.channel[0]), int(flow.base_keys.frag[0]))
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
        self.last_stamps = stamps
        keys = flow.base_keys if flow.rows is None else flow.base_keys.take(flow.rows)
        return Flow(flow.values, ts, replace(keys, stamp=stamps), None, flow.weights())

    def stamps_between(self, keys: OrderKeys, passed: Ints, asked: Ints) -> Ints:
        """The stamps of records that a step before this one has kept back.

        ``passed``: the places of those of a flow that have just come here, ``asked`` of the others.
        """
        place = (int(keys.channel[0]), int(keys.frag[0]))
        after = MIN_TIMESTAMP if self.at_epoch_end else self.watermarks.get(place, MIN_TIMESTAMP)
        stamps = self.last_stamps if len(passed) else np.empty(0, np.int64)
        return np.append(stamps, after)[np.searchsorted(passed, asked)]


def times_in_column(columns: Columns, field: int | str | None) -> Ints | None:
    """Event times that are a field of whole numbers, without making objects of the records."""
    place = None if field is None else field_index(columns.type_info, field)
    if place is None or not columns.has_all():
        return None
    column = columns.arrays[place]
    if not pa.types.is_integer(column.type) or column.null_count:
        return None
    times: Ints = column.to_numpy(zero_copy_only=False).astype(np.int64)
    return times


def times_of_timestamps(columns: Columns, place: int) -> Ints | None:
    """Event times that are a column of timestamps; None if some are missing."""
    column = columns.arrays[place] if columns.has_all() else None
    if column is None or not pa.types.is_timestamp(column.type) or column.null_count:
        return None
    numbers: Ints = column.view(pa.int64()).to_numpy()
    scale = {"s": 1000, "ms": 1}.get(column.type.unit)
    if scale is not None:
        return numbers * scale
    return np.floor_divide(numbers, {"us": 1000, "ns": 1_000_000}[column.type.unit])


def event_times(
    strategy: WatermarkStrategy,
    values: list[Any],
    earlier: Ints,
    info: OperatorInfo,
    failure: Failure,
    policy: Policy,
) -> tuple[Ints, Outcome]:
    """The event times a strategy gives to records, which may have had others before.

    Records that the assigner fails on have the lowest time; the outcome says which ones they are.
    """
    if strategy.assigner is None:
        _refuse_missing(strategy, earlier, values, info)
        return earlier, Outcome([])
    extract: Any = getattr(strategy.assigner, "extract_timestamp", strategy.assigner)
    before = iter(earlier.tolist())
    found = policy.each(
        lambda value: extract(value, next(before)), values, failure, lambda: earlier
    )
    timed = values if found.places is None else [values[place] for place in found.places]
    times = checked_times(found.results, timed, info)
    _refuse_missing(strategy, times, timed, info)
    if found.places is None:
        return times, found
    of_all = np.full(len(values), MIN_TIMESTAMP, np.int64)
    of_all[found.places] = times
    return of_all, found


def _refuse_missing(
    strategy: WatermarkStrategy, times: Ints, values: list[Any], info: OperatorInfo
) -> None:
    if strategy.kind != "none" and (times == NO_TIMESTAMP).any():
        value = values[int(np.flatnonzero(times == NO_TIMESTAMP)[0])]
        raise PlanError(
            "NO_TIMESTAMP",
            f"the record {value!r:.200} has no timestamp to make a watermark of",
            location=info.location,
            hint="add with_timestamp_assigner(...) to the watermark strategy",
        )


def checked_times(times: list[Any], values: list[Any], info: OperatorInfo) -> Ints:
    """The results of a timestamp assigner, checked to be event times."""
    for ts, value in zip(times, values, strict=True):
        if ts.__class__ is not int or not MIN_TIMESTAMP <= ts <= MAX_TIMESTAMP:
            raise PlanError(
                "BAD_TIMESTAMP",
                f"the timestamp assigner gave {ts!r} for the record {value!r:.200}",
                location=info.location,
                hint="return the event time as an int of at most 64 bits, in milliseconds since 1970",
            )
    return np.array(times, np.int64)


STORED_ALIKE = frozenset({"BYTE", "SHORT", "INT", "LONG", "STRING", "BOOLEAN"})
"""Types whose values have one hash as a function returned them and as they are stored."""
Route = Callable[[Any], Any] | Place
"""A key selector, or a place."""


@dataclass(frozen=True)
class Stay:
    """Records do not leave their slot: an operator of the same stage takes them.

    ``location``: the line that says, or shows, that their keys belong there. ``handed``: of the edge of
    that operator. Records whose values are columns go there as they are: nobody changes columns.
    """

    location: Location | None
    handed: list[Received]

    def broken(self, info: OperatorInfo, value: Any, slots: tuple[int, int]) -> PlanError:
        """The error of a record whose key belongs to another slot."""
        there, here = slots
        return PlanError(
            "KEY_NOT_KEPT",
            f"operator {info.name!r}: the key of the record {value!r:.200} belongs to slot {there}, and "
            f"the operator before it, whose keys it should have, has emitted it in slot {here}",
            parameters={"uid": info.uid},
            location=self.location,
            hint="use key_by(...) instead of reinterpret_as_keyed_stream(...): it sends each record to "
            "the slot of its key; a key selector must give the same key for the same record each time",
        )


class EdgeStep(Step):
    """A leaf: records leave for an operator of a keyed stage, or for a sink.

    ``channel_offset`` sets the channels of the timeline of the records apart from others of a source.
    ``by_position``: leave out the stamps, because no stage will raise them; by position a channel's
    records are in order. ``stay``: given if the operator is in the same stage, and gets records
    that are in its slots already.

    Keys that a function has made go with the records, so that nobody asks for them again and gets
    others; keys that are fields are in the record. A record whose key selector fails, if the policy is
    to skip it, leaves too: the operator asks the selector again, so that all dead letters come from one
    place, in order.
    """

    takes_columns = True
    takes_weights = True  # whether their operator takes them, it says itself

    def __init__(
        self,
        info: OperatorInfo,
        tag: int,
        codec: Codec,
        slots: int,
        route: Route,
        *,
        raised: bool,
        channel_offset: int = 0,
        by_position: bool = False,
        stay: Stay | None = None,
    ) -> None:
        super().__init__(info)
        self.tag = tag
        self.stay = stay
        self.channel_offset = np.int64(channel_offset)
        self.by_position = by_position
        self.codec = codec
        self.route = route
        self.slots = slots
        self.raised = raised
        self.key_fields = None if isinstance(route, Place) else fields_read_by(route)
        self.key_in_columns = getattr(route, "in_columns", False)
        self.key_travels = not (isinstance(route, Place) or self.key_fields is not None)
        self.cache = HashCache()
        self.writers: dict[int, BufferWriter] = {}
        self.emit: Callable[[BufferRow], None] = _nowhere
        self.own_slot = 0

    def bind(self, emit: Callable[[BufferRow], None], own_slot: int) -> None:
        """Where rows go in this run, and the slot that records without a key take."""
        self.emit = emit
        self.own_slot = own_slot
        self.writers.clear()

    def push(self, flow: Flow) -> None:
        with located(self.info):
            self._take(flow)

    def leaving(self, flow: Flow) -> Records:
        """The records of a flow, in the channels and with the stamps of their timeline."""
        records = flow.records()
        if self.channel_offset:
            moved = records.keys.channel + self.channel_offset
            records.keys = replace(records.keys, channel=moved)
        if self.by_position:
            lowest = np.full(len(records), MIN_TIMESTAMP, np.int64)
            records.keys = replace(records.keys, stamp=lowest)
        return records

    def _take(self, flow: Flow) -> None:
        records = self.leaving(flow)
        if self.route in (Place.ANYWHERE, Place.THROUGH_A_STAGE):
            self._writer(self.own_slot).add(records)
            return
        if self.route is Place.EVERY_SLOT:
            records.hashes = np.zeros(len(records), np.uint32)
            for slot in range(self.slots):
                self._writer(slot).add(records)
            return
        records.hashes = self._hashes(records)
        self._spread(records)

    def _spread(self, records: Records) -> None:
        """Give each slot its records, by their hashes."""
        assert records.hashes is not None
        slots = (records.hashes % self.slots).astype(np.uint16)
        if self.stay is not None:
            for row in np.flatnonzero(slots != self.own_slot)[:1].tolist():
                value = self._shown(records, row)
                raise self.stay.broken(self.info, value, (int(slots[row]), self.own_slot))
            self._hand_over(records, self.stay)
            return
        if self.slots == 1:
            self._writer(0).add(records)
            return
        order = np.argsort(slots, kind="stable")
        found, starts = np.unique(slots[order], return_index=True)
        ends = [*starts[1:].tolist(), len(order)]
        for slot, start, end in zip(found.tolist(), starts.tolist(), ends, strict=True):
            self._writer(slot).add(records.take(order[start:end]))

    def _hand_over(self, records: Records, stay: Stay) -> None:
        codec, values = self.codec, records.values
        if (
            isinstance(values, Columns)
            and isinstance(codec, ArrowCodec)
            and records.selected is None
        ):
            own = Columns(codec.type_info, codec.arrays(values))
            stay.handed.append(Received.handed(records, own))
        else:
            self._writer(self.own_slot).add(records)

    def _shown(self, records: Records, row: int) -> Any:
        """A record as an error shows it."""
        return records.values_at(np.array([row]))[0]

    def _hashes(self, records: Records) -> Hashes:
        if self.route is Place.BY_POSITION:
            return _by_position(records)
        if not isinstance(records.values, Columns):
            records.values = self._in_columns(records.values)
        by_column = self._hashed_columns(records.values)
        if by_column is not None:
            return by_column
        keys, places = self._keys(records)
        if self.key_travels:
            own = records.selected = Selected.of(keys).spread(places, len(records))
            if places is None:
                return self._hashed(own.distinct)[own.codes]
        hashes = self._hashed(keys)
        if places is None:
            return hashes
        of_all = self._without_key(records)
        of_all[places] = hashes
        return of_all

    def _in_columns(self, values: list[Any]) -> Values:
        """Values as the columns that they travel as, if the hash of a key is that of its columns."""
        of_type = self.codec.type_info if isinstance(self.codec, ArrowCodec) else None
        if not self.key_in_columns and (
            self.key_fields is None or (of_type is not None and not self._is_stored_alike(of_type))
        ):
            return values
        columns = self.codec.columns_of(values)
        return values if columns is None else columns

    def _is_stored_alike(self, type_info: TypeInformation) -> bool:
        """Whether a function gives the keys as they are stored, and not an int for a DOUBLE."""
        key = KeyColumns.of(self.key_fields, type_info)
        return key is not None and all(kind.kind in STORED_ALIKE for kind in key.kinds)

    def _hashed_columns(self, values: Values) -> Hashes | None:
        """The hashes of keys that are columns of the values, None if they are not."""
        if not isinstance(values, Columns) or not values.has_all():
            return None
        key = KeyColumns.of(self.key_fields, values.type_info)
        return None if key is None else key.hashes(values.arrays)

    def _hashed(self, keys: list[Any]) -> Hashes:
        hashes: Hashes = hash_keys(keys, self.cache, self.info)
        return hashes

    def _without_key(self, records: Records) -> Hashes:
        """Hashes of records on which the selector fails: any will do in a slot that they may go to."""
        if self.stay is None:
            return _by_position(records)
        return np.full(len(records), self.own_slot, np.uint32)

    def _keys(self, records: Records) -> tuple[list[Any], list[int] | None]:
        """The keys of records, and the places of those that have one; None: all of them."""
        if self.route is Place.BY_CHANNEL:
            return records.keys.channel.tolist(), None
        if self.route is Place.ONE_SLOT:
            return [0] * len(records), None
        assert callable(self.route)
        found = self.policy.each(self.route, as_list(records.values), self.failure)
        return found.results, found.places

    def _writer(self, slot: int) -> BufferWriter:
        writer = self.writers.get(slot)
        if writer is None:
            writer = BufferWriter(slot, self.tag, self.codec, self.raised, self.emit)
            self.writers[slot] = writer
        return writer

    def flush(self) -> None:
        with located(self.info):
            self._finish()

    def _finish(self) -> None:
        for writer in self.writers.values():
            writer.flush()


def _by_position(records: Records) -> Hashes:
    """Neighbours go to different slots, the same record always to the same one."""
    hashes: Hashes = (records.keys.channel + records.keys.pos).astype(np.uint32)
    return hashes


def _nowhere(row: BufferRow) -> None:
    raise AssertionError("an edge was used before it was bound")


def walk(step: Step) -> Iterable[Step]:
    """A step and all steps after it."""
    yield step
    for follower in step.followers():
        yield from walk(follower)


@dataclass
class Chain:
    """The steps behind one entry point: a source, or an output of a keyed operator."""

    root: Step
    edges: list[EdgeStep] = field(init=False)
    clocks: list[TimestampStep] = field(init=False)
    counted: list[Step] = field(init=False)

    def __post_init__(self) -> None:
        steps = list(walk(self.root))
        self.edges = [step for step in steps if isinstance(step, EdgeStep)]
        self.clocks = [step for step in steps if isinstance(step, TimestampStep)]
        # A source with timestamps of its own is no operator before or behind itself.
        own = self.root.info.uid
        self.counted = [step for step in steps if step.counts_records and step.info.uid != own]

    def bind(self, emit: Callable[[BufferRow], None], own_slot: int) -> None:
        for edge in self.edges:
            edge.bind(emit, own_slot)
        for clock in self.clocks:
            clock.watermarks.clear()

    def push(self, values: Values, ts: Ints, keys: OrderKeys, weights: Ints | None = None) -> None:
        if len(values):
            self.root.send(Flow(values, ts, keys, None, weights))

    def flush(self) -> None:
        self.root.flush()

    def report(self, reports: Reports) -> None:
        """Report the records that the operators of the chain have got and emitted."""
        for step in self.counted:
            step.report(reports.of(step.info))
