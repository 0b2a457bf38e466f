"""The Spark session a job runs on: ours, made with the right settings, or the user's, as it is."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from millstream.common.errors import EnvironmentSetupError
from millstream.spark.session import class_archive
from millstream.spark.session.quiet import quiet_start, silence_py4j
from millstream.spark.session.spark_home import quick_home
from millstream.spark.tasks.failures import readable, workers_without
from millstream.spark.tasks.memory import ARENA

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

log = logging.getLogger("millstream")

RUNTIME_SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # Spark keeps one pool of Python workers for each value of this: one pool serves all our stages.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    # A worker that crashes says where: its stack, or what a function has left that ended the process.
    "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.execution.arrow.transformWithStateInPySpark.maxStateRecordsPerBatch": "256",
}
"""Settings the runtime owns; they can be set on a running session."""

START_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.unix.domain.socket.enabled": "true",
    # How long a Python worker goes on when its task is to end: nobody needs what it computes.
    "spark.python.task.killTimeout": "100ms",
    # How long Spark waits for the first word of a Python process that has started.
    "spark.python.authenticate.socketTimeout": "120s",
    # What Arrow's allocator only sets aside does not count against a worker's limit.
    f"spark.executorEnv.{ARENA}": "0",
    "spark.driver.memory": "4g",
    "spark.sql.streaming.metricsEnabled": "false",
    # What Spark remembers of past epochs for its web pages, which are off.
    "spark.ui.retainedJobs": "100",
    "spark.ui.retainedStages": "100",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "100",
}
"""Settings that only a new session can take."""

LOOPBACK = "127.0.0.1"
LOCAL_SETTINGS = {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
"""Settings of a session whose processes are all on this machine: nobody else has to reach it."""

_HERE = Path(__file__).parent
# What plans a query runs a few times, what moves records runs millions of times: only the latter is
# worth the optimising compiler. Compiling everything cost 10 s of processor time in a job's first
# half minute, compiling nothing doubled what a record costs in the JVM.
_JIT = (
    "-XX:+UnlockDiagnosticVMOptions -XX:-DisplayVMOutput "
    f"-XX:CompilerDirectivesFile={_HERE / 'hot_paths.json'}"
)

# Spark sorts in pages of 4 MB. With G1's regions of 2 MB such a page counts as old at once, so each
# epoch began a marking of the whole heap, and the heap grew in steps without need.
_HEAP = "-XX:G1HeapRegionSize=16m"


def get_session(
    given: SparkSession | None,
    parallelism: int,
    configuration: Mapping[str, str],
    *,
    spare_slots: int = 0,
) -> SparkSession:
    """The session to run on, with the runtime's settings.

    ``spare_slots``: how many tasks a new local session runs at once beside those of the job.
    """
    silence_py4j()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    extra = {key: value for key, value in configuration.items() if key.startswith("spark.")}
    spark = _beside(given) if given is not None else _active_or_new(parallelism, spare_slots, extra)
    _require_millstream(spark)
    for key, value in {**RUNTIME_SETTINGS, **extra}.items():
        _set(spark, key, value)
    return spark


def _active_or_new(parallelism: int, spare_slots: int, extra: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return _beside(active)
    java = require_java()
    _let_workers_import_the_program()
    builder = SparkSession.builder.appName("millstream")
    if "spark.master" not in extra and not _under_spark_submit():
        tasks = max(parallelism, 1)
        builder = builder.master(f"local[{tasks + spare_slots}]")
        builder = builder.config("spark.default.parallelism", str(tasks))
        # Elsewhere a worker may not find Millstream before its first task has brought it along.
        builder = builder.config(
            "spark.python.daemon.module", "millstream.spark.session.worker_daemon"
        )
    local = _is_local(extra)
    with ExitStack() as around:
        if local:
            around.enter_context(quick_home(extra))
            around.enter_context(_listening_here())
            around.enter_context(quiet_start())
        driver = {"spark.driver.extraJavaOptions": _java_options(java, with_archive=local)}
        own = {**START_SETTINGS, **(LOCAL_SETTINGS if local else {}), **driver, **RUNTIME_SETTINGS}
        for key, value in {**own, **extra}.items():
            builder = builder.config(key, value)
        spark: SparkSession = builder.getOrCreate()
    _fit.add(spark.sparkContext.applicationId)
    Thread(target=_start_workers, args=(spark, max(parallelism, 1)), daemon=True).start()
    return spark


@contextmanager
def _listening_here() -> Iterator[None]:
    """Let a JVM that starts now serve its web pages to this machine only, unless the user says where."""
    if "SPARK_LOCAL_IP" in os.environ:
        yield
        return
    os.environ["SPARK_LOCAL_IP"] = LOOPBACK
    try:
        yield
    finally:
        del os.environ["SPARK_LOCAL_IP"]


_fit: set[str] = set()
"""The Spark applications whose workers are known to have Millstream."""


def _require_millstream(spark: SparkSession) -> None:
    """Fail if the workers of a session that we did not start cannot import Millstream."""
    application = spark.sparkContext.applicationId
    if application in _fit:
        return

    # Defined here, it is pickled with its code: a worker need not have Millstream to run it.
    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from importlib import import_module

        import pyarrow

        found = ""
        try:
            import_module("millstream.spark.io.writer")
        except ImportError as error:
            found = str(error)
        yield pyarrow.RecordBatch.from_pydict({"missing": [found]})

    try:
        (row,) = spark.range(0, 1, 1, 1).mapInArrow(look, "missing string").collect()
    except Exception as error:
        found = readable(error)
        if found is not error:
            raise found from None
        text = str(error)
        if "PYTHON_VERSION_MISMATCH" in text or "No module named" in text:
            lines = [
                line for line in text.splitlines() if "MISMATCH" in line or "No module" in line
            ]
            raise workers_without(lines[0].strip()) from None
        # Something else is wrong with the session: the job itself will tell.
        log.info("the workers of the Spark session could not be checked: %s", text)
        return
    if row["missing"]:
        raise workers_without(row["missing"])
    _fit.add(application)


def _under_spark_submit() -> bool:
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _is_local(extra: Mapping[str, str]) -> bool:
    """Whether driver and workers are processes of this machine that we start."""
    return extra.get("spark.master", "local").startswith("local") and not _under_spark_submit()


def _java_options(java: Java, *, with_archive: bool) -> str:
    """Options of the driver's JVM."""
    options = f"{_JIT} {_HEAP} -Dlog4j2.configurationFile=file:{_HERE / 'log4j2.properties'}"
    return f"{options} {class_archive.options(java)}".strip() if with_archive else options


def _start_workers(spark: SparkSession, tasks: int) -> None:
    """Let Spark start its Python workers while the query is being planned."""

    def pass_on(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    # A session that is stopped at once, or workers that fail: the job itself will tell.
    with suppress(Exception):
        own = _beside(spark)
        numbers = own.range(0, tasks, 1, tasks)
        numbers.mapInArrow(pass_on, numbers.schema).collect()


def _beside(session: SparkSession) -> SparkSession:
    """A session like the user's, in the same Spark, for what a job has to set: theirs stays as it is."""
    own: SparkSession = session.newSession()
    known = own.conf.getAll
    for key, value in session.conf.getAll.items():
        if known.get(key) != value and own.conf.isModifiable(key):
            own.conf.set(key, value)
    return own


def _let_workers_import_the_program() -> None:
    """Let local workers import what the program can: they inherit the JVM's environment."""
    installed = (sys.prefix, sys.base_prefix)
    own = [os.path.abspath(folder) for folder in sys.path if os.path.isdir(folder or ".")]
    own = [folder for folder in own if not folder.startswith(installed)]
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*own, *filter(None, known)]))


def _set(spark: SparkSession, key: str, value: str) -> None:
    if spark.conf.get(key, None) == value:
        return
    try:
        spark.conf.set(key, value)
    except Exception:
        # Static settings of a session that exists already stay as they are.
        log.info("the Spark session keeps its own value of %s", key)


@dataclass(frozen=True)
class Java:
    """A java program, and what it says of itself."""

    program: str
    banner: str

    @property
    def version(self) -> int | None:
        """The major version, None if it does not say."""
        for word in self.banner.split():
            if word.startswith('"'):
                parts = word.strip('"').split(".")
                major = parts[1] if parts[0] == "1" and len(parts) > 1 else parts[0]
                return int(major) if major.isdigit() else None
        return None


def require_java() -> Java:
    """The Java that Spark will use; fails with one line that says what to install if none fits."""
    home = os.environ.get("JAVA_HOME")
    program = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if program is None or not os.path.exists(program):
        raise EnvironmentSetupError(
            "NO_JAVA",
            "Spark needs Java 17 or later, and no java was found",
            hint="install a JDK (Debian: apt-get install openjdk-17-jre-headless) "
            "or set JAVA_HOME to one",
        )
    answer = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    java = Java(program, answer.stderr + answer.stdout)
    if java.version is not None and java.version < 17:
        raise EnvironmentSetupError(
            "OLD_JAVA",
            f"Spark needs Java 17 or later, {program} is Java {java.version}",
            hint="install a newer JDK (Debian: apt-get install openjdk-17-jre-headless) "
            "or set JAVA_HOME to one",
        )
    return java


def session_beside(spark: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """A session with settings of its own on the same Spark, for work beside a job."""
    session = spark.newSession()
    for key, value in settings.items():
        session.conf.set(key, value)
    return session
