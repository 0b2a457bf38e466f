"""Steps that skip the records their functions fail on, see `skipping` for the operators.

They call record by record with an exception handler around each call, where other steps have one
around a whole batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from millstream.common.errors import MillstreamError
from millstream.common.time import MIN_TIMESTAMP
from millstream.kernel.buffers import Hashes, Records
from millstream.kernel.calls import hash_keys
from millstream.kernel.chain import (
    EdgeStep,
    TimestampStep,
    checked_times,
    times_in_column,
    timestamps_of,
)
from millstream.kernel.columns import Columns, as_list
from millstream.kernel.dead_letters import DeadLetters
from millstream.kernel.places import Place
from millstream.kernel.reports import Reports
from millstream.kernel.runtime import KernelRuntimeContext
from millstream.kernel.side_outputs import checked_sides
from millstream.kernel.steps import (
    FilterStep,
    FlatMapStep,
    Flow,
    MapStep,
    ProcessStep,
    Step,
    gathered,
)


class Sifted:
    """Results of a function for some values, with their places, and dead letters with their places."""

    def __init__(self) -> None:
        self.results: list[Any] = []
        self.places: list[int] = []
        self.letters: list[Any] = []
        self.failed: list[int] = []


class SkippingStep(Step):
    """Base of steps with the policy "skip"; ``letters`` is given to them when they are made."""

    letters: DeadLetters
    takes_weights = False

    def open(self, make_context: Callable[..., KernelRuntimeContext]) -> None:
        self.reports: Reports = make_context(self.info, None)._reports
        super().open(make_context)

    def sift(self, flow: Flow, call: Callable[[Any], Any]) -> Sifted:
        """Call a function with each of the values."""
        letters, times, found = self.letters, flow.timestamps(), Sifted()
        for place, value in enumerate(as_list(flow.values)):
            original = letters.original(value)
            try:
                result = call(value)
            except MillstreamError:
                raise
            except Exception as error:
                letter = letters.take(error, original, int(times[place]), self.reports)
                found.letters.append(letter)
                found.failed.append(place)
            else:
                found.results.append(result)
                found.places.append(place)
        return found

    def set_aside(self, flow: Flow, found: Sifted) -> None:
        """Send on the dead letters of a flow, in the places of its records."""
        tag = self.letters.tag
        if found.failed and tag is not None and tag in self.sides:
            rows = flow.row_numbers()[found.failed]
            self.sides[tag].send(Flow(found.letters, flow.base_ts, flow.base_keys, rows))


class SkippingMapStep(SkippingStep, MapStep):
    def push(self, flow: Flow) -> None:
        found = self.sift(flow, self.call)
        kept = flow.keep(found.places) if found.failed else flow
        self.send(kept.replace(found.results))
        self.set_aside(flow, found)


class SkippingFilterStep(SkippingStep, FilterStep):
    def push(self, flow: Flow) -> None:
        found = self.sift(flow, self.call)
        verdicts = zip(found.places, found.results, strict=True)
        self.send(flow.keep([place for place, verdict in verdicts if verdict]))
        self.set_aside(flow, found)


class SkippingFlatMapStep(SkippingStep, FlatMapStep):
    def results(self, flow: Flow) -> list[list[Any]]:
        return self._unless_failed(flow, lambda value: gathered(self.call(value)))

    def _unless_failed(self, flow: Flow, call: Callable[[Any], list[Any]]) -> list[list[Any]]:
        """The results for each of the values, none for those that are skipped."""
        found = self.sift(flow, call)
        self.set_aside(flow, found)
        results: list[list[Any]] = [[] for _ in range(len(flow.values))]
        for place, result in zip(found.places, found.results, strict=True):
            results[place] = result
        return results


class SkippingProcessStep(SkippingFlatMapStep, ProcessStep):
    def results(self, flow: Flow) -> list[list[Any]]:
        times = iter(flow.timestamps().tolist())
        context, call = self.context, self.call

        def one(value: Any) -> list[Any]:
            context.current = next(times)
            return checked_sides(gathered(call(value, context)))

        return self._unless_failed(flow, one)


class SkippingTimestampStep(SkippingStep, TimestampStep):
    """Records without an event time move no watermark; their dead letters have its stamps."""

    def push(self, flow: Flow) -> None:
        times: Any = None
        if isinstance(flow.values, Columns):
            times = times_in_column(flow.values, self.field)
        if times is not None or self.strategy.assigner is None:
            super().push(flow)
            return
        flow.values = as_list(flow.values)
        earlier = flow.timestamps()
        found = self._sift_times(flow, earlier)
        ts = np.full(len(flow.values), MIN_TIMESTAMP, np.int64)
        if found.places:
            ts[found.places] = self._checked(flow.keep(found.places).values, found.results)
        stamped = self.stamped(flow, ts)
        self.send(stamped.keep(found.places))
        self.set_aside(Flow(flow.values, earlier, stamped.base_keys), found)

    def _sift_times(self, flow: Flow, earlier: Any) -> Sifted:
        assigner = self.strategy.assigner
        extract: Any = getattr(assigner, "extract_timestamp", assigner)
        before = iter(earlier.tolist())
        return self.sift(flow, lambda value: extract(value, next(before)))

    def _checked(self, values: Any, times: list[Any]) -> Any:
        given = checked_times(times, values, self.info)
        return timestamps_of(replace(self.strategy, assigner=None), values, given, self.info)


class SkippingEdgeStep(SkippingStep, EdgeStep):
    """A leaf that sends on records whose key selector fails, to where the operator skips them.

    The operator asks the selector again, so that all dead letters come from one place, in order.
    """

    def _hashes(self, records: Records) -> Hashes:
        if isinstance(self.route, Place):
            return super()._hashes(records)
        found = self._hashed_columns(records.values)
        if found is not None:
            return found
        keys, places = [], []
        for place, value in enumerate(as_list(records.values)):
            try:
                key = self.route(value)
            except MillstreamError:
                raise
            except Exception:
                continue
            keys.append(key)
            places.append(place)
        hashed = self._hashed(keys)
        if len(places) == len(records):
            return hashed
        hashes: Hashes = (records.keys.channel + records.keys.pos).astype(np.uint32)
        hashes[places] = hashed
        return hashes

    def _hashed(self, keys: list[Any]) -> Hashes:
        hashes: Hashes = hash_keys(keys, self.cache, self.info)
        return hashes
