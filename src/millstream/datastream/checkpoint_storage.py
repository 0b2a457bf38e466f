"""Where checkpoints are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.common.absent import missing_name
from millstream.common.errors import PlanError, user_location
from millstream.common.execution_config import accepted_without_effect

__all__ = ["CheckpointStorage", "FileSystemCheckpointStorage", "JobManagerCheckpointStorage"]


class CheckpointStorage:
    """A place for checkpoints; the checkpoint config takes it."""

    def get_checkpoint_path(self) -> str | None:
        """Return the directory, None for a temporary one."""
        return None

    def get_savepoint_path(self) -> str | None:
        """Return None: ``env.set_default_savepoint_directory`` says where savepoints go."""
        return None


class FileSystemCheckpointStorage(CheckpointStorage):
    """A directory, by any path that Hadoop understands.

    Examples
    --------
    >>> FileSystemCheckpointStorage("s3a://bucket/checkpoints").get_checkpoint_path()
    's3a://bucket/checkpoints'
    """

    MAX_FILE_STATE_THRESHOLD = 1 << 20
    """The largest ``file_state_size_threshold`` of Flink."""

    def __init__(
        self,
        checkpoint_path: str,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int = -1,
    ) -> None:
        self._path = checked_path(checkpoint_path).rstrip("/") or "/"
        self._threshold = file_state_size_threshold
        self._buffer = write_buffer_size
        if file_state_size_threshold is not None or write_buffer_size != -1:
            accepted_without_effect("FileSystemCheckpointStorage", "Spark chooses sizes itself")

    def get_checkpoint_path(self) -> str:
        return self._path

    def get_min_file_size_threshold(self) -> int:
        """Return what was given, or Flink's default of 20 kB."""
        return 20 << 10 if self._threshold is None else self._threshold

    def get_write_buffer_size(self) -> int:
        """Return what was given, or Flink's default of 4 kB."""
        return 4 << 10 if self._buffer < 0 else self._buffer


class JobManagerCheckpointStorage(CheckpointStorage):
    """Flink keeps these checkpoints in memory; Spark always writes files, so give it a directory.

    Without one the checkpoints go into a temporary directory and end with the job.
    """

    DEFAULT_MAX_STATE_SIZE = 5 << 20
    """Flink's limit; state here has none."""

    def __init__(
        self, checkpoint_path: str | None = None, max_state_size: int | None = None
    ) -> None:
        self._max_state_size = max_state_size or self.DEFAULT_MAX_STATE_SIZE
        if max_state_size is not None:
            accepted_without_effect("JobManagerCheckpointStorage", "checkpoints are files")
        self._path = None if checkpoint_path is None else checked_path(checkpoint_path)

    def get_checkpoint_path(self) -> str | None:
        return self._path

    def get_max_state_size(self) -> int:
        """Return what was given; state may be larger all the same."""
        return self._max_state_size


def checked_path(path: object) -> str:
    """Return a path as text if it can be one."""
    text = path if isinstance(path, str) else getattr(path, "__fspath__", lambda: None)()
    if not isinstance(text, str) or not text.strip():
        raise PlanError(
            "BAD_PATH",
            f"a path is needed, got {path!r}",
            location=user_location(),
            hint='give a path such as "/data/in" or "s3a://bucket/in"',
        )
    return text


if not TYPE_CHECKING:
    __getattr__ = missing_name(__name__)
