"""The archive of classes on real JVMs: made by its command, used by sessions, harmless if broken."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.support.spark.spark_support import Finished, program_env, run_program, run_script

pytestmark = pytest.mark.spark

APP = """
from millstream.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([("a", 1), ("a", 2)]).key_by(lambda pair: pair[0]).sum(1).print()
env.execute()
"""
# What a JVM writes of a class that it has from the archive; the JDK's own archive has no "(top)".
FROM_ARCHIVE = "source: shared objects file (top)"
OF_ARCHIVES = ("[cds", "shared archive", "shared class", "VM warning", "hs_err")


def run_app(folder: Path, cache: Path) -> tuple[Finished, list[str]]:
    """Run the program, and tell which classes its JVM has loaded from where."""
    script = folder / "app.py"
    script.write_text(APP)
    log = folder / "classes.log"
    options = f"-Xlog:class+load:file={log}"
    env = program_env(MILLSTREAM_CACHE=str(cache), SPARK_SUBMIT_OPTS=options)
    return run_script(script, env=env), log.read_text().splitlines()


def test_sessions_load_their_classes_from_the_archive_or_go_on_without_it(tmp_path: Path) -> None:
    cache = tmp_path / "my cache"
    command = (sys.executable, "-m", "millstream.warm_up")
    done = run_program(*command, env=program_env(MILLSTREAM_CACHE=str(cache)))
    assert done.code == 0, done.err
    (archive,) = cache.glob("*.jsa")
    assert str(archive) in "\n".join(done.out)

    done, classes = run_app(tmp_path, cache)
    assert (done.code, done.out) == (0, ["('a', 1)", "('a', 3)"]), done.err
    assert not [word for word in OF_ARCHIVES if word in done.err], done.err
    spark = [line for line in classes if " org.apache.spark." in line and "Lambda" not in line]
    shared = [line for line in spark if FROM_ARCHIVE in line]
    assert len(shared) > 0.9 * len(spark) > 1000

    size = archive.stat().st_size
    archive.chmod(0o600)
    archive.write_bytes(b"garbage" * 1000)
    os.truncate(archive, size)
    done, classes = run_app(tmp_path, cache)
    assert (done.code, done.out) == (0, ["('a', 1)", "('a', 3)"]), done.err
    assert not [word for word in OF_ARCHIVES if word in done.err], done.err
    assert not [line for line in classes if FROM_ARCHIVE in line]
