"""Millstream: the rolling sum of a field per key, ``key_by(0).sum(1)``, one output for each record.

Sums go nowhere, as Flink's do, and are counted and added up by a second run that is not timed.
"""

from __future__ import annotations

import argparse
import sys

import common

from contract import parser, report, stopwatch
from data import Dataset, from_arguments
from millstream import __version__
from millstream.common import Types, WatermarkStrategy
from millstream.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from millstream.datastream.connectors.file_system import FileSource
from millstream.datastream.connectors.print import DiscardingSink
from millstream.datastream.state import ValueStateDescriptor


class Check(KeyedProcessFunction):
    """Adds up by how much each sum is more than the one before of its key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))
        self.outputs = runtime_context.get_long_counter("outputs")
        self.checksum = runtime_context.get_long_counter("checksum")

    def process_element(self, value, ctx):
        self.outputs.add(1)
        self.checksum.add(value[1] - (self.last.value() or 0))
        self.last.update(value[1])
        return ()


def sums(
    env: StreamExecutionEnvironment, arguments: argparse.Namespace, dataset: Dataset
) -> DataStream:
    """What the timed run computes."""
    if arguments.source == "csv":
        source = FileSource.csv(str(dataset.csv), schema=common.SCHEMA, header=False)
    else:
        source = FileSource.parquet(str(dataset.parquet), schema=common.SCHEMA)
    rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "rows")
    by_key = rows.key_by(_unseen) if arguments.by_record else rows.key_by(0)
    return by_key.sum(1)


def _unseen(row) -> str:
    """A key that the planner cannot see through."""
    key: str = row[0]
    return key


def main() -> int:
    options = parser(__doc__)
    common.add_arguments(options)
    options.add_argument("--by-record", action="store_true", help="hide the key from the planner")
    arguments = options.parse_args()
    dataset = from_arguments(arguments)
    with stopwatch() as startup:
        env = common.environment(arguments, dataset)
    sums(env, arguments, dataset).sink_to(DiscardingSink())
    with stopwatch() as job:
        env.execute("rolling sum")
    found = None
    if not arguments.unchecked:
        env = common.environment(arguments, dataset)
        checked = sums(env, arguments, dataset).key_by(0).process(Check())
        checked.sink_to(DiscardingSink())
        result = env.execute("check")
        names = ("outputs", "checksum")
        found = tuple(result.get_accumulator_result(name) for name in names)
    return report(
        dataset,
        system="Millstream",
        version=__version__,
        mode=arguments.mode,
        workload="rolling-sum",
        startup=startup,
        job=job,
        found=found,
        notes=f"source {arguments.source}, {arguments.epochs} epochs",
    )


if __name__ == "__main__":
    sys.exit(main())
