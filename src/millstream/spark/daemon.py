"""The process that Spark forks its Python workers from, with everything a stage imports.

Spark starts it by the setting ``spark.python.daemon.module`` in place of ``pyspark.daemon``, which
it then runs. This is the one module that leans on how PySpark starts its workers.
"""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from importlib.machinery import PathFinder

NEEDED = (
    "pandas",
    "pyspark.worker",
    "millstream.plan.compile",
    "millstream.spark.keyed_stage",
    "millstream.spark.sources",
    "millstream.spark.writer",
)


def prefer_compiled_pyspark() -> None:
    """Spark puts PySpark's sources in a zip file first: the installed package need not be compiled."""
    others = [entry for entry in sys.path if not entry.endswith(".zip")]
    if all(PathFinder.find_spec(name, others) is not None for name in ("pyspark", "py4j")):
        sys.path[:] = others


def main() -> None:
    """Import, then serve. Workers collect garbage after each task: what is here already is none."""
    prefer_compiled_pyspark()
    for name in NEEDED:
        import_module(name)
    gc.collect()
    gc.freeze()
    import_module("pyspark.daemon").manager()


if __name__ == "__main__":
    main()
