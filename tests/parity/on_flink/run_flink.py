"""Runs all programs and queries on Flink and writes their results; for PyFlink's own environment.

    python run_flink.py results.json [names...]

Functions run in Flink's thread mode, where the JVM keeps state and timers. In process mode PyFlink 2.3
loses timers that timers set for a time that has passed already. What thread mode cannot do, such as
asynchronous functions, runs in process mode; so do queries and Java programs, where Python only
collects.

Flink makes watermarks in wall-clock time, every 200 ms, so what is late would depend on the speed of
the machine. Here watermarks come after every record: the stream takes a way through a table, whose
watermark expression is evaluated for each record and, with an interval of zero, sent on at once. Two
things follow. The operator behind it sends no watermark at or below zero, so the data begins later.
And Python functions must be called record by record, bundles of one, as a watermark waits for the
end of a bundle.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDERS = [str(HERE), str(HERE.parents[2])]
sys.path[:0] = FOLDERS

from java_windows import JAVA, SOURCES, Java  # noqa: E402

from tests.support.parity.catalogue import load, program_names, shown, streams_of  # noqa: E402
from tests.support.parity.sql_windows import QUERIES, TABLES  # noqa: E402

NEED_PROCESS_MODE = {
    "async_ordered",
    "async_unordered",
    "async_keeps_times",
    "broadcast_process",
    "broadcast_kept_in_the_instance",
    *QUERIES,
    *JAVA,
}
# Flink reads all of its input before it lets anything behind it begin, which a job of several
# programs on one slot would wait for for ever.
NEED_A_JOB_OF_THEIR_OWN = {"java_end_of_stream"}
SETTINGS = {
    "pipeline.auto-watermark-interval": "0 ms",
    "python.fn-execution.bundle.size": "1",
    "restart-strategy.type": "none",
    "table.local-time-zone": "UTC",
    "python.executable": sys.executable,
    "python.client.executable": sys.executable,
    # The interpreter that thread mode embeds in the JVM does not look into a virtual environment.
    "python.pythonpath": os.pathsep.join([sysconfig.get_path("purelib"), *FOLDERS]),
}
PROGRAMS_A_JOB = 12
EPOCH = datetime.datetime(1970, 1, 1)


def environment(mode: str):
    from pyflink.common import Configuration
    from pyflink.datastream import StreamExecutionEnvironment

    configuration = Configuration()
    for name, value in {**SETTINGS, "python.execution-mode": mode}.items():
        configuration.set_string(name, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    return env


def table_of(tables, env, records, out_of_orderness: int = 0):
    """A table with a watermark after every record: the largest time so far, less the bound and 1."""
    from pyflink.common import Row, Types
    from pyflink.table import Schema

    types = [Types.STRING(), Types.LONG(), Types.LONG()]
    rows = env.from_collection(
        [Row(*record) for record in records], Types.ROW_NAMED(["key", "value", "time"], types)
    )
    seconds, millis = divmod(out_of_orderness + 1, 1000)
    schema = Schema.new_builder()
    schema.column_by_expression("rowtime", "TO_TIMESTAMP_LTZ(`time`, 3)")
    schema.watermark("rowtime", f"rowtime - INTERVAL '{seconds}.{millis:03}' SECOND")
    return tables.from_data_stream(rows, schema.build())


def timed_stream(env, records, out_of_orderness: int = 0):
    """What programs get as ``timed``."""
    from pyflink.common import Types
    from pyflink.table import StreamTableEnvironment

    tables = StreamTableEnvironment.create(env)
    stream = tables.to_data_stream(table_of(tables, env, records, out_of_orderness))
    types = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
    return stream.map(lambda row: (row[0], row[1], row[2]), output_type=types)


def run(names: Sequence[str], mode: str) -> dict[str, dict[str, list[str]]]:
    """Results of programs and queries, all in one job: starting one takes longer than running it."""
    from pyflink.common import Types

    env = environment(mode)
    pair = Types.TUPLE([Types.STRING(), Types.STRING()])
    found: dict[str, dict[str, list[str]]] = {}
    ends = []
    for name in names:
        streams = streams_of(built(env, name))
        found[name] = {stream: [] for stream in streams}
        for stream, records in streams.items():
            ends.append(records.map(Labelled(f"{name}/{stream}"), output_type=pair))
    with ends[0].union(*ends[1:]).execute_and_collect() as records:
        for label, record in records:
            name, _, stream = label.partition("/")
            found[name][stream].append(record)
    return {name: {s: sorted(r) for s, r in streams.items()} for name, streams in found.items()}


def built(env, name: str):
    if name in QUERIES:
        return query(env, name)
    if name in JAVA:
        return java_program(env, name)
    return load(name)(env, lambda records, **how: timed_stream(env, records, **how))


def java_program(env, name: str):
    from flink_programs.shared import Times
    from pyflink.datastream import DataStream

    source, program = JAVA[name]
    return DataStream(program(Java(), timed_stream(env, *SOURCES[source]))).process(Times())


def query(env, name: str):
    from pyflink.table import StreamTableEnvironment

    tables = StreamTableEnvironment.create(env)
    for table, (records, out_of_orderness) in TABLES.items():
        tables.create_temporary_view(table, table_of(tables, env, records, out_of_orderness))
    return tables.to_data_stream(tables.sql_query(QUERIES[name])).map(row_with_millis)


def row_with_millis(row):
    return tuple(
        (value - EPOCH) // datetime.timedelta(milliseconds=1)
        if isinstance(value, datetime.datetime)
        else value
        for value in row
    )


class Labelled:
    """Makes (label, record as text) of a record."""

    def __init__(self, label: str) -> None:
        self.label = label

    def __call__(self, value):
        return self.label, shown(value)


def run_apart(names: Sequence[str], mode: str) -> dict[str, dict[str, list[str]]]:
    """As `run`, one job for each program: shows which one fails."""
    results = {}
    for name in names:
        try:
            results |= run([name], mode)
        except Exception as error:
            print(f"{name} fails on Flink: {error}", file=sys.stderr)
    return results


def jobs_of(names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """In which mode to run which programs together."""
    yield from (("process", [name]) for name in names if name in NEED_A_JOB_OF_THEIR_OWN)
    for mode in ("thread", "process"):
        of_mode = [
            name
            for name in names
            if name not in NEED_A_JOB_OF_THEIR_OWN
            and (name in NEED_PROCESS_MODE) == (mode == "process")
        ]
        for start in range(0, len(of_mode), PROGRAMS_A_JOB):
            yield mode, of_mode[start : start + PROGRAMS_A_JOB]


def run_all(names: Sequence[str]) -> dict[str, dict[str, list[str]]]:
    """Results by name, of all that do not fail."""
    results: dict[str, dict[str, list[str]]] = {}
    for mode, together in jobs_of(names):
        print(f"on Flink, {mode} mode: {', '.join(together)}", file=sys.stderr, flush=True)
        try:
            results |= run(together, mode)
        except Exception:
            results |= run_apart(together, mode)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    names = arguments.names or [*program_names(), *QUERIES, *JAVA]
    with tempfile.TemporaryDirectory(prefix="flink-parity-") as logs:
        os.environ["FLINK_LOG_DIR"] = logs
        # PyFlink makes a folder for each collection, and never deletes it.
        tempfile.tempdir = logs
        results = run_all(names)
    arguments.out.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", "utf-8")
    return 0 if len(results) == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
