"""Millstream: pairs of records of two streams that have one key and are near each other in time."""

from __future__ import annotations

import sys

import common

from contract import parser, report, stopwatch
from data import JOIN_MS, SIDES, from_arguments
from expectations import WEIGHTS
from millstream import __version__
from millstream.common import Types
from millstream.datastream import ProcessJoinFunction, RuntimeContext
from millstream.datastream.connectors.print import DiscardingSink

PAIR = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])


class Pair(ProcessJoinFunction):
    """Key and both values; it also counts what comes out, as in the other system's run."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.outputs = runtime_context.get_long_counter("outputs")
        self.checksum = runtime_context.get_long_counter("checksum")

    def process_element(self, left, right, ctx):
        self.outputs.add(1)
        self.checksum.add(left[1] * (right[1] % WEIGHTS + 1))
        yield left[0], left[1], right[1]


def main() -> int:
    options = parser(__doc__)
    common.add_arguments(options)
    arguments = options.parse_args()
    dataset = from_arguments(arguments)
    sides = dataset.sides
    with stopwatch() as startup:
        env = common.environment(arguments, dataset)
    left, right = (common.timed_rows(env, sides / name, name).key_by(0) for name in SIDES)
    pairs = left.interval_join(right).between(-JOIN_MS, JOIN_MS)
    pairs.process(Pair(), output_type=PAIR).sink_to(DiscardingSink())
    with stopwatch() as job:
        result = env.execute("interval join")
    return report(
        dataset,
        system="Millstream",
        version=__version__,
        mode=arguments.mode,
        workload="interval-join",
        startup=startup,
        job=job,
        found=common.counters(result),
        notes=f"source csv, {arguments.epochs} epochs",
    )


if __name__ == "__main__":
    sys.exit(main())
