"""Makes local jobs start faster.

    python -m millstream.warm_up            make an archive of Spark's classes for this Java
    python -m millstream.warm_up --remove   remove it

Sessions that Millstream starts use the archive from then on. Make it again after an update of
Java or PySpark: an archive that does not fit is not used.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

from millstream.common import Configuration, WatermarkStrategy
from millstream.common.errors import MillstreamError
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors.file_system import FileSink, FileSource
from millstream.datastream.window import TumblingEventTimeWindows
from millstream.spark.session.class_archive import end_java, make_archive, remove_archives
from millstream.spark.session.session import require_java
from millstream.spark.session.spark_home import quick_home

_JOBS = "import sys; from millstream.warm_up import run_jobs; run_jobs(sys.argv[1])"
_SCHEMA = "key STRING, value BIGINT, ts BIGINT"


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the archive, or remove it; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m millstream.warm_up",
        description="Make an archive of Spark's classes, with which local jobs start faster.",
    )
    parser.add_argument("--remove", action="store_true", help="remove the archive")
    try:
        if parser.parse_args(arguments).remove:
            removed = remove_archives()
            print("\n".join(f"Removed {path}" for path in removed) or "There is no archive.")
        else:
            # An archive fits one path of jars: that of the home which sessions have.
            with quick_home({}):
                make_archive(require_java(), [sys.executable, "-c", _JOBS])
    except MillstreamError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def run_jobs(folder: str) -> None:
    """Run jobs that load the classes that most jobs need, and end the JVM."""
    work = Path(folder)
    # What the jobs print would hide what Java says if there is no archive in the end.
    with redirect_stdout(io.StringIO()):
        # One job shows Java all of streaming; a batch takes less time for the rest.
        _count_words(_environment("streaming"), work / "text")
        _count_words(_environment("batch"), work / "text")
        _sum_windows(_environment("batch"), work / "csv", work / "sums")
        _read_parquet(_environment("batch"), work / "sums")
    end_java(work)


def _environment(mode: str) -> StreamExecutionEnvironment:
    configuration = Configuration.from_dict({"millstream.progress": "false"})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    return env.set_parallelism(2).set_runtime_mode(mode.upper())


def _count_words(env: StreamExecutionEnvironment, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "hamlet.txt").write_text("to be or not to be\nthat is the question\n")
    words = env.read_text_file(str(folder)).flat_map(lambda line: line.split())
    words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).sum(1).print()
    env.execute("count words")


def _sum_windows(env: StreamExecutionEnvironment, folder: Path, sums: Path) -> None:
    folder.mkdir()
    (folder / "values.csv").write_text("".join(f"{n % 3},{n},{n * 100}\n" for n in range(100)))
    times = WatermarkStrategy.for_bounded_out_of_orderness("1 s")
    times = times.with_timestamp_assigner(lambda row, _: row[2])
    source = FileSource.csv(str(folder), schema=_SCHEMA, header=False)
    keyed = env.from_source(source, times, "values").key_by(lambda row: row[0])
    windows = keyed.window(TumblingEventTimeWindows.of("5 s"))
    windows.sum(1).sink_to(FileSink.parquet(str(sums)))
    env.execute("sum windows")


def _read_parquet(env: StreamExecutionEnvironment, folder: Path) -> None:
    source = FileSource.parquet(str(folder), schema=_SCHEMA)
    rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "sums")
    rows.map(lambda row: row[1]).print()
    env.execute("read parquet")


if __name__ == "__main__":
    sys.exit(main())
