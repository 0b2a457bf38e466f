"""The tasks of Spark as the place where RDDs of DStream programs are computed."""

from millstream.dstream.spark.runner import SparkRunner

__all__ = ["SparkRunner"]
