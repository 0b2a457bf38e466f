"""What the Millstream benchmarks share: the environment, the source, the counting function."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from contract import PARALLELISM
from data import Dataset
from millstream.common import Configuration, JobExecutionResult, Types, WatermarkStrategy
from millstream.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from millstream.datastream.connectors.file_system import FileSource
from millstream.spark.session.session import get_session

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
SCHEMA = "key STRING, value BIGINT, ts BIGINT"


def environment(arguments: argparse.Namespace, dataset: Dataset) -> StreamExecutionEnvironment:
    configuration = Configuration()
    files = -(-dataset.files // arguments.epochs)
    configuration.set_string("millstream.epoch.max-files", str(files))
    # As in the other systems' runs, starting the JVM and the session does not count as job time.
    spark = get_session(None, PARALLELISM, {})
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark)
    env.set_parallelism(PARALLELISM)
    env.set_runtime_mode(RuntimeExecutionMode[arguments.mode.upper()])
    return env


def add_arguments(options: argparse.ArgumentParser) -> None:
    options.add_argument("--mode", choices=("streaming", "batch"), default="streaming")
    options.add_argument("--epochs", type=int, default=2)
    options.add_argument("--source", choices=("parquet", "csv"), default="csv")


def parse(line: str) -> tuple[str, int]:
    key, value, _ = line.split(",")
    return key, int(value)


def records(
    env: StreamExecutionEnvironment, arguments: argparse.Namespace, dataset: Dataset
) -> DataStream:
    """(key, value) pairs, from text lines split in Python as in PyFlink's runs, or from Parquet."""
    if arguments.source == "csv":
        return env.read_text_file(str(dataset.csv)).map(parse)
    source = FileSource.parquet(str(dataset.parquet))
    rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "parquet")
    return rows.map(lambda row: (row[0], row[1]))


def counters(result: JobExecutionResult) -> tuple[int, int]:
    """The number of outputs and their checksum, which the last function of a job has added up."""
    outputs = result.get_accumulator_result("outputs")
    return outputs, result.get_accumulator_result("checksum")


def timed_rows(
    env: StreamExecutionEnvironment, folder: Path, name: str, *, parquet: bool = False
) -> DataStream:
    """Rows (key, value, ts) with their event time; each file is in order, so the bound is all one."""
    path = str(folder)
    source = FileSource.parquet if parquet else FileSource.csv
    options = {} if parquet else {"header": False}
    strategy = WatermarkStrategy.for_bounded_out_of_orderness("1 s").with_timestamp_assigner(
        lambda row, _: row[2]
    )
    return env.from_source(source(path, schema=SCHEMA, **options), strategy, name)
