"""The places of flink-ml's first releases: ``millstream.ml.core.api`` is `millstream.ml.api`."""
