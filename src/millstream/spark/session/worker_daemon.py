"""The process that Spark forks its Python workers from, with everything a stage imports.

Spark starts it by the setting ``spark.python.daemon.module`` in place of ``pyspark.daemon``, which
it then runs. This is the one module that leans on how PySpark starts its workers.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import PathFinder
from typing import Any

NEEDED = (
    "pandas",
    "pyspark.worker",
    "millstream.plan.compile",
    "millstream.spark.query.keyed_stage",
    "millstream.spark.io.source_tasks",
    "millstream.spark.io.writer",
)


def prefer_compiled_pyspark() -> None:
    """Spark puts PySpark's sources in a zip file first: the installed package need not be compiled."""
    others = [entry for entry in sys.path if not entry.endswith(".zip")]
    if all(PathFinder.find_spec(name, others) is not None for name in ("pyspark", "py4j")):
        sys.path[:] = others


def without_a_listener(serve: Callable[..., int]) -> Callable[..., int]:
    """A worker that ends in silence when Spark has hung up, which it does to those it needs no more.

    PySpark shows the traceback of the broken pipe, though no task is concerned.
    """

    def wrapped(*arguments: object) -> int:
        try:
            return serve(*arguments)
        except ConnectionError:
            os._exit(1)

    return wrapped


def main() -> None:
    """Import, then serve. Workers collect garbage after each task: what is here already is none."""
    prefer_compiled_pyspark()
    for name in NEEDED:
        import_module(name)
    gc.collect()
    gc.freeze()
    daemon: Any = import_module("pyspark.daemon")
    daemon.worker = without_a_listener(daemon.worker)
    daemon.manager()


if __name__ == "__main__":
    main()
