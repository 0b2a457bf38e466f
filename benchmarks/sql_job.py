"""One INSERT of SQL, timed, in Millstream or in Flink: what `tables.py` and `nexmark/run.py` start.

    python benchmarks/sql_job.py SYSTEM FILE [--backend hashmap|rocksdb]

FILE is JSON: ``statements`` that prepare tables, the timed ``insert``, and ``options`` of the session.
The last line of the output is JSON: seconds, processor seconds of all processes, and bytes of state: in
Millstream of its pages at the end, in Flink of the largest checkpoint that was completed.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from contextlib import nullcontext, suppress
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "baselines"), str(HERE / "jobs")]

from contract import PARALLELISM, stopwatch  # noqa: E402


def millstream_tables(options: dict[str, str]):
    from millstream.datastream import StreamExecutionEnvironment
    from millstream.spark.session.session import get_session
    from millstream.table.table_environment import StreamTableEnvironment

    spark = get_session(None, PARALLELISM, {})
    env = StreamExecutionEnvironment.get_execution_environment(None, spark)
    env.set_parallelism(PARALLELISM)
    tables = StreamTableEnvironment.create(env)
    for name, value in options.items():
        tables.get_config().set(name, value)
    return tables


def flink_tables(options: dict[str, str], folder: Path, backend: str):
    import flink_common as flink
    from pyflink.common import Configuration
    from pyflink.table import EnvironmentSettings, TableEnvironment

    configuration = Configuration()
    for name, value in (flink.settings(folder, backend) | options).items():
        configuration.set_string(name, value)
    settings = EnvironmentSettings.new_instance().in_streaming_mode()
    return TableEnvironment.create(settings.with_configuration(configuration).build())


def workspace(system: str):
    if system == "millstream":
        return nullcontext(Path())
    import flink_common as flink

    return flink.workspace()


def state_of_millstream(result) -> int:
    """The bytes of the state of all operators."""
    operators = result.get_job_client().metrics().operators.values()
    return sum(each.state.bytes for each in operators if each.state is not None)


class Checkpoints(threading.Thread):
    """Looks at the checkpoints of a Flink job while it runs: each is removed by the one after it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.folder = folder
        self.largest = 0
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.1):
            for mark in self.folder.glob("*/chk-*/_metadata"):
                with suppress(FileNotFoundError):
                    sizes = [file.stat().st_size for file in mark.parent.iterdir()]
                    self.largest = max(self.largest, sum(sizes))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", choices=("millstream", "flink"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--backend", choices=("hashmap", "rocksdb"), default="rocksdb")
    arguments = parser.parse_args()
    job = json.loads(arguments.file.read_text())
    options = {"table.local-time-zone": "UTC", **job.get("options", {})}
    with workspace(arguments.system) as folder:
        with stopwatch() as startup:
            if arguments.system == "millstream":
                tables = millstream_tables(options)
            else:
                tables = flink_tables(options, folder, arguments.backend)
            for statement in job["statements"]:
                tables.execute_sql(statement)
        checkpoints = Checkpoints(folder / "checkpoints")
        if arguments.system == "flink":
            checkpoints.start()
        with stopwatch() as watch:
            result = tables.execute_sql(job["insert"])
            result.wait()
        checkpoints.ended.set()
    own = arguments.system == "millstream"
    state = state_of_millstream(result) if own else checkpoints.largest
    found = {"seconds": watch.seconds, "cpu": watch.cpu, "startup_cpu": startup.cpu, "state": state}
    print(json.dumps({name: round(value, 3) for name, value in found.items()}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
