"""What it costs to read files: a tumbling sum over CSV and Parquet, in CPU seconds of the whole tree.

    python benchmarks/file_read.py --records 2000000 10000000 [--old CHECKOUT]

Each system runs once with each number of records, in a process of its own. The slope is what a record
costs once everything has started: the difference of two runs, divided by that of their records. Start-up
is what is left of the smaller run. The systems:

workers   the workers read the files
spark     Spark's reader does (millstream.files.reader)
old       another checkout of Millstream, if one is given
native    Spark's own aggregation, without Python
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
KEYS = 1_000
FILES = 16


def job(arguments: argparse.Namespace) -> int:
    """One run of Millstream, the sums checked as they come."""
    sys.path.insert(0, str(HERE / "jobs"))
    import common
    import windows

    from contract import report, stopwatch
    from data import TUMBLING_MS, from_arguments
    from millstream import __version__
    from millstream.common import Configuration
    from millstream.datastream.connectors.print import DiscardingSink

    dataset = from_arguments(arguments)
    parquet = arguments.source == "parquet"
    with stopwatch() as startup:
        env = common.environment(arguments, dataset)
    if arguments.reader == "spark":
        env.configure(Configuration.from_dict({"millstream.files.reader": "spark"}))
    folder = dataset.parquet if parquet else dataset.csv
    rows = common.timed_rows(env, folder, "records", parquet=parquet)
    sums = windows.results(rows, "tumbling").process(windows.Check(TUMBLING_MS))
    sums.sink_to(DiscardingSink())
    with stopwatch() as timed:
        result = env.execute("file read")
    return report(
        dataset,
        system="Millstream",
        version=__version__,
        mode=arguments.mode,
        workload="tumbling",
        seconds=timed.seconds,
        outputs=result.get_accumulator_result("outputs"),
        checksum=result.get_accumulator_result("checksum"),
        notes=f"source {arguments.source}",
        startup_seconds=startup.seconds,
    )


def measured(line: list[str], source: Path) -> tuple[float, float]:
    """The CPU seconds of a run, and the seconds of its job."""
    from process_tree import ProcessTree

    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "output"
        environment = {**os.environ, "TMPDIR": folder, "PYTHONPATH": str(source)}
        with output.open("w") as stdout:
            process = subprocess.Popen(
                [sys.executable, *line], stdout=stdout, stderr=subprocess.DEVNULL, env=environment
            )
            tree = ProcessTree(process)
            try:
                process.wait()
            finally:
                tree.stop()
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(line)} failed with {process.returncode}")
        report = json.loads(output.read_text().strip().splitlines()[-1])
    return tree.cpu_seconds, report["seconds"]


def systems(arguments: argparse.Namespace) -> dict[str, tuple[list[str], Path]]:
    """The command line of each system, and the sources it runs on."""
    own = HERE.parent / "src"
    here = str(HERE / "file_read.py")
    found = {}
    for source in arguments.sources:
        base = [here, "--job", "--source", source]
        found[f"workers, {source}"] = [*base, "--reader", "auto"], own
        found[f"spark, {source}"] = [*base, "--reader", "spark"], own
        if arguments.old is not None:
            found[f"old, {source}"] = base, arguments.old.resolve() / "src"
    native = str(HERE / "baselines" / "pyspark_windows.py")
    found["native, csv"] = [native, "--workload", "tumbling"], own
    chosen = arguments.only
    return {name: line for name, line in found.items() if not chosen or name in chosen}


def compare(arguments: argparse.Namespace) -> int:
    from data import ensure

    small, large = arguments.records
    rows = [
        f"| system | {small:,} CPU s | {large:,} CPU s | us a record | start-up CPU s | wall s |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for records in (small, large):
        ensure(records, KEYS, FILES, cache=arguments.cache).prepare("tumbling")
    for name, (line, source) in systems(arguments).items():
        found = []
        for records in (small, large):
            options = ["--records", str(records), "--keys", str(KEYS), "--files", str(FILES)]
            found.append(measured([*line, *options, "--cache", str(arguments.cache)], source))
            print(f"{name}: {records:,} records, {found[-1][0]:.1f} CPU s", file=sys.stderr)
        slope = (found[1][0] - found[0][0]) / (large - small) * 1e6
        start = found[0][0] - slope * small / 1e6
        rows.append(
            f"| {name} | {found[0][0]:.1f} | {found[1][0]:.1f} | {slope:.2f} | {start:.1f} | "
            f"{found[1][1]:.1f} |"
        )
    print("\n".join(rows))
    return 0


def main() -> int:
    sys.path.insert(0, str(HERE))
    from contract import parser
    from data import DEFAULT_CACHE

    if "--job" in sys.argv:
        sys.path.insert(0, str(HERE / "jobs"))
        import common

        options = parser(__doc__)
        common.add_arguments(options)
        options.add_argument("--job", action="store_true")
        options.add_argument("--reader", choices=("auto", "spark"), default="auto")
        return job(options.parse_args())
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--records", type=int, nargs=2, default=(2_000_000, 10_000_000))
    options.add_argument(
        "--sources", nargs="+", choices=("csv", "parquet"), default=("csv", "parquet")
    )
    options.add_argument("--old", type=Path, help="another checkout of Millstream")
    options.add_argument("--only", nargs="+", metavar="SYSTEM")
    options.add_argument("--cache", type=Path, default=DEFAULT_CACHE)
    return compare(options.parse_args())


if __name__ == "__main__":
    sys.exit(main())
