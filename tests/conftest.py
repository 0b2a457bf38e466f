"""The one Spark session of a test process, and what every test on it needs."""

from __future__ import annotations

import gc
import math
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.doctest import DoctestModule

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.datastream import StreamExecutionEnvironment
    from tools.servers import Kafka, MariaDB, Nats, Postgres, Server

ROOT = Path(__file__).parents[1]
PARALLELISM = 2
# Helpers hold no tests.
collect_ignore = ["support"]


def pytest_configure() -> None:
    """Hear ctrl-C: a shell ignores it for what it starts in the background, and tests send it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection() -> None:
    """Collect tests without the garbage collector: nearly all that is made then stays until the end."""
    gc.disable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for doctests in the source only: in the tests it took a fifth of the collection's time."""
    found = yield
    return [collector for collector in found if not isinstance(collector, DoctestModule)]


@pytest.hookimpl(tryfirst=True)  # as long as the cases of a test are in their order
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In `make check`, take each case of a matrix in one way, and of tests with many cases a few.

    The programs of `test_programs.py` all run: the page of parity names them one by one.
    """
    from tests.support.strategies import MANY_CASES, in_one_way, thinned

    tests: dict[Any, list[pytest.Item]] = {}
    for item in items:
        if isinstance(item, pytest.Function):
            tests.setdefault((item.parent, item.originalname), []).append(item)
    left_out: set[pytest.Item] = set()
    for (parent, name), cases in tests.items():
        left = cases
        sizes = [len(mark.args[1]) for mark in cases[0].iter_markers("parametrize")]
        if math.prod(sizes) == len(cases):  # else fixtures have values, too
            left = [cases[place] for place in in_one_way(sizes)]
        if len(left) > MANY_CASES and parent.path.name != "test_programs.py":
            one_in = math.ceil(len(left) / MANY_CASES)
            left = thinned(left, f"{parent.nodeid}::{name}", one_in=one_in)
        left_out |= {*cases} - {*left}
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish() -> None:
    """Take what lives until the end out of the garbage collector's sight.

    That are modules and thousands of tests. Each full collection would look at all of them again: it
    took a seventh of the time of the unit tests.
    """
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session all Spark tests of this process share: starting one takes longer than a test."""
    from millstream.spark.session.session import get_session

    folders = [str(ROOT), str(ROOT / "src")]
    # Workers inherit it from the JVM, which starts now: they import the tests' own functions.
    os.environ["PYTHONPATH"] = os.pathsep.join([*folders, os.environ.get("PYTHONPATH", "")])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.master": f"local[{PARALLELISM}]",
        "spark.ui.enabled": "false",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": str(PARALLELISM),
    }
    session = get_session(None, PARALLELISM, settings)
    yield session
    session.stop()


def running(name: str) -> Iterator[Server]:
    """A server that the tests of this process share; tests give their topics and tables own names."""
    from tools.servers import SERVERS, NotInstalled
    from tools.servers.__main__ import STRICT

    server = SERVERS[name]
    try:
        server.find()
    except NotInstalled as error:
        if os.environ.get(STRICT):
            pytest.fail(f"{name} is not installed: {error}")
        pytest.skip(f"{name} is not installed: {error}; python -m tools.servers install {name}")
    with server() as started:
        yield started


@pytest.fixture(scope="session")
def kafka() -> Iterator[Kafka]:
    yield from running("kafka")  # type: ignore[misc]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    yield from running("postgres")  # type: ignore[misc]


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDB]:
    yield from running("mariadb")  # type: ignore[misc]


@pytest.fixture(scope="session")
def nats() -> Iterator[Nats]:
    yield from running("nats")  # type: ignore[misc]


@pytest.fixture
def make_env(spark: SparkSession) -> Callable[..., StreamExecutionEnvironment]:
    """Makes environments on the shared session: ``make_env("batch", {"millstream.slots": 4})``."""
    from millstream.common import Configuration
    from millstream.datastream import StreamExecutionEnvironment

    def make(
        mode: str = "streaming", settings: dict[str, Any] | None = None
    ) -> StreamExecutionEnvironment:
        configuration = Configuration.from_dict(
            {"millstream.progress": "false", **(settings or {})}
        )
        env = StreamExecutionEnvironment.get_execution_environment(configuration, spark)
        return env.set_parallelism(PARALLELISM).set_runtime_mode(mode.upper())

    return make
