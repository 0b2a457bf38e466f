"""The obstacles to a resident loop: slots, memory, the network."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millstream.spark.tasks.memory import default_bytes, session_bytes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "CONNECT_TASKS",
    "Needs",
    "NetworkBlocked",
    "StateTooLarge",
    "is_connect",
    "limit_of",
    "needs_of",
    "obstacle",
    "slots_of",
    "too_large",
]

GROWTH = 4
"""The memory of a task, in multiples of its inputs: columns, their indexes, messages. A rough guess."""

CONNECT_TASKS = 8
"""How many tasks a loop has where nobody says how many run at once."""

Needs = dict[str, Any]
"""The inputs of a task in bytes, its limit, its machine, and what is free there."""


class NetworkBlocked(Exception):
    """The tasks cannot reach each other; says why."""


class StateTooLarge(Exception):
    """The inputs do not fit into the memory of so few tasks; says why."""


# -- before the loop, in the driver ----------------------------------------------------------------


def obstacle(spark: SparkSession, tasks: int, slots: int) -> str | None:
    """Why a loop of so many tasks cannot be one barrier job; None if it can."""
    if is_connect(spark):
        return "Spark Connect does not tell how many tasks run at once"
    if _is_on(spark, "spark.dynamicAllocation.enabled") and not _is_local(spark):
        return "Spark refuses jobs whose tasks all run at once with dynamic allocation"
    if tasks > slots:
        return f"{tasks} tasks would have to run at once, and Spark has {slots} slots"
    for key in ("spark.network.crypto.enabled", "spark.ssl.rpc.enabled"):
        if _is_on(spark, key):
            return f"{key} asks for encryption, and messages between tasks are not encrypted"
    return None


def is_connect(spark: SparkSession) -> bool:
    """Whether a session is a client of Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def slots_of(spark: SparkSession) -> int:
    """How many tasks Spark runs at once."""
    conf = spark.sparkContext.getConf()
    cores = _cores(spark)
    return max(cores // int(str(conf.get("spark.task.cpus", "1"))), 1)


def _cores(spark: SparkSession) -> int:
    context = spark.sparkContext
    conf = context.getConf()
    if _is_local(spark):
        named = str(context.master).removeprefix("local").strip("[]").split(",")[0]
        if named.isdigit():
            return int(named)
    executors, each = conf.get("spark.executor.instances"), conf.get("spark.executor.cores")
    if executors and each:
        return int(executors) * int(each)
    return int(context.defaultParallelism)


def limit_of(spark: SparkSession) -> int | None:
    """How much memory a task may take; None for the default of its machine, 0 for no limit."""
    return session_bytes(spark)


def _is_local(spark: SparkSession) -> bool:
    master = str(spark.sparkContext.master)
    return master.startswith("local") and not master.startswith("local-cluster")


def _is_on(spark: SparkSession, key: str) -> bool:
    return str(spark.sparkContext.getConf().get(key, "false")).lower() == "true"


# -- before the loop, in its tasks -----------------------------------------------------------------


def needs_of(size: int, limit: int | None, host: str) -> Needs:
    """The words of a task about its memory."""
    limit = default_bytes() if limit is None else limit
    return {"size": size, "limit": limit, "host": host, "free": _free_bytes()}


def _free_bytes() -> int | None:
    """The memory that nobody uses on this machine; None if it does not say."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return None


def too_large(needs: Sequence[Needs]) -> str | None:
    """Why the memory of the tasks is too small; None if it seems large enough.

    Examples
    --------
    >>> small = {"size": 10, "limit": 100, "host": "a", "free": None}
    >>> too_large([small, small]) is None
    True
    >>> too_large([small, {**small, "size": 50 << 20, "limit": 100 << 20}])
    'task 1 has 50 MB of inputs, and may take 100 MB of memory: about 200 MB are needed'
    """
    hosts: dict[str, list[Needs]] = defaultdict(list)
    for task, each in enumerate(needs):
        hosts[each["host"]].append(each)
        if each["limit"] and each["size"] * GROWTH > each["limit"]:
            return (
                f"task {task} has {_mb(each['size'])} of inputs, and may take {_mb(each['limit'])} of "
                f"memory: about {_mb(each['size'] * GROWTH)} are needed"
            )
    for host, those in hosts.items():
        free = [each["free"] for each in those if each["free"] is not None]
        # What they have read is not free any more.
        wanted = sum(each["size"] for each in those) * (GROWTH - 1)
        if free and wanted > min(free):
            return (
                f"the tasks at {host} need about {_mb(wanted)} of memory more, and {_mb(min(free))} "
                "are free"
            )
    return None


def _mb(size: int) -> str:
    return f"{size / (1 << 20):,.0f} MB"
