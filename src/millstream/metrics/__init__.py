"""Metrics: what a function can measure about itself, and what a job shows of all its parts."""

from __future__ import annotations

from millstream.metrics.job_metrics import (
    EpochMetrics,
    JobMetrics,
    MeterMetrics,
    OperatorMetrics,
    SinkMetrics,
    SourceMetrics,
    StateMetrics,
    Summary,
)
from millstream.metrics.metricbase import Counter, Distribution, Meter, Metric, MetricGroup

__all__ = [
    "Counter",
    "Distribution",
    "EpochMetrics",
    "JobMetrics",
    "Meter",
    "MeterMetrics",
    "Metric",
    "MetricGroup",
    "OperatorMetrics",
    "SinkMetrics",
    "SourceMetrics",
    "StateMetrics",
    "Summary",
]
