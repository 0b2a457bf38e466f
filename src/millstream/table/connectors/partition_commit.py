"""When a partition of files is complete: the options ``sink.partition-commit.*``."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from millstream.common.execution_config import accepted_without_effect
from millstream.common.typeinfo import Types
from millstream.datastream.functions import KeyedProcessFunction
from millstream.table.connectors.file_sink import Partitions, TableFileSink
from millstream.table.connectors.options import Option, Options
from millstream.table.connectors.row_errors import RowError
from millstream.table.expressions.java.dates import DateError, zone_of

__all__ = ["COMMIT_OPTIONS", "CommitRule", "PartitionedFileSink", "commit_rule"]

_PREFIX = "sink.partition-commit."
COMMIT_OPTIONS = (
    Option(f"{_PREFIX}trigger", choices=("process-time", "partition-time")),
    Option(f"{_PREFIX}delay"),
    Option(f"{_PREFIX}watermark-time-zone"),
    Option(f"{_PREFIX}policy.kind"),
    Option(f"{_PREFIX}policy.class"),
    Option(f"{_PREFIX}success-file.name"),
    Option("partition.time-extractor.kind", choices=("default",)),
    Option("partition.time-extractor.timestamp-pattern"),
    Option("partition.time-extractor.timestamp-formatter"),
)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True)
class CommitRule:
    """When a partition gets the file ``_SUCCESS``.

    ``by_time``: when the watermark has passed the time of the partition and ``delay_ms``; else with the
    epoch that writes to it. ``pattern``: the time of a partition, such as ``$day $hour:00:00``, in
    the ``zone``.
    """

    by_time: bool = False
    delay_ms: int = 0
    pattern: str | None = None
    zone: str = "UTC"

    def time_ms(self, names: tuple[str, ...], row: Any) -> int:
        """The time of the partition of a row, in milliseconds.

        Examples
        --------
        >>> CommitRule(pattern="$day $hour:00:00").time_ms(
        ...     ("day", "hour"), {"day": "1970-01-01", "hour": "01"}
        ... )
        3600000
        """
        text = self.pattern or f"${names[0]}"
        for name in sorted(names, key=len, reverse=True):
            text = text.replace(f"${name}", str(row[name]))
        # A day or an hour may have one digit, as in Flink.
        text = re.sub(r"(?<=[- :])(\d)(?=\D|$)", r"0\1", text)
        try:
            found = datetime.datetime.fromisoformat(text)
        except ValueError as error:
            raise RowError(
                "PARTITION_TIME",
                f"{text!r} is no time of a partition: set partition.time-extractor.timestamp-pattern, "
                "such as '$day $hour:00:00'",
            ) from error
        found = found.replace(tzinfo=zone_of(self.zone))
        return (found - _EPOCH) // datetime.timedelta(milliseconds=1)


def commit_rule(options: Options) -> CommitRule | None:
    """The rule of a table; None if nobody wants to know when partitions are complete."""
    kinds = options.text(f"{_PREFIX}policy.kind").split(",")
    if "success-file" not in [each.strip() for each in kinds]:
        if any(kinds):
            raise options.problem(
                f"has the policy {','.join(kinds)!r} for its partitions",
                f"'{_PREFIX}policy.kind' = 'success-file' is the one there is",
            )
        return None
    if options.text(f"{_PREFIX}success-file.name", "_SUCCESS") != "_SUCCESS":
        accepted_without_effect("success-file.name", "the file is named _SUCCESS")
    by_time = options.text(f"{_PREFIX}trigger", "process-time") == "partition-time"
    delay = options.millis(f"{_PREFIX}delay") or 0
    if delay and not by_time:
        accepted_without_effect("partition-commit.delay", "a partition is complete with its epoch")
    pattern = options.given.get("partition.time-extractor.timestamp-pattern")
    return CommitRule(by_time, delay, pattern, _zone(options))


def _zone(options: Options) -> str:
    name = options.text(f"{_PREFIX}watermark-time-zone", "UTC")
    try:
        zone_of(name)
    except DateError as error:
        raise options.problem(
            f"has '{_PREFIX}watermark-time-zone' = {name!r}: {error}",
            "name a region such as 'Asia/Shanghai', or an offset such as 'GMT-08:00'",
        ) from error
    return name


@dataclass(frozen=True)
class _AtOnce:
    """A row in its folder, and that the folder is complete."""

    partitions: Partitions

    def __call__(self, row: Any) -> Iterator[Any]:
        yield self.partitions(row)
        yield self.partitions.folder(row), True, None


@dataclass(frozen=True)
class _Timed:
    """The folder of a row, and the time of it."""

    partitions: Partitions
    rule: CommitRule

    def __call__(self, row: Any) -> tuple[str, int]:
        return self.partitions.folder(row), self.rule.time_ms(self.partitions.names, row)


class _Ends(KeyedProcessFunction[Any, Any, Any]):
    def __init__(self, delay_ms: int) -> None:
        self.delay_ms = delay_ms

    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(value[1] + self.delay_ms)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), True, None


def _folder(pair: tuple[str, int]) -> str:
    return pair[0]


def in_folders(stream: Any, partitions: Partitions, rule: CommitRule | None) -> Any:
    """A stream of rows in their folders, and of folders that are complete."""
    triple = Types.TUPLE([Types.STRING(), Types.BOOLEAN(), partitions.row])
    if rule is None:
        return stream.map(partitions, triple).name("Partitions")
    if not rule.by_time:
        return stream.flat_map(_AtOnce(partitions), triple).name("Partitions")
    rows = stream.map(partitions, triple).name("Partitions")
    times = stream.map(_Timed(partitions, rule), Types.TUPLE([Types.STRING(), Types.LONG()]))
    keyed = times.name("Times of Partitions").key_by(_folder, Types.STRING())
    return rows.union(keyed.process(_Ends(rule.delay_ms), triple).name("Complete Partitions"))


@dataclass(frozen=True)
class PartitionedFileSink(TableFileSink):
    """Writes the rows of a table to files in the folders of their partitions."""

    partitions: Partitions | None = None
    commits: CommitRule | None = None

    def preprocess(self, stream: Any) -> Any:
        # A sink that is rebuilt to take something back has no partitions, and gets no rows.
        assert self.partitions is not None
        return in_folders(stream, self.partitions, self.commits)
