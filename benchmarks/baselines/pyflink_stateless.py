"""PyFlink DataStream: map -> filter -> map in Python, without state or shuffle.

The source is the same as in `pyflink_count.py`. The last map is a `MapFunction` in place of a
lambda, for it also counts the outputs, in two integers written out when it closes.
"""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path

import flink_common as flink
from pyflink.common import Types
from pyflink.datastream import MapFunction, RuntimeContext

from contract import parser


class HalveAndCount(MapFunction):
    def __init__(self, counters: str) -> None:
        self.counters = counters

    def open(self, runtime_context: RuntimeContext) -> None:
        self.outputs = 0
        self.checksum = 0

    def map(self, value):
        half = value[1] // 2
        self.outputs += 1
        self.checksum += half
        return value[0], half

    def close(self) -> None:
        path = Path(self.counters) / f"{uuid.uuid4().hex}.json"
        path.write_text(json.dumps({"outputs": self.outputs, "checksum": self.checksum}))


def parse(line: str) -> tuple[str, int]:
    key, value, _ = line.split(",")
    return key, int(value)


def build(env, dataset, arguments, counters: Path) -> None:
    pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    records = flink.source(env, dataset, arguments, parse, pair)
    halves = (
        records.map(lambda record: (record[0], record[1] * 3 + 1), pair)
        .filter(lambda record: record[1] % 2 == 0)
        .map(HalveAndCount(str(counters)), pair)
    )
    flink.discard(halves)


def main() -> int:
    options = parser(__doc__)
    flink.add_flink_arguments(options)
    return flink.measure(options.parse_args(), build, workload="stateless")


if __name__ == "__main__":
    sys.exit(main())
