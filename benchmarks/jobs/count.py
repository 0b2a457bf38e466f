"""Millstream: running count per key in a ValueState, one output for each record."""

from __future__ import annotations

import sys

import common

from contract import parser, report, stopwatch
from data import from_arguments
from millstream import __version__
from millstream.common import Types
from millstream.datastream import KeyedProcessFunction, RuntimeContext
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


def main() -> int:
    options = parser(__doc__)
    common.add_arguments(options)
    arguments = options.parse_args()
    dataset = from_arguments(arguments)
    with stopwatch() as startup:
        env = common.environment(arguments, dataset)
    pairs = common.records(env, arguments, dataset)
    counts = pairs.key_by(lambda pair: pair[0]).process(RunningCount(), output_type=common.PAIR)
    counts.sink_to(DiscardingSink())
    with stopwatch() as job:
        result = env.execute("count")
    return report(
        dataset,
        system="Millstream",
        version=__version__,
        mode=arguments.mode,
        workload="count",
        seconds=job.seconds,
        outputs=result.get_accumulator_result("outputs"),
        checksum=result.get_accumulator_result("checksum"),
        notes=f"source {arguments.source}, {arguments.epochs} epochs",
        startup_seconds=startup.seconds,
    )


if __name__ == "__main__":
    sys.exit(main())
