"""PyFlink DataStream: running count per key in a ValueState, one output for each record.

The source is the CSV parts, read in the way that is quickest for the execution mode: as rows that
the Table API's file system connector parses in the JVM (process mode), or as text lines split in
Python (thread mode). `--source` overrides the choice.
Outputs are counted by the function itself, in two integers written out when it closes.
"""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path

import flink_common as flink
from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext
from pyflink.datastream.state import ValueStateDescriptor

from contract import parser


class RunningCount(KeyedProcessFunction):
    def __init__(self, counters: str) -> None:
        self.counters = counters

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.outputs = 0
        self.checksum = 0

    def process_element(self, value, ctx):
        count = (self.state.value() or 0) + 1
        self.state.update(count)
        self.outputs += 1
        self.checksum += count
        yield value[0], count

    def close(self) -> None:
        path = Path(self.counters) / f"{uuid.uuid4().hex}.json"
        path.write_text(json.dumps({"outputs": self.outputs, "checksum": self.checksum}))


def parse(line: str) -> tuple[str, int]:
    key, value, _ = line.split(",")
    return key, int(value)


def build(env, dataset, arguments, counters: Path) -> None:
    pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    records = flink.source(env, dataset, arguments, parse, pair)
    counts = records.key_by(lambda record: record[0], Types.STRING()).process(
        RunningCount(str(counters)), pair
    )
    flink.discard(counts)


def main() -> int:
    options = parser(__doc__)
    flink.add_flink_arguments(options)
    options.add_argument("--backend", choices=("hashmap", "rocksdb"), default="rocksdb")
    return flink.measure(options.parse_args(), build, workload="count")


if __name__ == "__main__":
    sys.exit(main())
