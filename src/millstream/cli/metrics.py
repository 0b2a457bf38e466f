"""The metrics of a job as tables."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.cli.text import local_time, size, table
from millstream.metrics import EpochMetrics, JobMetrics, OperatorMetrics, SinkMetrics

__all__ = ["metrics_text"]

_PHASES = ("offsets", "plan", "log", "tasks", "sinks", "commit")


def metrics_text(metrics: JobMetrics, width: int | None = None) -> str:
    """The metrics of the sources, operators and sinks of a job, its last epochs, and its functions."""
    tables = [
        (["SOURCE", "NAME", "READ", "RATE", "WAITING"], _sources(metrics)),
        (
            [
                "OPERATOR",
                "NAME",
                "IN",
                "OUT",
                "LATE",
                "SKIPPED",
                "KEYS",
                "TIMERS",
                "STATE",
                "WATERMARK",
            ],
            [_operator(one) for one in metrics.operators.values()],
        ),
        (
            ["SINK", "NAME", "WRITTEN"],
            [[one.uid, one.name, _number(one.written)] for one in metrics.sinks.values()],
        ),
        (
            ["QUERY", "EPOCH", "MS", *(name.upper() for name in _PHASES)],
            [_epoch(one) for one in metrics.epochs],
        ),
        (["UID", "METRIC", "VALUE"], list(_own(metrics))),
    ]
    return "\n\n".join(table(head, rows, width) for head, rows in tables if rows)


def _sources(metrics: JobMetrics) -> list[list[str]]:
    return [
        [one.uid, one.name, _number(one.read), f"{one.rate:,.0f}/s", _number(one.backlog)]
        for one in metrics.sources.values()
    ]


def _operator(one: OperatorMetrics) -> list[str]:
    state = one.state
    counts = (one.records_in, one.records_out, one.late, one.skipped)
    return [
        one.uid,
        one.name,
        *map(_number, counts),
        _number(None if state is None else state.keys),
        _number(None if state is None else state.timers),
        size(None if state is None else state.bytes),
        local_time(one.watermark),
    ]


def _epoch(one: EpochMetrics) -> list[str]:
    phases = [getattr(one, f"{name}_ms") for name in _PHASES]
    return [str(one.query), *map(_number, (one.number, one.total_ms, *phases))]


def _own(metrics: JobMetrics) -> Iterator[list[str]]:
    """The metrics that functions make."""
    parts: list[OperatorMetrics | SinkMetrics] = [
        *metrics.operators.values(),
        *metrics.sinks.values(),
    ]
    for part in parts:
        for name, count in part.counters.items():
            yield [part.uid, name, _number(count)]
        for name, meter in part.meters.items():
            yield [part.uid, name, f"{meter.count:,}, {meter.rate:,.1f}/s"]
        for name, found in (*part.gauges.items(), *part.distributions.items()):
            spread = f"{found.min:,} to {found.max:,}, mean {found.mean:,.1f} of {found.count:,}"
            yield [part.uid, name, spread]


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"
