"""Millstream: map -> filter -> map of Python lambdas."""

from __future__ import annotations

import sys

import common

from contract import parser, report, stopwatch
from data import from_arguments
from millstream import __version__
from millstream.datastream import MapFunction, RuntimeContext
from millstream.datastream.connectors.print import DiscardingSink


class Halve(MapFunction):
    """The last map, which also counts what comes out, as in the other systems' runs."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.outputs = runtime_context.get_long_counter("outputs")
        self.checksum = runtime_context.get_long_counter("checksum")

    def map(self, value):
        half = value[1] // 2
        self.outputs.add(1)
        self.checksum.add(half)
        return value[0], half


def main() -> int:
    options = parser(__doc__)
    common.add_arguments(options)
    arguments = options.parse_args()
    dataset = from_arguments(arguments)
    with stopwatch() as startup:
        env = common.environment(arguments, dataset)
    (
        common.records(env, arguments, dataset)
        .map(lambda pair: (pair[0], pair[1] * 3 + 1))
        .filter(lambda pair: pair[1] % 2 == 0)
        .map(Halve())
        .sink_to(DiscardingSink())
    )
    with stopwatch() as job:
        result = env.execute("stateless")
    return report(
        dataset,
        system="Millstream",
        version=__version__,
        mode=arguments.mode,
        workload="stateless",
        startup=startup,
        job=job,
        found=common.counters(result),
        notes=f"source {arguments.source}, {arguments.epochs} epochs",
    )


if __name__ == "__main__":
    sys.exit(main())
