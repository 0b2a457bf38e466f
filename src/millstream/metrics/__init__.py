"""What a function can measure about itself: counters, gauges, meters and distributions."""

from __future__ import annotations

from millstream.metrics.metricbase import Counter, Distribution, Meter, Metric, MetricGroup

__all__ = ["Counter", "Distribution", "Meter", "Metric", "MetricGroup"]
