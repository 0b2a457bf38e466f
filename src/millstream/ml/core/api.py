"""The place that flink-ml 2.0 has for `millstream.ml.api`."""

from millstream.ml.api import *  # noqa: F403
