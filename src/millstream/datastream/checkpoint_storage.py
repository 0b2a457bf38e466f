"""Where checkpoints are kept."""

from __future__ import annotations

from millstream.common.errors import PlanError, user_location
from millstream.common.execution_config import accepted_without_effect

__all__ = ["CheckpointStorage", "FileSystemCheckpointStorage", "JobManagerCheckpointStorage"]


class CheckpointStorage:
    """A place for checkpoints; the checkpoint config takes it."""

    def get_checkpoint_path(self) -> str | None:
        """Return the directory, None for a temporary one."""
        return None


class FileSystemCheckpointStorage(CheckpointStorage):
    """A directory, by any path that Hadoop understands.

    Examples
    --------
    >>> FileSystemCheckpointStorage("s3a://bucket/checkpoints").get_checkpoint_path()
    's3a://bucket/checkpoints'
    """

    def __init__(
        self,
        checkpoint_path: str,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int = -1,
    ) -> None:
        self._path = checked_path(checkpoint_path)
        if file_state_size_threshold is not None or write_buffer_size != -1:
            accepted_without_effect("FileSystemCheckpointStorage", "Spark chooses sizes itself")

    def get_checkpoint_path(self) -> str:
        return self._path


class JobManagerCheckpointStorage(CheckpointStorage):
    """Flink keeps these checkpoints in memory; Spark always writes files, so give it a directory.

    Without one the checkpoints go into a temporary directory and end with the job.
    """

    def __init__(
        self, checkpoint_path: str | None = None, max_state_size: int | None = None
    ) -> None:
        if max_state_size is not None:
            accepted_without_effect("JobManagerCheckpointStorage", "checkpoints are files")
        self._path = None if checkpoint_path is None else checked_path(checkpoint_path)

    def get_checkpoint_path(self) -> str | None:
        return self._path


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
