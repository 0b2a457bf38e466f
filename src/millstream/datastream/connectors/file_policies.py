"""Choices about files: their folders, sizes and names, and how they are found and merged."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

from millstream.common.errors import FormatError, PlanError, short_repr, user_location
from millstream.common.types import Row
from millstream.connectors.files.hidden import is_hidden
from millstream.datastream.connectors.bucket_formats import TimeFormat

__all__ = [
    "BucketAssigner",
    "DefaultRollingPolicy",
    "FileCompactStrategy",
    "FileCompactor",
    "FileEnumeratorProvider",
    "FileSplitAssignerProvider",
    "OnCheckpointRollingPolicy",
    "OutputFileConfig",
    "RollingPolicy",
]


@dataclass(frozen=True)
class FileEnumeratorProvider:
    """How files are found."""

    splittable: bool = True

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Return the choice to split files."""
        return FileEnumeratorProvider(True)

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Return the choice not to split files."""
        return FileEnumeratorProvider(False)


@dataclass(frozen=True)
class FileSplitAssignerProvider:
    """Which task reads which file."""

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """Return the choice to read files where they lie."""
        return FileSplitAssignerProvider()


@dataclass(frozen=True)
class BucketAssigner:
    """Into which subdirectory a record goes.

    Make one with the methods below, or with a function of your own: `BucketAssigner.of`.
    """

    by: Literal["none", "system time", "event time", "fields", "function"] = "none"
    times: TimeFormat | None = None
    fields: tuple[str, ...] = ()
    function: Callable[[Any], str] | None = None

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """Return the choice of no subdirectories; it is the default."""
        return BucketAssigner()

    @staticmethod
    def date_time_bucket_assigner(
        format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None
    ) -> BucketAssigner:
        """Return the choice by the time at which a record is written, as Flink has it."""
        return BucketAssigner("system time", TimeFormat(format_str, timezone_id))

    @staticmethod
    def event_time_bucket_assigner(
        format_str: str = "'day='yyyy-MM-dd/'hour='HH", timezone_id: str = "UTC"
    ) -> BucketAssigner:
        """Return the choice by the record's event time; such buckets can get a success marker.

        Examples
        --------
        >>> days = BucketAssigner.event_time_bucket_assigner("'day='yyyy-MM-dd")
        >>> days.bucket("a record", 0)
        'day=1970-01-01'
        """
        return BucketAssigner("event time", TimeFormat(format_str, timezone_id))

    @staticmethod
    def field_bucket_assigner(*names: str) -> BucketAssigner:
        """Return the choice by fields of rows, as Hive and Spark name subdirectories.

        Examples
        --------
        >>> from millstream.common import Row
        >>> by_country = BucketAssigner.field_bucket_assigner("country", "year")
        >>> by_country.bucket(Row(country="a/b", year=2026), None)
        'country=a%2Fb/year=2026'
        """
        return BucketAssigner("fields", fields=names)

    @staticmethod
    def of(function: Callable[[Any], str]) -> BucketAssigner:
        """Return the choice by a function from a record to the path of a subdirectory."""
        return BucketAssigner("function", function=function)

    def bucket(self, value: Any, timestamp: int | None) -> str:
        """Return the subdirectory of a record."""
        if self.fields:
            parts = (f"{_escaped(name)}={_shown(value, name)}" for name in self.fields)
            return _checked_bucket("/".join(parts))
        if self.function is not None:
            return _checked_bucket(self.function(value))
        if self.times is None:
            return ""
        if self.by == "system time":
            return self.times.name(int(time.time() * 1_000))
        if timestamp is None:
            raise FormatError(
                "BAD_BUCKET",
                f"{short_repr(value)} has no event time, and the sink's buckets are named by it",
                "give the stream a WatermarkStrategy with a timestamp assigner",
            )
        return self.times.name(timestamp)


def _shown(value: Any, name: str) -> str:
    found = value[name] if isinstance(value, Row | dict) else getattr(value, name)
    return "__HIVE_DEFAULT_PARTITION__" if found is None else _escaped(str(found))


def _escaped(text: str) -> str:
    """A text as a part of a path, as Hive writes it."""
    return quote(text, safe=" !$()+,;@[]{}~&") or "__HIVE_DEFAULT_PARTITION__"


def _checked_bucket(path: object) -> str:
    parts = path.split("/") if isinstance(path, str) else []
    if parts and all(part and not is_hidden(part) and "\\" not in part for part in parts):
        return str(path)
    raise FormatError(
        "BAD_BUCKET",
        f"{short_repr(path)} is no subdirectory for records",
        "give a path such as 'a/b=1'; names that begin with ., or with _ and have no =, are hidden "
        "from readers",
    )


@dataclass(frozen=True)
class RollingPolicy:
    """When a file is closed and the next one begun: with its epoch at the latest."""

    part_size: int | None = None
    rollover_interval: int | None = None
    inactivity_interval: int | None = None

    @staticmethod
    def default_rolling_policy(
        part_size: int = 128 << 20,
        rollover_interval: int = 60_000,
        inactivity_interval: int = 60_000,
    ) -> DefaultRollingPolicy:
        """Return the choice by size; a file that is about so large is followed by another one.

        The intervals are accepted: no file is open for longer than an epoch.
        """
        for number in (part_size, rollover_interval, inactivity_interval):
            if not isinstance(number, int) or number <= 0:
                raise ValueError(f"a rolling policy takes positive numbers, got {number!r}")
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """Return the choice to close files with each epoch only."""
        return OnCheckpointRollingPolicy()


class DefaultRollingPolicy(RollingPolicy):
    """The choice by size."""


class OnCheckpointRollingPolicy(RollingPolicy):
    """The choice to close files with each epoch only."""


@dataclass(frozen=True)
class OutputFileConfig:
    """How file names begin and end.

    Examples
    --------
    >>> OutputFileConfig.builder().with_part_prefix("words").build().get_part_prefix()
    'words'
    """

    part_prefix: str = "part"
    part_suffix: str = ""

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        """Begin to build one."""
        return OutputFileConfig.OutputFileConfigBuilder()

    def get_part_prefix(self) -> str:
        """Return how file names begin."""
        return self.part_prefix

    def get_part_suffix(self) -> str:
        """Return how file names end."""
        return self.part_suffix

    class OutputFileConfigBuilder:
        """Builds an `OutputFileConfig`."""

        def __init__(self) -> None:
            self._prefix = "part"
            self._suffix = ""

        def with_part_prefix(self, prefix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Set how file names begin."""
            self._prefix = prefix
            return self

        def with_part_suffix(self, suffix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Set how file names end."""
            self._suffix = suffix
            return self

        def build(self) -> OutputFileConfig:
            """Return it."""
            return OutputFileConfig(self._prefix, self._suffix)


@dataclass(frozen=True)
class FileCompactStrategy:
    """When small files are merged: after so many epochs, or when they have so many bytes.

    Examples
    --------
    >>> FileCompactStrategy.builder().enable_compaction_on_checkpoint(5).build().num_checkpoints
    5
    """

    num_checkpoints: int | None = None
    size_threshold: int | None = None
    num_threads: int = 1

    @staticmethod
    def builder() -> FileCompactStrategy.Builder:
        """Begin to build one."""
        return FileCompactStrategy.Builder()

    class Builder:
        """Builds a `FileCompactStrategy`."""

        def __init__(self) -> None:
            self._checkpoints: int | None = None
            self._size: int | None = None
            self._threads = 1

        def enable_compaction_on_checkpoint(
            self, num_checkpoints_before_compaction: int
        ) -> FileCompactStrategy.Builder:
            """Set after how many epochs that have written files into a bucket."""
            self._checkpoints = num_checkpoints_before_compaction
            return self

        def set_size_threshold(self, size_threshold: int) -> FileCompactStrategy.Builder:
            """Set from how many bytes on that wait in a bucket."""
            self._size = size_threshold
            return self

        def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategy.Builder:
            """Set how many threads do it."""
            self._threads = num_compact_threads
            return self

        def build(self) -> FileCompactStrategy:
            """Return it."""
            numbers = [n for n in (self._checkpoints, self._size) if n is not None]
            if not numbers or any(n < 1 for n in (*numbers, self._threads)):
                raise PlanError(
                    "BAD_COMPACTION",
                    f"files are merged after {self._checkpoints} epochs or {self._size} bytes, by "
                    f"{self._threads} threads: that is never",
                    location=user_location(),
                    hint="call enable_compaction_on_checkpoint(5), or set_size_threshold(1 << 27)",
                )
            return FileCompactStrategy(self._checkpoints, self._size, self._threads)


@dataclass(frozen=True)
class FileCompactor:
    """How small files are merged."""

    delimiter: bytes | None = None
    merges: bool = True

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """Return the choice to put lines one behind the other, with a delimiter between files."""
        return FileCompactor(file_delimiter)

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Return the choice to publish each file as it is, when it would have been merged."""
        return FileCompactor(merges=False)
