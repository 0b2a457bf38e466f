"""Decoding: records of what a source has read, before anything else sees them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from millstream.common.errors import MillstreamError, user_code_error
from millstream.kernel.calls.context import KernelRuntimeContext, OperatorInfo
from millstream.kernel.calls.policy import Outcome, Skipping
from millstream.kernel.records.columns import Values
from millstream.kernel.records.order import Ints, arrival_step, run_ordinals
from millstream.kernel.steps.chain import TimestampStep
from millstream.kernel.steps.stateless import Flow, Step


class Undecoded(NamedTuple):
    """Something that cannot be decoded: its place, the reason, and what a program is shown of it."""

    place: int
    error: Exception
    value: Any


class Decoded(NamedTuple):
    """The results of a decoder for some values.

    ``places``: those of the values that have become records, None: all of them. ``failed``: those that
    cannot be decoded. A place in neither has no record. ``weights``: -1 for a record that is taken back.
    """

    values: Values
    places: list[int] | Ints | None = None
    failed: list[Undecoded] = []
    weights: Ints | None = None


class Decoder(Protocol):
    """Makes records of the values that a source has read, many at a time.

    It makes at most one of each, unless it has an attribute ``several`` that is true: then places may be
    there more than once, ascending.
    """

    def open(self) -> None:
        """Called before the first records, in each process."""

    def decode(self, values: Values, timestamps: Ints) -> Decoded:
        """Decode values; ``timestamps``: their event times as the source gives them."""


class DecodeStep(Step):
    """Makes records of what is read. The policy of the source holds for what cannot be decoded."""

    takes_columns = True

    def __init__(self, info: OperatorInfo, decoder: Decoder) -> None:
        super().__init__(info)
        self.decoder = decoder
        self.clock: TimestampStep | None = None
        """What stamps the records, if the source has a strategy; then it has the side outputs too."""

    def open(self, make_context: Callable[..., KernelRuntimeContext]) -> None:
        self.decoder.open()
        super().open(make_context)

    def push(self, flow: Flow) -> None:
        found = self.decoder.decode(flow.values, flow.timestamps())
        if found.failed and not self.policy.skips:
            raise self._undecodable(found.failed[0]) from found.failed[0].error
        several = getattr(self.decoder, "several", False)
        if found.places is None and not several:
            self.send(flow.replace(found.values))
            return
        places = np.arange(len(found.values))
        if found.places is not None:
            places = np.asarray(found.places, np.int64)
        rows = flow.row_numbers()[places]
        if found.weights is None and not several:
            self.send(Flow(found.values, flow.base_ts, flow.base_keys, rows, flow.base_weights))
        elif len(rows):
            keys = flow.base_keys.take(rows)
            if several:
                keys = keys.through(arrival_step(self.info.turn, None))
                keys = keys.extended(run_ordinals(places))
            self.send(Flow(found.values, flow.base_ts[rows], keys, None, found.weights))
        if found.failed:
            self._set_aside(flow, places, found.failed)

    def _set_aside(self, flow: Flow, decoded: Ints, failed: list[Undecoded]) -> None:
        """Send on dead letters; the stamp of each is the watermark before the next record."""
        policy, times = self.policy, flow.timestamps()
        assert isinstance(policy, Skipping)
        letters = [policy.letters.take(f.error, f.value, int(times[f.place])) for f in failed]
        places = [f.place for f in failed]
        if self.clock is None:
            self.send_letters(flow, Outcome([], None, places, letters))
            return
        stamps = self.clock.stamps_between(flow.base_keys, decoded, np.array(places, np.int64))
        rows = flow.row_numbers()[places]
        keys = replace(flow.base_keys.take(rows), stamp=stamps)
        stamped = Flow(list[Any](letters), times[places], keys)
        self.clock.send_letters(stamped, Outcome([], None, list(range(len(failed))), letters))

    def _undecodable(self, failed: Undecoded) -> MillstreamError:
        return user_code_error(
            failed.error,
            self.info.name,
            self.info.uid,
            failed.value,
            location=self.info.location,
            subject=f"source {self.info.name!r}: decoding a record",
            hint='.on_error("skip", tag) on the stream that from_source(...) returns sends such '
            "records to the side output of the tag",
        )
