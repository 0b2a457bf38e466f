"""Makes the golden savepoints of the format that this version writes.

    python -m tests.migration.make

Run it once when the format changes, and commit the folder; those of earlier formats stay as they are.
``written.txt`` is what the job had written before. A case that is new for the format this version writes
gets its file; files that are there stay.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from millstream.checkpoint.savepoints import FORMAT
from millstream.datastream import StreamExecutionEnvironment
from tests.support.migration import golden_tables
from tests.support.migration.golden import ALL_CASES, file_name, make
from tests.support.spark.savepoint_programs import everything, lines

HERE = Path(__file__).parent


def main() -> None:
    """Make what is missing: a golden savepoint is never changed."""
    make_layouts()
    make_tables()
    make_job()


def make_layouts() -> None:
    """Run the job of each case half, in memory, and keep its savepoint."""
    folder = HERE / f"layouts-v{FORMAT}"
    folder.mkdir(exist_ok=True)
    for case in ALL_CASES.values():
        target = folder / file_name(case)
        if not target.exists():
            with tempfile.TemporaryDirectory() as name:
                make(case, target, Path(name))
            print(target)


def make_tables() -> None:
    """Run the SQL of each case half, in memory, and keep its savepoint."""
    folder = HERE / f"tables-v{FORMAT}"
    folder.mkdir(exist_ok=True)
    for name in golden_tables.CASES:
        target = folder / f"{name.replace(' ', '-')}.zip"
        if not target.exists():
            golden_tables.make(name, target)
            print(target)


def make_job() -> None:
    """Run the program of the savepoint tests half, on Spark, and keep its savepoint."""
    target = HERE / f"savepoint-v{FORMAT}"
    if target.exists():
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2).set_runtime_mode("STREAMING")
        env.set_checkpoint_directory(str(folder / "checkpoint"))
        client = everything(env, folder / "out").execute_async("golden")
        while client.metrics().epoch < 5:
            time.sleep(0.05)  # noqa: TID251
        path = client.stop_with_savepoint(str(folder / "saved"))
        shutil.copytree(path, target)
        (target / "written.txt").write_text("\n".join(lines(folder / "out")) + "\n")
    print(target)


if __name__ == "__main__":
    main()
