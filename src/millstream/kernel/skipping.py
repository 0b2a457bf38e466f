"""Operators that skip what their functions fail on: records, timers, windows, pairs.

A callback counts as a whole or not at all: state, timers and output are put back if it fails. That costs
a copy of the key's cells before each callback, so only operators that are told to skip are made of
these classes; the others know nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from millstream.common.errors import MillstreamError, UserCodeError
from millstream.common.watermark_strategy import TimestampAssigner
from millstream.kernel.arrivals import Incoming
from millstream.kernel.buffers import Records
from millstream.kernel.chain import checked_times
from millstream.kernel.columns import as_list
from millstream.kernel.dead_letters import DeadLetters
from millstream.kernel.keyed import NO_ROW, KeyedOperator
from millstream.kernel.keys import identity, shown
from millstream.kernel.order import Ints, OrderKeys
from millstream.kernel.outputs import Emit, Outputs
from millstream.kernel.pages import Timer
from millstream.kernel.reduce import ReduceOperator
from millstream.kernel.selected import NotSelected
from millstream.kernel.sequenced import ChannelOperator, TimelineOperator, _Output
from millstream.kernel.two_inputs.broadcast import BroadcastOperator, KeyedBroadcastOperator
from millstream.kernel.two_inputs.connected import CoChannelOperator, CoProcessOperator
from millstream.kernel.two_inputs.interval_join import CELLS, LEFT, IntervalJoinOperator
from millstream.kernel.undo import SavedKey


class Unkeyed:
    """Stands for the key of a record on which the key selector failed."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class SkippingOperator(KeyedOperator):
    """A keyed operator with the policy "skip"; ``letters`` is given to it when it is made.

    MRO of ``class S(X, SkippingOperator)``: X, then this class, then `KeyedOperator`.
    """

    letters: DeadLetters

    # -- callbacks -------------------------------------------------------------------------------

    def attempt(self, call: Callable[[], Any], value: Any, outputs: Outputs) -> bool:
        """Run a callback of the outputs' current row, or skip it; ``value`` is what is skipped then."""
        assert self.opened is not None
        saved, mark, number = self.saved(), outputs.mark(), self.letters.number
        try:
            results = call()
            if results is not None:
                outputs.extend(results)
        except MillstreamError:
            raise
        except Exception as error:
            saved.undo()
            outputs.undo(mark)
            # What was skipped within the callback has not happened either.
            self.letters.forget(number, self.opened._reports)
            self.skip(error, value, mark[0], outputs)
            return False
        saved.keep()
        return True

    def saved(self) -> SavedKey:
        """A copy of the state of the current key."""
        return SavedKey(self.page, self.key, self.cursor.cells)

    def skip(self, error: Exception, value: Any, row: int, outputs: Outputs) -> None:
        """Skip what a row stands for."""
        assert self.opened is not None
        ts = outputs.time_of(row)
        letter = self.letters.take(error, value, ts, self.opened._reports)
        if letter is not None and self.letters.tag is not None:
            outputs.aside(row, self.letters.tag, letter)

    def record_of(self, value: Any) -> Any:
        """A record as its stream had it."""
        return value[1] if self.has_two_inputs else value

    # -- records ---------------------------------------------------------------------------------

    def _process(self, records: Incoming, rows: Ints, outputs: Outputs) -> None:
        page, context, process = self.page, self.context, self.element_call()
        values = records.values_at(rows)
        keys = self.keys_of(records, rows, values)
        original = self.letters.original
        try:
            found = zip(rows.tolist(), self.in_turn(keys, rows, outputs), values, strict=True)
            for row, key, value in found:
                record = original(self.record_of(value))
                if key.__class__ is Unkeyed:
                    self.skip(key.error, record, row, outputs)
                    continue
                self._enter(key)
                if key in page.event_timers:
                    self._fire_until(self._clock_before(row), outputs)
                self.row = outputs.row = row
                self.attempt(partial(process, value, context), record, outputs)
                self._fire_overdue(row, self._clock_before(row), outputs)
                self._leave(key)
        finally:
            self.row = NO_ROW

    def keys_of(self, records: Incoming, rows: Ints, values: list[Any]) -> list[Any]:
        found = records.selected_at(rows)
        if found is None:
            return [self.key_or_error(value) for value in values]
        return [self.key_or_error(*each) for each in zip(values, found.tolist(), strict=True)]

    def key_or_error(self, value: Any, key: Any = NotSelected.UNASKED) -> Any:
        """The identity of the key that has come with a record, or the error of its selector."""
        if key.__class__ is not NotSelected:
            return identity(key)
        try:
            asked = self.selector(value)
        except MillstreamError:
            raise
        except Exception as error:
            return Unkeyed(error)
        if key is NotSelected.FAILED:
            # The record is where no key has sent it: it must not get into the state of another key.
            again = (
                f"the key selector failed for this record, and gave {asked!r:.200} the second time"
            )
            return Unkeyed(RuntimeError(again))
        return identity(asked)

    # -- timers ----------------------------------------------------------------------------------

    def fire(self, timer: Timer, outputs: Outputs) -> None:
        call = partial(self.on_timer, timer, outputs)
        if not self.attempt(call, self.skipped_timer(timer), outputs):
            self.give_up(timer)

    def skipped_timer(self, timer: Timer) -> Any:
        """The value of the dead letter of a timer."""
        return "timer", timer[0], shown(self.key)

    def give_up(self, timer: Timer) -> None:
        """Do what has to be done though a timer has failed."""


class SkippingReduceOperator(ReduceOperator, SkippingOperator):
    """A rolling reduce: what was reduced so far stays if a record cannot be added."""

    def _process(self, records: Incoming, rows: Ints, outputs: Outputs) -> None:
        entries = self.page.entries
        reduce = getattr(self.function, "reduce", self.function)
        values = records.values_at(rows)
        keys = self.keys_of(records, rows, values)
        last: dict[Any, int] = {}
        for row, key, value in zip(rows.tolist(), keys, values, strict=True):
            record = self.letters.original(value)
            if key.__class__ is Unkeyed:
                self.skip(key.error, record, row, outputs)
                continue
            cells = entries.get(key)
            if cells is None:
                entries[key] = cells = [value, *[None] * (len(self.names) - 1)]
            else:
                self.key, self.cursor.cells = key, cells
                saved = self.saved()
                try:
                    cells[0] = reduce(cells[0], value)
                except MillstreamError:
                    raise
                except Exception as error:
                    saved.undo()
                    self.skip(error, record, row, outputs)
                    continue
                saved.keep()
            if self.last_only:
                last[key] = row
            else:
                outputs.row = row
                outputs.one(cells[0])
        for key, row in last.items():
            outputs.row = row
            outputs.one(entries[key][0])


class SkippingChannelOperator(ChannelOperator, SkippingOperator):
    pass


# -- two inputs ------------------------------------------------------------------------------------


class SkippingCoProcessOperator(CoProcessOperator, SkippingOperator):
    pass


class SkippingCoChannelOperator(CoChannelOperator, SkippingOperator):
    pass


class SkippingBroadcastOperator(BroadcastOperator, SkippingOperator):
    """Skips records of the input that is not broadcast.

    A broadcast record changes the state of every slot. If one of them could skip it, slots would not
    agree any more, so there a failure fails the job.
    """

    def _element(self, row: int, value: Any, outputs: Outputs) -> None:
        self.row = outputs.row = row
        record = self.letters.original(value)
        call = partial(self.function.process_element, value, self.element_context)
        try:
            self.attempt(call, record, outputs)
        finally:
            self.row = NO_ROW


class SkippingKeyedBroadcastOperator(KeyedBroadcastOperator, SkippingBroadcastOperator):
    def _element(self, row: int, value: Any, outputs: Outputs) -> None:
        self._found = self.key_or_error(value, self.selected_key(row))
        if isinstance(self._found, Unkeyed):
            self.skip(self._found.error, value, row, outputs)
        else:
            super()._element(row, value, outputs)

    def key_of(self, row: int, value: Any) -> Any:
        return self._found


class SkippingIntervalJoinOperator(IntervalJoinOperator, SkippingOperator):
    """Skips pairs; a record whose partner is skipped may have others."""

    def _process(self, records: Incoming, rows: Ints, outputs: Outputs) -> None:
        pairs = records.values_at(rows)
        keys = SkippingOperator.keys_of(self, records, rows, pairs)
        good = [place for place, key in enumerate(keys) if key.__class__ is not Unkeyed]
        for place, key in enumerate(keys):
            if key.__class__ is Unkeyed:
                row = int(rows[place])
                self._aside(key.error, pairs[place][1], int(records.ts[row]), row)
        self._found = [keys[place] for place in good]
        if good:
            super()._process(records, rows[good], outputs)

    def keys_of(self, records: Incoming, rows: Ints, values: list[Any]) -> list[Any]:
        return self._found

    def _join(
        self, row: int, number: int, value: Any, ts: int, partners: Iterable[tuple[int, Any]]
    ) -> None:
        assert self._results is not None
        for partner in partners:
            pair = (value, partner[1]) if number == LEFT else (partner[1], value)
            original, count = self.letters.original(pair), len(self._results.values)
            saved = SavedKey(self.page, self.key, self.cursor.cells, len(CELLS))
            try:
                super()._join(row, number, value, ts, [partner])
            except UserCodeError as failure:
                error = failure.__cause__
                if not isinstance(error, Exception):
                    raise
                saved.undo()
                self._results.undo(count)
                self._aside(error, original, max(ts, partner[0]), row)
            else:
                saved.keep()

    def _aside(self, error: Exception, value: Any, ts: int, row: int) -> None:
        assert self.opened is not None and self._results is not None
        letter = self.letters.take(error, value, ts, self.opened._reports)
        if letter is not None and self.letters.tag is not None:
            self._results.aside(self.letters.tag, letter, ts, row)


# -- timestamps ------------------------------------------------------------------------------------


class SkippingTimelineOperator(TimelineOperator):
    """Skips records that the timestamp assigner fails on. A watermark generator must not fail.

    The generator never sees such a record, and the watermark stays.
    """

    letters: DeadLetters

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._assigner: TimestampAssigner | None = self.strategy.assigner
        self.strategy = replace(self.strategy, assigner=None)

    def _stamp(
        self, records: Records, channel: int, cells: list[Any], output: _Output, emit: Emit
    ) -> None:
        if self._assigner is None:
            super()._stamp(records, channel, cells, output, emit)
            return
        extract: Any = getattr(self._assigner, "extract_timestamp", self._assigner)
        values, times, places = as_list(records.values), list[Any](), list[int]()

        def pass_on() -> None:
            if places:
                some = records.take(np.array(places, np.int64))
                some.ts = checked_times(times, as_list(some.values), self.info)
                super(SkippingTimelineOperator, self)._stamp(some, channel, cells, output, emit)
                times.clear()
                places.clear()

        for place, (value, before) in enumerate(zip(values, records.ts.tolist(), strict=True)):
            original = self.letters.original(value)
            try:
                times.append(extract(value, before))
                places.append(place)
            except MillstreamError:
                raise
            except Exception as error:
                pass_on()
                self._aside(error, original, records.slice(place, place + 1), cells, output, emit)
        pass_on()

    def _aside(
        self,
        error: Exception,
        value: Any,
        record: Records,
        cells: list[Any],
        output: _Output,
        emit: Emit,
    ) -> None:
        """Send on the dead letter of a record, with the stamp the record would have had."""
        assert self.opened is not None
        letter = self.letters.take(error, value, int(record.ts[0]), self.opened._reports)
        stamp, keys = np.array([output.watermark], np.int64), record.keys
        if self.one_channel:
            keys = OrderKeys.of_fragment(stamp, self.channel, 0, cells[2])
            cells[2] += 1
        else:
            keys = OrderKeys(stamp, keys.born, keys.channel, keys.frag, keys.pos, keys.path)
        if letter is not None and self.letters.tag is not None:
            emit(self.letters.tag, Records([letter], record.ts, keys))
