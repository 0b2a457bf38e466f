"""Metrics of a job: one typed form for the client, the command line, tests and pages.

Operators are told apart by their uids: two operators may have one name. A job that runs keeps its
`JobMetrics` as JSON in the status file of its checkpoint directory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeVar

__all__ = [
    "VERSION",
    "EpochMetrics",
    "JobMetrics",
    "MeterMetrics",
    "OperatorMetrics",
    "SinkMetrics",
    "SourceMetrics",
    "StateMetrics",
    "Summary",
    "known_metrics",
]

VERSION = 1
"""The version of the JSON form."""

T = TypeVar("T")


@dataclass(frozen=True)
class Summary:
    """Count, sum, smallest and largest of some numbers.

    Examples
    --------
    >>> Summary(count=4, sum=10, min=1, max=4).mean
    2.5
    """

    count: int
    sum: int
    min: int
    max: int

    @property
    def mean(self) -> float:
        """The average."""
        return self.sum / self.count if self.count else 0.0

    def __add__(self, other: Summary) -> Summary:
        return Summary(
            self.count + other.count,
            self.sum + other.sum,
            min(self.min, other.min),
            max(self.max, other.max),
        )


@dataclass(frozen=True)
class MeterMetrics:
    """How often something has happened, and how often per second in the meter's last time span."""

    count: int
    rate: float


@dataclass(frozen=True)
class StateMetrics:
    """The keyed state of an operator, over all slots.

    Attributes
    ----------
    keys
        How many keys have state.
    timers
        How many timers wait, of both kinds.
    bytes
        The size of the pages in the state store. Long lists and large maps of single keys, and
        broadcast state, lie beside the pages and are not part of it.
    """

    keys: int
    timers: int
    bytes: int

    def __add__(self, other: StateMetrics) -> StateMetrics:
        return StateMetrics(
            self.keys + other.keys, self.timers + other.timers, self.bytes + other.bytes
        )


@dataclass(frozen=True, kw_only=True)
class SourceMetrics:
    """A source.

    Attributes
    ----------
    uid, name
        Which source it is.
    read, rate
        The records read, and how many per second lately.
    backlog
        How many records wait, if that is known.
    lag
        The same for each channel, such as a partition, by its name.
    skipped
        The records that could not be decoded and were skipped, see ``on_error``.
    """

    uid: str
    name: str
    read: int = 0
    rate: float = 0.0
    backlog: int | None = None
    lag: Mapping[str, int] = field(default_factory=dict)
    skipped: int = 0


@dataclass(frozen=True, kw_only=True)
class _WithFunction:
    """The metrics that a function makes itself, by their names below the operator's group."""

    uid: str
    name: str
    counters: Mapping[str, int] = field(default_factory=dict)
    gauges: Mapping[str, Summary] = field(default_factory=dict)
    meters: Mapping[str, MeterMetrics] = field(default_factory=dict)
    distributions: Mapping[str, Summary] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class OperatorMetrics(_WithFunction):
    """An operator.

    Attributes
    ----------
    uid, name
        Which operator it is.
    records_in, records_out
        The records it got, late ones included, and those it emitted, side outputs included.
    late
        The records that were dropped because they came too late (Flink's ``numLateRecordsDropped``).
        Those that went to a side output for late records are not among them.
    skipped
        The records that it skipped because its function failed, see ``on_error``.
    watermark
        How far its event time has come, in milliseconds; None if it has no watermark yet. The end of
        the input does not count.
    state
        Its keyed state; None if it has none, or if that is not known.
    counters, gauges, meters, distributions
        The metrics that its function makes, by their names below the operator's group. A gauge shows
        the last values of all subtasks.
    """

    records_in: int = 0
    records_out: int = 0
    late: int = 0
    skipped: int = 0
    watermark: int | None = None
    state: StateMetrics | None = None


@dataclass(frozen=True, kw_only=True)
class SinkMetrics(_WithFunction):
    """A sink: the records written to it, and the metrics that its function makes."""

    written: int = 0


@dataclass(frozen=True, kw_only=True)
class EpochMetrics:
    """The last epoch of one query of a job, and how long its phases took, in milliseconds.

    None stands for what is not known (yet): Spark tells its times when an epoch is over, and a batch
    job has no logs.

    Attributes
    ----------
    query
        The number of the query. Parts of a program that share no operator are queries of their own.
    number
        The number of the epoch, from 0.
    total_ms
        The whole epoch.
    offsets_ms
        Asking the sources how much there is.
    plan_ms
        Planning in Spark.
    log_ms
        Writing down what the epoch will read.
    tasks_ms
        Reading, all operators, and what tasks write themselves.
    sinks_ms
        Committing to the sinks.
    commit_ms
        Writing down that the epoch is done.
    """

    query: int
    number: int
    total_ms: int | None = None
    offsets_ms: int | None = None
    plan_ms: int | None = None
    log_ms: int | None = None
    tasks_ms: int | None = None
    sinks_ms: int | None = None
    commit_ms: int | None = None


@dataclass(frozen=True, kw_only=True)
class JobMetrics:
    """All that a job has measured since its driver started.

    Attributes
    ----------
    sources, operators, sinks
        The parts of the job by uid, in the order of the program. All of them are there from the
        start of the job, also those that have not seen a record yet.
    epochs
        The last epoch of each query.

    Examples
    --------
    >>> shop = OperatorMetrics(uid="shop", name="Keyed Process", records_in=3, watermark=17)
    >>> metrics = JobMetrics(operators={"shop": shop})
    >>> metrics.operators["shop"].records_in, metrics.watermark, metrics.epoch
    (3, 17, -1)
    >>> JobMetrics.from_dict(metrics.to_dict()) == metrics
    True
    """

    sources: Mapping[str, SourceMetrics] = field(default_factory=dict)
    operators: Mapping[str, OperatorMetrics] = field(default_factory=dict)
    sinks: Mapping[str, SinkMetrics] = field(default_factory=dict)
    epochs: tuple[EpochMetrics, ...] = ()

    @property
    def epoch(self) -> int:
        """The number of the last epoch; -1 before the first."""
        return max((epoch.number for epoch in self.epochs), default=-1)

    @property
    def records_in(self) -> int:
        """The records that all sources have read."""
        return sum(source.read for source in self.sources.values())

    @property
    def records_out(self) -> int:
        """The records that all sinks have got."""
        return sum(sink.written for sink in self.sinks.values())

    @property
    def watermark(self) -> int | None:
        """The watermark of the operator that is furthest behind; None if none has one yet."""
        known = [one.watermark for one in self.operators.values() if one.watermark is not None]
        return min(known, default=None)

    def operator(self, name: str) -> OperatorMetrics:
        """Return the operator with this uid, or else the only one with this name."""
        if name in self.operators:
            return self.operators[name]
        found = [one for one in self.operators.values() if one.name == name]
        if len(found) == 1:
            return found[0]
        known = ", ".join(f"{uid} ({one.name})" for uid, one in self.operators.items())
        what = f"{len(found)} operators have" if found else "no operator has"
        raise KeyError(f"{what} the uid or name {name!r}; there are {known or 'none'}")

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"version": VERSION, **asdict(self)}

    @classmethod
    def from_dict(cls, data: Any) -> JobMetrics:
        """Read the JSON form.

        Raises
        ------
        ValueError
            If it is none, or of another version.
        """
        if not isinstance(data, dict) or data.get("version") != VERSION:
            raise ValueError(f"these are no metrics of version {VERSION}")
        user = {
            "gauges": _each(_summary),
            "distributions": _each(_summary),
            "meters": _each(lambda one: _made(MeterMetrics, one)),
            "counters": _each(_whole),
        }
        parts: dict[str, Callable[[Any], Any]] = {
            "sources": _each(lambda one: _made(SourceMetrics, one, lag=_each(_whole))),
            "operators": _each(lambda one: _made(OperatorMetrics, one, state=_state, **user)),
            "sinks": _each(lambda one: _made(SinkMetrics, one, **user)),
            "epochs": lambda found: tuple(_made(EpochMetrics, one) for one in _list(found)),
        }
        return _made(cls, data, **parts)


def known_metrics(data: Mapping[str, Any] | None) -> JobMetrics | None:
    """The metrics of a job; None if its version of Millstream writes them in another form."""
    if data is None or data.get("version") != VERSION:
        return None
    return JobMetrics.from_dict(data)


# -- from JSON -------------------------------------------------------------------------------------

_NUMBER = (int, float)
_CLASSES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": _NUMBER,
    "int | None": (int, type(None)),
}
"""The classes of plain fields, by their annotations."""


def _made(kind: Callable[..., T], data: Any, **parts: Callable[[Any], Any]) -> T:
    """A dataclass of its JSON form. ``parts`` reads the fields that are no plain values."""
    if not isinstance(data, dict):
        raise ValueError(f"{data!r:.100} is no JSON object")
    values = {}
    for one in fields(kind):  # type: ignore[arg-type]
        if one.name in data:
            value = data[one.name]
            if one.name in parts:
                value = parts[one.name](value)
            elif isinstance(value, bool) or not isinstance(value, _CLASSES[str(one.type)]):
                raise ValueError(f"{one.name} cannot be {value!r:.100}")
            values[one.name] = value
    try:
        return kind(**values)
    except TypeError as error:
        raise ValueError(str(error)) from None


def _each(read: Callable[[Any], T]) -> Callable[[Any], dict[str, T]]:
    def read_all(data: Any) -> dict[str, T]:
        if not isinstance(data, dict):
            raise ValueError(f"{data!r:.100} is no JSON object")
        return {name: read(one) for name, one in data.items()}

    return read_all


def _list(data: Any) -> list[Any]:
    if not isinstance(data, list | tuple):
        raise ValueError(f"{data!r:.100} is no list")
    return list(data)


def _whole(data: Any) -> int:
    if type(data) is not int:
        raise ValueError(f"{data!r:.100} is no whole number")
    return data


def _summary(data: Any) -> Summary:
    return _made(Summary, data)


def _state(data: Any) -> StateMetrics | None:
    return None if data is None else _made(StateMetrics, data)
