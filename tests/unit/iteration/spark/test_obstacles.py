"""When a loop cannot be resident."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.iteration.spark.obstacles import obstacle, slots_of, too_large


class _Session:
    """A session of Spark with some settings."""

    def __init__(self, master: str, **settings: str) -> None:
        self.sparkContext = self
        self.master = master
        self.defaultParallelism = 8
        self.settings = {f"spark.{key.replace('_', '.')}": v for key, v in settings.items()}

    def getConf(self) -> dict[str, str]:
        return self.settings


@pytest.mark.parametrize(
    ("session", "slots"),
    [
        (_Session("local[3]", default_parallelism="2"), 3),
        (_Session("local[4,2]"), 4),
        (_Session("local[*]"), 8),
        (_Session("local"), 8),
        (_Session("yarn"), 8),
        (_Session("yarn", task_cpus="3"), 2),
        (_Session("yarn", executor_instances="3", executor_cores="5"), 15),
        (_Session("yarn", task_cpus="100"), 1),
    ],
)
def test_slots(session: Any, slots: int) -> None:
    assert slots_of(session) == slots


@pytest.mark.parametrize(
    ("session", "tasks", "why"),
    [
        (_Session("yarn"), 8, None),
        (_Session("yarn"), 9, "9 tasks would have to run at once, and Spark has 8 slots"),
        (_Session("yarn", dynamicAllocation_enabled="true"), 2, "dynamic allocation"),
        (_Session("local[8]", dynamicAllocation_enabled="true"), 2, None),
        (_Session("yarn", network_crypto_enabled="true"), 2, "spark.network.crypto.enabled"),
        (_Session("yarn", ssl_rpc_enabled="TRUE"), 2, "spark.ssl.rpc.enabled asks for encryption"),
    ],
)
def test_obstacles(session: Any, tasks: int, why: str | None) -> None:
    found = obstacle(session, tasks, 8)
    assert found is why is None or str(why) in str(found)


def needs(size: int, limit: int = 0, host: str = "a", free: int | None = None) -> dict[str, Any]:
    return {"size": size << 20, "limit": limit << 20, "host": host, "free": free and free << 20}


def test_the_memory_of_a_machine_is_shared_by_its_tasks() -> None:
    assert too_large([needs(10, free=60), needs(10, free=60)]) is None
    assert too_large([needs(10, free=59), needs(10, free=60)]) == (
        "the tasks at a need about 60 MB of memory more, and 59 MB are free"
    )
    assert too_large([needs(10, free=59), needs(10, host="b", free=60)]) is None
    assert too_large([needs(1_000)]) is None


def test_the_limit_of_a_worker_counts_for_each_task() -> None:
    assert too_large([needs(10, limit=40), needs(10, limit=40)]) is None
    assert too_large([needs(10, limit=40), needs(11, limit=40)]) == (
        "task 1 has 11 MB of inputs, and may take 40 MB of memory: about 44 MB are needed"
    )
