"""What the Flink baselines share: configuration, source, sink and the counters of a job.

Nothing here may be referred to from a user function: Flink's Python workers do not have this
module on their path, and only what lives in the main script travels to them by value.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from contract import PARALLELISM, report, stopwatch
from data import Dataset, from_arguments

WORKER_MODE_VARIABLE = "_python_worker_execution_mode"
CHECKPOINT_INTERVAL = "10 s"
# A local Flink cluster has 128 MB of managed memory unless told; RocksDB lives in it, and so does
# the budget of the Python workers.
MANAGED_MEMORY = "1g"

# Measured: thread mode pays for each field of a row it takes over from the JVM and is quicker with
# plain lines split in Python; process mode is quicker with rows the JVM has parsed.
FASTEST_SOURCE = {"thread": "text", "process": "table"}


def add_flink_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mode", choices=("thread", "process"), default="process")
    parser.add_argument("--source", choices=tuple(FASTEST_SOURCE.values()))
    parser.add_argument("--bundle-size", type=int, help="python.fn-execution.bundle.size")
    parser.add_argument("--state-cache", type=int, help="python.state.cache-size")


@contextmanager
def workspace() -> Iterator[Path]:
    """A folder for checkpoints, logs and counters that goes when the run ends."""
    with tempfile.TemporaryDirectory(prefix="flink-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for part in ("checkpoints", "log", "counters", "tmp"):
            (folder / part).mkdir()
        os.environ["FLINK_LOG_DIR"] = str(folder / "log")
        # PyFlink makes a folder for each collection, and never deletes it.
        tempfile.tempdir = str(folder / "tmp")
        # Without this a local job runs its Python functions as threads of this very process, all
        # behind one interpreter lock, instead of in worker processes as a cluster would.
        os.environ[WORKER_MODE_VARIABLE] = "process"
        yield folder


def settings(folder: Path, backend: str) -> dict[str, str]:
    return {
        "parallelism.default": str(PARALLELISM),
        "taskmanager.numberOfTaskSlots": str(PARALLELISM),
        "taskmanager.memory.managed.size": MANAGED_MEMORY,
        "state.backend.type": backend,
        "io.tmp.dirs": str(folder / "tmp"),
        "execution.checkpointing.interval": CHECKPOINT_INTERVAL,
        "execution.checkpointing.incremental": "true",
        "execution.checkpointing.dir": (folder / "checkpoints").as_uri(),
        # A job that fails must fail, not be restarted forever.
        "restart-strategy.type": "none",
        "python.executable": sys.executable,
        "python.client.executable": sys.executable,
        # The interpreter that thread mode embeds in the JVM does not look into a virtual
        # environment by itself.
        "python.pythonpath": sysconfig.get_path("purelib"),
    }


def python_settings(arguments: argparse.Namespace) -> dict[str, str]:
    chosen = {
        "python.execution-mode": arguments.mode,
        "python.fn-execution.bundle.size": arguments.bundle_size,
        "python.state.cache-size": arguments.state_cache,
    }
    return {name: str(value) for name, value in chosen.items() if value is not None}


def environment(options: dict[str, str]):
    from pyflink.common import Configuration
    from pyflink.datastream import StreamExecutionEnvironment

    configuration = Configuration()
    for name, value in options.items():
        configuration.set_string(name, value)
    return StreamExecutionEnvironment.get_execution_environment(configuration)


def csv_table(name: str, dataset: Dataset) -> str:
    return f"""
        CREATE TEMPORARY TABLE {name} (`key` STRING, `value` BIGINT, `ts` BIGINT)
        WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = '{dataset.csv.as_uri()}')
    """


def timed_table(name: str, dataset: Dataset) -> str:
    """The records with event time. A reader has one of the lanes, which is in order."""
    return f"""
        CREATE TEMPORARY TABLE {name} (
            `key` STRING, `value` BIGINT, `ts` BIGINT,
            `time` AS TO_TIMESTAMP_LTZ(`ts`, 3),
            WATERMARK FOR `time` AS `time` - INTERVAL '1' SECOND
        ) WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = '{dataset.lanes.as_uri()}')
    """


def source(env, dataset: Dataset, arguments: argparse.Namespace, parse: Callable, parsed):
    """A stream of (key, value); `parse` makes one, of type `parsed`, from a line of text."""
    if chosen_source(arguments) == "table":
        return table_source(env, dataset)
    return text_source(env, dataset.csv).map(parse, parsed)


def chosen_source(arguments: argparse.Namespace) -> str:
    return arguments.source or FASTEST_SOURCE[arguments.mode]


def table_source(env, dataset: Dataset):
    """The CSV parts parsed in the JVM; each element is a Row of (key, value)."""
    from pyflink.table import StreamTableEnvironment

    tables = StreamTableEnvironment.create(env)
    tables.execute_sql(csv_table("records", dataset))
    return tables.to_data_stream(tables.sql_query("SELECT `key`, `value` FROM records"))


def timed_table_source(env, dataset: Dataset):
    """The lanes parsed and given event time in the JVM; each element is a Row (key, value, time)."""
    from pyflink.table import StreamTableEnvironment

    tables = StreamTableEnvironment.create(env)
    tables.execute_sql(timed_table("records", dataset))
    return tables.to_data_stream(tables.sql_query("SELECT `key`, `value`, `time` FROM records"))


def text_source(env, folder: Path):
    """CSV files as lines, to be split in Python."""
    from pyflink.common import WatermarkStrategy
    from pyflink.datastream.connectors.file_system import FileSource, StreamFormat

    source = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), folder.as_uri()
    ).build()
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")


def discard(stream) -> None:
    from pyflink.datastream.connectors.base import Sink
    from pyflink.java_gateway import get_gateway

    sinks = get_gateway().jvm.org.apache.flink.streaming.api.functions.sink.v2
    stream.sink_to(Sink(sinks.DiscardingSink()))


def read_counters(folder: Path) -> tuple[int, int]:
    """Add up what the instances of the last function left behind when they closed."""
    parts = [json.loads(path.read_text()) for path in (folder / "counters").glob("*.json")]
    return sum(part["outputs"] for part in parts), sum(part["checksum"] for part in parts)


def notes(arguments: argparse.Namespace, **more: str) -> str:
    said = {
        "source": f"csv via {chosen_source(arguments)}",
        "parallelism": PARALLELISM,
        "checkpoints": CHECKPOINT_INTERVAL,
        "bundle": arguments.bundle_size or "default",
        "state cache": arguments.state_cache or "default",
        **more,
    }
    return ", ".join(f"{name} {value}" for name, value in said.items())


def measure(arguments: argparse.Namespace, build: Callable, *, workload: str, **more: str) -> int:
    """Run the PyFlink job that ``build(env, dataset, arguments, counters)`` makes, and report it.

    A job without state has no choice of a backend, and none is noted.
    """
    from pyflink.version import __version__

    dataset = from_arguments(arguments)
    with workspace() as folder:
        backend = getattr(arguments, "backend", None)
        chosen = settings(folder, backend or "hashmap") | python_settings(arguments)
        with stopwatch() as startup:
            env = environment(chosen)
        build(env, dataset, arguments, folder / "counters")
        with stopwatch() as job:
            env.execute(f"pyflink {workload}")
        found = read_counters(folder)
    return report(
        dataset,
        system="PyFlink",
        version=__version__,
        mode=arguments.mode,
        workload=workload,
        startup=startup,
        job=job,
        found=found,
        notes=notes(arguments, **({"backend": backend} if backend else {}), **more),
    )
