"""How much state windows of 10 s hold while an hour of event time goes by.

    python benchmarks/window_state.py [--cache FOLDER] [--minutes N]

Writes a section for RESULTS.md to .bench/window_state.md; `run.py` appends it. An epoch is a minute of
event time; 1,000 keys have a record a second each, which may be up to 30 s late, so that three or
four windows are open at a time. What the state store holds after an epoch is read from the job's
checkpoint, after the job.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from contract import PARALLELISM
from data import DEFAULT_CACHE, FIRST_TS, open_cache
from millstream.common import Types, WatermarkStrategy
from millstream.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from millstream.datastream.connectors.data_generator import (
    DataGeneratorSource,
    RateLimiterStrategy,
)
from millstream.datastream.connectors.print import DiscardingSink
from millstream.datastream.functions.windowed import ProcessWindowFunction
from millstream.datastream.window import TumblingEventTimeWindows
from millstream.spark.session.session import get_session

KEYS = 1_000
PER_MINUTE = 60 * KEYS
RECORD = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
# The state of the first minutes is not that of a stream on its way.
SETTLED_MINUTE = 5
SHOWN_MINUTES = (5, 15, 30, 45, 60)
# Spark keeps the state of its last 100 epochs.
MOST_MINUTES = 90


@dataclass(frozen=True)
class Held:
    """What the state store holds after an epoch."""

    entries: int
    size: int


def record(number: int) -> tuple[str, int, int]:
    return f"k{number % KEYS:07d}", number % 1000, FIRST_TS + number


class Total(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, sum(element[1] for element in elements), context.window().start


def sums(windows) -> DataStream:
    return windows.sum(1)


def processed(windows) -> DataStream:
    return windows.process(Total(), output_type=RECORD)


PROGRAMS = {"sum": sums, "ProcessWindowFunction": processed}


def run(spark, program, minutes: int, folder: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
    env.set_parallelism(PARALLELISM).set_runtime_mode(RuntimeExecutionMode.STREAMING)
    env.set_checkpoint_directory(str(folder))
    source = DataGeneratorSource(
        record, minutes * PER_MINUTE, RateLimiterStrategy.per_checkpoint(PER_MINUTE), RECORD
    )
    strategy = WatermarkStrategy.for_bounded_out_of_orderness("30 s").with_timestamp_assigner(
        lambda row, _: row[2]
    )
    records = env.from_source(source, strategy, "records")
    program(records.key_by(0).window(TumblingEventTimeWindows.of("10 s"))).sink_to(DiscardingSink())
    env.execute("window state")


def state_after(spark, query: Path, epoch: int) -> Held:
    from pyspark.sql import functions as F

    metadata = spark.read.format("state-metadata").load(str(query)).first()
    variable = json.loads(metadata["operatorProperties"])["stateVariables"][0]["stateName"]
    state = (
        spark.read.format("statestore")
        .option("batchId", epoch)
        .option("stateVarName", variable)
        .load(str(query))
    )
    sizes = state.select(F.length("user_map_value.page").alias("size"))
    found = sizes.agg(F.count("size"), F.sum("size")).first()
    return Held(found[0], found[1] or 0)


def measure(spark, name: str, minutes: int) -> list[Held]:
    """What is held after each minute, and at the end."""
    with tempfile.TemporaryDirectory(prefix="window-state-", ignore_cleanup_errors=True) as folder:
        run(spark, PROGRAMS[name], minutes, Path(folder))
        query = next(Path(folder).glob("*/query-0"))
        return [state_after(spark, query, epoch) for epoch in range(minutes + 1)]


def table(found: dict[str, list[Held]], minutes: int) -> list[str]:
    header = ["Event time"]
    for name in found:
        header += [f"{name}: entries", f"{name}: KiB"]
    rows = [header, ["---"] + ["---:"] * (len(header) - 1)]
    for minute in [m for m in SHOWN_MINUTES if m <= minutes] + [minutes + 1]:
        cells = [f"{minute} min" if minute <= minutes else "input ended"]
        for held in found.values():
            cells += [f"{held[minute - 1].entries:,}", f"{held[minute - 1].size / 1024:,.1f}"]
        rows.append(cells)
    return ["| " + " | ".join(row) + " |" for row in rows]


def summary(name: str, held: list[Held], minutes: int) -> str:
    """The least and the most that was held from the time on when windows come and go."""
    settled = held[SETTLED_MINUTE - 1 : minutes]
    entries = sorted(h.entries for h in settled)
    sizes = sorted(h.size / 1024 for h in settled)
    return (
        f"- {name}, minutes {SETTLED_MINUTE} to {minutes}: {entries[0]:,} to {entries[-1]:,} "
        f"entries, {sizes[0]:,.1f} to {sizes[-1]:,.1f} KiB, the most {sizes[-1] / sizes[0]:.2f} times "
        "the least."
    )


def section(found: dict[str, list[Held]], minutes: int) -> str:
    lines = [
        "",
        "## State of windows",
        "",
        f"Tumbling windows of 10 s over {minutes} minutes of event time, {KEYS:,} keys, "
        f"{minutes * PER_MINUTE:,} records, an epoch a minute. Entries are those of Spark's state "
        "store, each a page or chunk of many keys, or a header; sizes are those of their values.",
        "",
        *table(found, minutes),
        "",
        *[summary(name, held, minutes) for name, held in found.items()],
        f"- Command: `python benchmarks/window_state.py --minutes {minutes}`",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="cache folder")
    parser.add_argument("--minutes", type=int, default=60, help="of event time")
    arguments = parser.parse_args()
    if not SETTLED_MINUTE <= arguments.minutes <= MOST_MINUTES:
        parser.error(f"it takes {SETTLED_MINUTE} to {MOST_MINUTES} minutes")
    spark = get_session(None, PARALLELISM, {})
    found = {name: measure(spark, name, arguments.minutes) for name in PROGRAMS}
    text = section(found, arguments.minutes)
    (open_cache(arguments.cache) / "window_state.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
