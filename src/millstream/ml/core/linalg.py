"""The place that flink-ml 2.0 has for `millstream.ml.linalg`."""

from millstream.ml.linalg import *  # noqa: F403
