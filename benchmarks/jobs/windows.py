"""Millstream: sums of event-time windows, or a Python function of the records of each window.

Sums go nowhere, as Flink's do, and are counted and added up by a second run that is not timed. A Python
function of windows counts by itself, in the timed run.
"""

from __future__ import annotations

import sys

import common

from contract import parser, report, stopwatch
from data import SESSION_GAP_MS, SLIDE_MS, SLIDING_MS, TUMBLING_MS, from_arguments
from expectations import SUM_MODULUS, WEIGHTS
from millstream import __version__
from millstream.common import Types
from millstream.datastream import DataStream, ProcessFunction, RuntimeContext
from millstream.datastream.connectors.print import DiscardingSink
from millstream.datastream.functions.windowed import ProcessWindowFunction
from millstream.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

PERIODS = {
    "tumbling": TUMBLING_MS,
    "sliding": SLIDE_MS,
    "session": 1,
    "process-window": TUMBLING_MS,
}
WINDOW_SUM = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG(), Types.LONG()])


class Check(ProcessFunction):
    """Passes sums of windows on and adds up their checksum; a sum has the time of its window."""

    def __init__(self, period: int) -> None:
        self.period = period

    def open(self, runtime_context: RuntimeContext) -> None:
        self.outputs = runtime_context.get_long_counter("outputs")
        self.checksum = runtime_context.get_long_counter("checksum")

    def process_element(self, value, ctx):
        end = ctx.timestamp() + 1
        self.outputs.add(1)
        self.checksum.add(value[1] % SUM_MODULUS * (end // self.period % WEIGHTS + 1))
        yield value


class WindowSum(ProcessWindowFunction):
    """Key, start, number and sum of a window's records."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.outputs = runtime_context.get_long_counter("outputs")
        self.checksum = runtime_context.get_long_counter("checksum")

    def process(self, key, context, elements):
        window = context.window()
        total = sum(row[1] for row in elements)
        number = len(elements)
        self.outputs.add(1)
        self.checksum.add(
            (total + number) % SUM_MODULUS * (window.end // TUMBLING_MS % WEIGHTS + 1)
        )
        yield key, window.start, number, total


def results(rows: DataStream, workload: str) -> DataStream:
    """What the timed run computes."""
    keyed = rows.key_by(0)
    match workload:
        case "process-window":
            windows = keyed.window(TumblingEventTimeWindows.of(TUMBLING_MS))
            return windows.process(WindowSum(), output_type=WINDOW_SUM)
        case "tumbling":
            windows = keyed.window(TumblingEventTimeWindows.of(TUMBLING_MS))
        case "sliding":
            windows = keyed.window(SlidingEventTimeWindows.of(SLIDING_MS, SLIDE_MS))
        case _:
            windows = keyed.window(EventTimeSessionWindows.with_gap(SESSION_GAP_MS))
    return windows.sum(1)


def main() -> int:
    options = parser(__doc__)
    common.add_arguments(options)
    options.add_argument("--workload", choices=tuple(PERIODS), default="tumbling")
    arguments = options.parse_args()
    dataset = from_arguments(arguments)
    workload = arguments.workload
    parquet = arguments.source == "parquet"
    folder = dataset.parquet if parquet else dataset.csv
    with stopwatch() as startup:
        env = common.environment(arguments, dataset)
    rows = common.timed_rows(env, folder, "records", parquet=parquet)
    results(rows, workload).sink_to(DiscardingSink())
    with stopwatch() as job:
        result = env.execute(workload)
    if workload != "process-window" and not arguments.unchecked:
        env = common.environment(arguments, dataset)
        rows = common.timed_rows(env, folder, "records", parquet=parquet)
        checked = results(rows, workload).process(Check(PERIODS[workload]))
        checked.sink_to(DiscardingSink())
        result = env.execute(f"check of {workload}")
    has_counted = workload == "process-window" or not arguments.unchecked
    return report(
        dataset,
        system="Millstream",
        version=__version__,
        mode=arguments.mode,
        workload=workload,
        startup=startup,
        job=job,
        found=common.counters(result) if has_counted else None,
        notes=f"source {arguments.source}, {arguments.epochs} epochs",
    )


if __name__ == "__main__":
    sys.exit(main())
