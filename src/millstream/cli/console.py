"""Where a command writes: results to stdout, as text or JSON, all else to stderr."""

from __future__ import annotations

import json
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

from millstream.cli.errors import exit_code_of
from millstream.cli.text import escaped, progress_bar
from millstream.common.errors import MillstreamError
from millstream.common.secrets import masked_uris

__all__ = ["Console", "Progress"]

_EVERY_SECONDS = 0.1
_CLEAR = "\x1b[H\x1b[2J"


class Console:
    """Output of a command: ``--json``, ``--quiet`` and ``--debug`` decide its form.

    Parameters
    ----------
    as_json : bool
        Results are JSON, and there is nothing besides them.
    quiet : bool
        Of results only what a script needs, such as a path; no notes, no progress.
    debug : bool
        Errors with all their frames.
    out, err
        Where to write; by default this process's own.

    Examples
    --------
    >>> Console().result({"savepoint": "/sp/1"}, "The savepoint is in /sp/1.", "/sp/1")
    The savepoint is in /sp/1.
    >>> Console(quiet=True).result({"savepoint": "/sp/1"}, "The savepoint is in /sp/1.", "/sp/1")
    /sp/1
    """

    def __init__(
        self,
        *,
        as_json: bool = False,
        quiet: bool = False,
        debug: bool = False,
        out: TextIO | None = None,
        err: TextIO | None = None,
    ) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.debug = debug
        self.out = sys.stdout if out is None else out
        self.err = sys.stderr if err is None else err
        self.redact: Callable[[str], str] = str
        """Masks the secrets that the command line has."""

    @property
    def width(self) -> int | None:
        """How wide tables may be; None if it is no terminal that they go to."""
        return shutil.get_terminal_size().columns if self.out.isatty() else None

    def now_ms(self) -> int:
        """The time of the day, to say how long ago something was."""
        return time.time_ns() // 1_000_000

    def result(self, data: Mapping[str, Any], text: str, brief: str | None = None) -> None:
        """Write what the command was asked for.

        Parameters
        ----------
        data
            All of it, for ``--json``.
        text
            For a person.
        brief
            For ``--quiet``; None: nothing.
        """
        if self.as_json:
            self._print_json(data)
            return
        if self.quiet:
            text = brief or ""
        if text:
            self._print(text, self.out)

    def note(self, text: str) -> None:
        """Tell a person what goes on."""
        if not (self.as_json or self.quiet):
            self._print(text, self.err)

    def error(self, error: BaseException) -> None:
        """Write an error: one message, with all frames only for ``--debug``."""
        if self.debug:
            self._print("".join(traceback.format_exception(error)).rstrip("\n"), self.err)
        if self.as_json:
            told: dict[str, Any] = {"code": None, "message": _one_line(error)}
            if isinstance(error, MillstreamError):
                told = error.to_dict()
            data = {"error": told, "exit_code": exit_code_of(error)}
            self._print_json(data)
        elif isinstance(error, MillstreamError):
            self._print(f"millstream: {error}", self.err)
        else:
            hint = "" if self.debug else "\n  what to do: --debug shows where"
            self._print(f"millstream: {_one_line(error)}{hint}", self.err)

    def clear(self) -> None:
        """Clear the terminal, if there is one."""
        if self.out.isatty():
            self.out.write(_CLEAR)

    def draw(self, lines: Iterable[str]) -> None:
        """Clear the terminal, and write lines that are cut at its edge."""
        columns = shutil.get_terminal_size().columns
        self.clear()
        shown = [self._safe(line, keep="")[:columns] for line in lines]
        print("\n".join(shown), file=self.out, flush=True)

    def _print(self, text: str, stream: TextIO) -> None:
        print(self._safe(text, keep="\n\t"), file=stream, flush=True)

    def _safe(self, text: str, *, keep: str) -> str:
        return escaped(masked_uris(self.redact(text)), keep=keep)

    def _print_json(self, data: Mapping[str, Any]) -> None:
        # Secrets are masked in texts only: a number with a mask in it is no JSON.
        print(json.dumps(self._masked(data), indent=2), file=self.out, flush=True)

    def _masked(self, value: Any) -> Any:
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, Mapping):
            return {key: self._masked(inner) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._masked(inner) for inner in value]
        return masked_uris(self.redact(str(value)))

    @contextmanager
    def progress(self, title: str) -> Iterator[Progress]:
        """A bar for what takes long; it is shown on a terminal only."""
        wanted = self.err.isatty() and not (self.as_json or self.quiet)
        bar = Progress(title, self.err if wanted else None)
        try:
            yield bar
        finally:
            bar.close()


def _one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".split("\n")[0].rstrip(": ")


class Progress:
    """A bar that is told how much is done: ``progress(done, total)``.

    Parameters
    ----------
    title : str
        What is being done.
    stream
        The terminal; None shows nothing.

    Examples
    --------
    >>> progress = Progress("savepoint", sys.stdout)
    >>> progress(5, 5, "files"); progress.close()  # doctest: +ELLIPSIS
    savepoint [########################] 100%  5 files of 5 files  ...
    """

    def __init__(self, title: str, stream: TextIO | None) -> None:
        self._title = title
        self._stream = stream
        self._began = time.monotonic()
        self._shown: float | None = None
        self._length = 0

    def __call__(self, done: int, total: int | None = None, unit: str = "bytes") -> None:
        """Take in how much is done."""
        if self._stream is None:
            return
        moment = time.monotonic()
        if self._shown is None or moment - self._shown >= _EVERY_SECONDS or done == total:
            self._shown = moment
            self._write(progress_bar(self._title, done, total, unit, moment - self._began))

    def _write(self, text: str) -> None:
        assert self._stream is not None
        text = text[: shutil.get_terminal_size().columns - 1]
        # The first line is written without a return: there is nothing to write over.
        start = "\r" if self._length else ""
        self._stream.write(start + text.ljust(self._length))
        self._stream.flush()
        self._length = max(self._length, len(text))

    def close(self) -> None:
        """Leave the bar where it is and go to the next line."""
        if self._stream is not None and self._length:
            self._stream.write("\n")
