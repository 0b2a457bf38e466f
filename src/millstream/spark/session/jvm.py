"""The JVM behind a Spark session: the one module that uses private attributes of PySpark.

PySpark has no public way to ask whether the JVM still runs, or to wait for its end.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def is_running(session: SparkSession) -> bool:
    """Whether Spark has not been stopped behind a session."""
    try:
        return not session.sparkContext._jsc.sc().isStopped()
    except Exception:
        return False


def has_died() -> bool:
    """Whether this process had a JVM and it has ended. Imports nothing: there may be no PySpark."""
    pyspark = sys.modules.get("pyspark")
    context = getattr(pyspark, "SparkContext", None)
    process = getattr(getattr(context, "_gateway", None), "proc", None)
    return process is not None and process.poll() is not None


def class_path() -> str:
    """The class path with which the JVM of this process was started."""
    found: str = _gateway().jvm.java.lang.System.getProperty("java.class.path")
    return found


def end() -> None:
    """Stop Spark and wait for the end of its JVM."""
    from pyspark import SparkContext

    gateway, context = _gateway(), SparkContext._active_spark_context
    if context is not None:
        context.stop()
    gateway.proc.stdin.close()
    gateway.proc.wait()


def _gateway() -> Any:
    from pyspark import SparkContext

    if SparkContext._gateway is None:
        raise RuntimeError("this process has not started Spark")
    return SparkContext._gateway
