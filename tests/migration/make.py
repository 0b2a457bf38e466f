"""Makes the golden savepoint of the format that this version writes.

    python tests/migration/make.py

Run it once when the format changes, and commit the folder; those of earlier formats stay as they are.
``written.txt`` is what the job had written before.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1] / "src"), str(HERE.parent / "spark")]

from savepoint_programs import everything, lines  # noqa: E402

from millstream.checkpoint.savepoints import FORMAT  # noqa: E402
from millstream.datastream import StreamExecutionEnvironment  # noqa: E402


def main() -> None:
    """Run the program of the savepoint tests half, and keep its savepoint."""
    target = HERE / f"savepoint-v{FORMAT}"
    if target.exists():
        raise SystemExit(f"{target} exists: a golden savepoint is never changed")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2).set_runtime_mode("STREAMING")
        env.set_checkpoint_directory(str(folder / "checkpoint"))
        client = everything(env, folder / "out").execute_async("golden")
        while client.metrics()["epoch"] < 5:
            time.sleep(0.05)  # noqa: TID251
        path = client.stop_with_savepoint(str(folder / "saved"))
        shutil.copytree(path, target)
        (target / "written.txt").write_text("\n".join(lines(folder / "out")) + "\n")
    print(target)


if __name__ == "__main__":
    main()
