"""The engine for programs on Spark, with all that it can compile."""

from millstream.dataset.spark import elements, files, groups, loops, pairs  # noqa: F401
from millstream.dataset.spark.engine import SparkEngine

__all__ = ["SparkEngine"]
