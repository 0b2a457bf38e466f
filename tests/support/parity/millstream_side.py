"""How the programs run on Millstream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from millstream.common import Duration, Types, WatermarkStrategy
from millstream.testing import run_local
from tests.support.parity.catalogue import Results, load, program_names, shown, streams_of
from tests.support.parity.counterparts import JAVA, SQL, counterpart

Record = tuple[str, int, int]


class Timed:
    """What programs get as ``timed``: watermarks follow every record by themselves.

    Who asks for the same records twice gets one stream, so that many programs are one job.
    """

    def __init__(self, env: Any) -> None:
        self.env = env
        self.known: dict[tuple[Any, int], Any] = {}

    def __call__(self, records: Sequence[Record], out_of_orderness: int = 0) -> Any:
        place = tuple(records), out_of_orderness
        if place not in self.known:
            self.known[place] = self._stream(records, out_of_orderness)
        return self.known[place]

    def _stream(self, records: Sequence[Record], out_of_orderness: int) -> Any:
        record_type = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
        stream = self.env.from_collection(records, record_type)
        bound = Duration.of_millis(out_of_orderness)
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(bound)
        return stream.assign_timestamps_and_watermarks(
            strategy.with_timestamp_assigner(lambda record, _: record[2])
        )


def all_names() -> list[str]:
    """All programs, queries and Java programs."""
    return [*program_names(), *SQL, *JAVA]


def built(name: str, timed: Timed) -> Mapping[str, Any]:
    """The streams of a program, a query or a Java program, by name."""
    if name in SQL or name in JAVA:
        return streams_of(counterpart(name, timed))
    return streams_of(load(name)(timed.env, timed))


def run(name: str, **schedule: Any) -> Results:
    """The results of a program in memory."""
    names: list[str] = []

    def program(env: Any) -> Any:
        streams = built(name, Timed(env))
        names.extend(streams)
        return dict(streams)

    results = run_local(program, **schedule)
    return {stream: sorted(map(shown, results.values(stream))) for stream in names}
