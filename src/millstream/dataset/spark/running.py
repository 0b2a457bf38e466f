"""The engine for programs on Spark, with all that it can compile."""

from millstream.dataset.spark import elements, files, groups, loops, pairs  # noqa: F401
from millstream.dataset.spark.engine import SparkEngine
from millstream.dataset.spark.loops import chosen_loop

__all__ = ["SparkEngine", "chosen_loop"]
