"""Millstream: running count per key in a ValueState, one output for each record.

With `--declarative` it is the sum of a field, without a function of the program's for each record of a
key. Such counts go nowhere, as Flink SQL's do, and are checked by a second run that is not timed.
"""

from __future__ import annotations

import sys

import common

from contract import parser, report, stopwatch
from data import from_arguments
from millstream import __version__
from millstream.common import Types
from millstream.datastream import (
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
)
from millstream.datastream.connectors.print import DiscardingSink
from millstream.datastream.state import ValueStateDescriptor


class RunningCount(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.outputs = runtime_context.get_long_counter("outputs")
        self.checksum = runtime_context.get_long_counter("checksum")

    def process_element(self, value, ctx):
        count = (self.state.value() or 0) + 1
        self.state.update(count)
        self.outputs.add(1)
        self.checksum.add(count)
        yield value[0], count


class Check(MapFunction):
    """Passes counts on and adds them up."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.outputs = runtime_context.get_long_counter("outputs")
        self.checksum = runtime_context.get_long_counter("checksum")

    def map(self, value):
        self.outputs.add(1)
        self.checksum.add(value[1])
        return value


def results(pairs: DataStream, *, declarative: bool) -> DataStream:
    """What the timed run computes."""
    if declarative:
        ones = pairs.map(lambda pair: (pair[0], 1), common.PAIR)
        return ones.key_by(0).sum(1)
    return pairs.key_by(lambda pair: pair[0]).process(RunningCount(), output_type=common.PAIR)


def main() -> int:
    options = parser(__doc__)
    common.add_arguments(options)
    options.add_argument("--declarative", action="store_true")
    arguments = options.parse_args()
    dataset = from_arguments(arguments)
    with stopwatch() as startup:
        env = common.environment(arguments, dataset)
    declarative = arguments.declarative
    pairs = common.records(env, arguments, dataset)
    results(pairs, declarative=declarative).sink_to(DiscardingSink())
    with stopwatch() as job:
        result = env.execute("count")
    if declarative and not arguments.unchecked:
        env = common.environment(arguments, dataset)
        counts = results(common.records(env, arguments, dataset), declarative=True)
        counts.map(Check()).sink_to(DiscardingSink())
        result = env.execute("check of the count")
    has_counted = not (declarative and arguments.unchecked)
    return report(
        dataset,
        system="Millstream",
        version=__version__,
        mode=arguments.mode,
        workload="count",
        startup=startup,
        job=job,
        found=common.counters(result) if has_counted else None,
        notes=f"source {arguments.source}, {arguments.epochs} epochs",
    )


if __name__ == "__main__":
    sys.exit(main())
