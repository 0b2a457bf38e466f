"""PyFlink DataStream: a Python function of the records of each tumbling window.

The source is the CSV lanes, read in one of two ways: as rows that the Table API's file system
connector parses in the JVM, with event time and watermarks made there too; or as text lines split in
Python, where event time is taken from the record as well. `--source` chooses. On 200,000
records the first took a fifth less processor time in thread mode, and as much in process mode.
Outputs are counted by the function itself, in two integers written out when it closes.
"""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path

import flink_common as flink
from pyflink.common import Duration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import ProcessWindowFunction, RuntimeContext
from pyflink.datastream.window import TumblingEventTimeWindows

from contract import parser
from data import TUMBLING_MS
from expectations import SUM_MODULUS, WEIGHTS

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
RECORD = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
WINDOW_SUM = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG(), Types.LONG()])


class WindowSum(ProcessWindowFunction):
    """Key, start, number and sum of a window's records."""

    def __init__(self, counters: str, size: int, modulus: int, weights: int) -> None:
        self.counters = counters
        self.size = size
        self.modulus = modulus
        self.weights = weights

    def open(self, runtime_context: RuntimeContext) -> None:
        self.outputs = 0
        self.checksum = 0

    def process(self, key, context, elements):
        window = context.window()
        values = [element[1] for element in elements]
        total = sum(values)
        number = len(values)
        self.outputs += 1
        self.checksum += (
            (total + number) % self.modulus * (window.end // self.size % self.weights + 1)
        )
        yield key, window.start, number, total

    def clear(self, context) -> None:
        pass

    def close(self) -> None:
        path = Path(self.counters) / f"{uuid.uuid4().hex}.json"
        path.write_text(json.dumps({"outputs": self.outputs, "checksum": self.checksum}))


class Times(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[2]


def parse(line: str) -> tuple[str, int, int]:
    key, value, ts = line.split(",")
    return key, int(value), int(ts)


def text_rows(env, dataset):
    lines = flink.text_source(env, dataset.lanes)
    rows = lines.map(parse, RECORD)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
    return rows.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Times()))


def build(env, dataset, arguments, counters: Path) -> None:
    if arguments.source == "table":
        rows = flink.timed_table_source(env, dataset).map(lambda row: (row[0], row[1]), PAIR)
    else:
        rows = text_rows(env, dataset)
    function = WindowSum(str(counters), TUMBLING_MS, SUM_MODULUS, WEIGHTS)
    sums = (
        rows.key_by(lambda row: row[0], Types.STRING())
        .window(TumblingEventTimeWindows.of(Time.milliseconds(TUMBLING_MS)))
        .process(function, WINDOW_SUM)
    )
    flink.discard(sums)


def main() -> int:
    options = parser(__doc__)
    flink.add_flink_arguments(options)
    options.set_defaults(source="table")
    options.add_argument("--backend", choices=("hashmap", "rocksdb"), default="rocksdb")
    arguments = options.parse_args()
    return flink.measure(arguments, build, workload="process-window", files="lanes")


if __name__ == "__main__":
    sys.exit(main())
