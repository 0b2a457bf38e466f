"""Flink's choices about files that Spark makes itself: accepted, checked and explained."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "BucketAssigner",
    "FileCompactStrategy",
    "FileCompactor",
    "FileEnumeratorProvider",
    "FileSplitAssignerProvider",
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
    """Into which subdirectory a record goes."""

    format_str: str | None = None
    timezone_id: str | None = None

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """Return the choice of no subdirectories, as it is here."""
        return BucketAssigner()

    @staticmethod
    def date_time_bucket_assigner(
        format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None
    ) -> BucketAssigner:
        """Return the choice of a subdirectory for each hour, or as the format says."""
        return BucketAssigner(format_str, timezone_id)


@dataclass(frozen=True)
class RollingPolicy:
    """When a file is closed and the next one begun."""

    part_size: int | None = None
    rollover_interval: int | None = None
    inactivity_interval: int | None = None

    @staticmethod
    def default_rolling_policy(
        part_size: int = 128 << 20,
        rollover_interval: int = 60_000,
        inactivity_interval: int = 60_000,
    ) -> RollingPolicy:
        """Return the choice by size and age."""
        for number in (part_size, rollover_interval, inactivity_interval):
            if not isinstance(number, int) or number <= 0:
                raise ValueError(f"a rolling policy takes positive numbers, got {number!r}")
        return RollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> RollingPolicy:
        """Return the choice to close files with each checkpoint, as it is here."""
        return RollingPolicy()


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
    """When small files are merged."""

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
            """Set after how many checkpoints."""
            self._checkpoints = num_checkpoints_before_compaction
            return self

        def set_size_threshold(self, size_threshold: int) -> FileCompactStrategy.Builder:
            """Set from what size on."""
            self._size = size_threshold
            return self

        def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategy.Builder:
            """Set how many threads do it."""
            self._threads = num_compact_threads
            return self

        def build(self) -> FileCompactStrategy:
            """Return it."""
            return FileCompactStrategy(self._checkpoints, self._size, self._threads)


@dataclass(frozen=True)
class FileCompactor:
    """How small files are merged."""

    delimiter: bytes | None = None

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """Return the choice to put one behind the other."""
        return FileCompactor(file_delimiter)

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Return the choice to copy single files."""
        return FileCompactor()
