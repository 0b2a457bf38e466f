"""Files as batches: each takes those that are new in a folder, by Spark's rules."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from millstream.common.errors import PlanError, user_location
from millstream.dstream.inputs.base import Input, InputSite
from millstream.dstream.inputs.folders import Folder, FoundFile, content_of
from millstream.dstream.inputs.options import millis_of
from millstream.dstream.rdd import RDD, SparkContext

__all__ = ["FileInput", "fixed_records", "is_not_hidden", "text_records"]

T = TypeVar("T")
_log = logging.getLogger(__name__)
_REMEMBER = "spark.streaming.fileStream.minRememberDuration"
_OLD_REMEMBER = "spark.streaming.minRememberDuration"
_REMEMBER_MS = 60_000


def is_not_hidden(path: str) -> bool:
    """Whether the name of a file does not begin with a dot.

    Examples
    --------
    >>> is_not_hidden("/data/words.txt"), is_not_hidden("/data/.words.txt.part")
    (True, False)
    """
    return not path.rpartition("/")[2].startswith(".")


def text_records(content: bytes) -> list[str]:
    r"""The lines of a file.

    Examples
    --------
    >>> text_records(b"to be\nor not")
    ['to be', 'or not']
    """
    text = content.decode("utf-8", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def fixed_records(length: int) -> Callable[[bytes], list[bytes]]:
    """A function that cuts the content of a file into records of a length.

    Examples
    --------
    >>> fixed_records(2)(b"abcd")
    [b'ab', b'cd']
    """
    if not isinstance(length, int) or isinstance(length, bool) or length < 1:
        raise PlanError(
            "RECORD_LENGTH",
            f"the length of records must be a number of bytes above 0, not {length!r}",
            location=user_location(),
            hint="give the length of one record in bytes",
        )

    def cut(content: bytes) -> list[bytes]:
        if len(content) % length:
            raise ValueError(f"{len(content)} bytes are no whole number of records of {length}")
        return [content[at : at + length] for at in range(0, len(content), length)]

    return cut


class FileInput(Input[T]):
    """The files that appear in a folder.

    A batch takes the files that were changed before its end, and after the program began (with
    ``new_files_only``), and not longer ago than files are remembered; each path once. So files must be
    moved into the folder when they are complete.

    Parameters
    ----------
    directory : str
        The folder, or a pattern for several folders.
    parse : callable
        Makes the records of the bytes of a file.
    accept : callable
        Whether a path is taken.
    new_files_only : bool
        Whether files that are there already are left out.
    now_ms : int
        The time now, by the clock of the context.
    conf : mapping
        Spark's configuration: ``spark.streaming.fileStream.minRememberDuration``.
    """

    def __init__(
        self,
        directory: str,
        parse: Callable[[bytes], Iterable[T]],
        accept: Callable[[str], bool],
        new_files_only: bool,
        now_ms: int,
        conf: Mapping[str, str],
    ) -> None:
        self._folder = Folder(directory)
        self._parse = parse
        self._accept = accept
        self._since_ms = now_ms if new_files_only else 0
        old = millis_of(conf, _OLD_REMEMBER, _REMEMBER_MS, unit_ms=1000)
        self._least_ms = millis_of(conf, _REMEMBER, old, unit_ms=1000)
        self._batch_ms = 0
        self._remember_ms = 0
        self._last_ms: int | None = None
        self._recent: dict[str, int] = {}  # When a path was taken.

    def open(self, site: InputSite) -> None:
        """Learn how long a batch is."""
        if self._last_ms is not None and self._last_ms < self._since_ms:
            # The program was made again after a crash; files of the time between are new.
            self._since_ms = site.start_ms
        self._batch_ms = site.batch_ms
        self._remember_ms = math.ceil(self._least_ms / site.batch_ms) * site.batch_ms

    def take(self, time_ms: int) -> list[FoundFile] | None:
        """The files that are new."""
        # A batch that comes late, as the first one after a recovery, looks back to the one before it.
        due = time_ms if self._last_ms is None else min(time_ms, self._last_ms + self._batch_ms)
        ignored_ms = max(self._since_ms, due - self._remember_ms)
        self._recent = {path: at for path, at in self._recent.items() if at > ignored_ms}
        try:
            found = [
                file for file in self._folder.files() if self._is_new(file, ignored_ms, time_ms)
            ]
        except OSError as error:
            # The next batch finds what this one has not.
            _log.warning("new files in %s cannot be listed: %s", self._folder.path, error)
            return None
        self._note(found, time_ms)
        return found or None

    def _is_new(self, file: FoundFile, ignored_ms: int, time_ms: int) -> bool:
        return (
            # Who opens a file in place, and writes then, is given the time to do so.
            file.size > 0
            and ignored_ms < file.modified_ms <= time_ms
            and file.path not in self._recent
            and self._accept(file.path)
        )

    def _note(self, files: Iterable[FoundFile], time_ms: int) -> None:
        self._recent |= {file.path: time_ms for file in files}
        self._last_ms = time_ms

    def restore(self, taken: list[FoundFile] | None, time_ms: int) -> None:
        """Remember which files batches in the log have."""
        self._note(taken or [], time_ms)

    def rdd(self, context: SparkContext, taken: list[FoundFile] | None, time_ms: int) -> RDD[T]:
        """One partition for each file, which is read when it is needed."""
        parse = self._parse
        files = context.from_partitions([[file] for file in taken or ()], "fileStream")
        return files.flatMap(lambda file: parse(content_of(file)))

    def description(self, taken: list[FoundFile] | None) -> str:
        """The paths of the files."""
        return "\n".join(file.path for file in taken or ())
