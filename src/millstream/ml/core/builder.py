"""The place that flink-ml 2.0 has for `millstream.ml.builder`."""

from millstream.ml.builder import *  # noqa: F403
