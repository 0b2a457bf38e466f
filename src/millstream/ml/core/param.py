"""The place that flink-ml 2.0 has for `millstream.ml.param`."""

from millstream.ml.param import *  # noqa: F403
