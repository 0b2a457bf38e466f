"""Small JSON files that other processes have written: read, checked, and set aside if they are bad."""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow.fs as pafs

from millstream.checkpoint.trust import distrust_of

__all__ = [
    "MOST_MANIFEST_BYTES",
    "BadFile",
    "Shape",
    "SmallFile",
    "Unreadable",
    "is_identifier",
    "is_inside",
    "is_mapping",
    "is_natural",
    "is_pairs",
    "is_text",
    "is_texts",
    "is_truth",
    "is_whole",
    "names_in",
    "number_of",
    "numbers_of",
    "one_of",
    "optional",
    "read_small",
    "read_texts",
    "refuse_misshapen",
    "set_aside",
]

log = logging.getLogger("millstream")

MOST_BYTES = 4 << 20
MOST_MANIFEST_BYTES = 1 << 30
"""The limit of files that name all files of an epoch, of a savepoint or of a source."""

REJECTED = ".rejected-"
"""What the name of a file begins with that was set aside; names with a dot in front are not read."""

Check = Callable[[Any], bool]
Shape = Mapping[str, Check]
"""What each field of a file has to be. Fields that are not named may be anything."""

_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class BadFile(ValueError):
    """A file that is there, but cannot be used; says why."""


class Unreadable(BadFile, OSError):
    """A file that the system does not let us read, now at least: it may be as it should."""


@dataclass(frozen=True)
class SmallFile:
    """The content of a file; ``distrust`` says why its writer is not trusted, None if nothing does."""

    content: dict[str, Any]
    distrust: str | None


# -- what a field may be ---------------------------------------------------------------------------


def number_of(name: str) -> int | None:
    """The number that a name consists of, None if it is no number. Other digits than 0 to 9 are none.

    Examples
    --------
    >>> number_of("00000012"), number_of("-1"), number_of("\u00b2"), number_of("")
    (12, None, None, None)
    """
    return int(name) if name.isascii() and name.isdigit() else None


def numbers_of(names: Iterable[str]) -> list[int]:
    """The numbers among names, the lowest first."""
    return sorted(number for name in names if (number := number_of(name)) is not None)


def is_text(value: object) -> bool:
    """Any text."""
    return isinstance(value, str)


def is_identifier(value: object) -> bool:
    """A name that is also safe as the name of a file, and on a command line.

    Examples
    --------
    >>> is_identifier("3f2a"), is_identifier("../x"), is_identifier("$(id)"), is_identifier("-x")
    (True, False, False, False)
    """
    return isinstance(value, str) and _IDENTIFIER.fullmatch(value) is not None


def is_whole(value: object) -> bool:
    """A whole number of 64 bits."""
    return type(value) is int and -(2**63) <= value < 2**63


def is_inside(value: object) -> bool:
    """A path that stays in the folder it is relative to.

    Savepoints name the records that no operator owns ``state//held/...``: an empty part is harmless.

    Examples
    --------
    >>> [is_inside(path) for path in ("state//a.parquet", "/etc/passwd", "a/../../b", "", 5)]
    [True, False, False, False, False]
    """
    if not isinstance(value, str) or not value or value[0] == "/":
        return False
    if "\\" in value or "\0" in value:
        return False
    return all(part not in (".", "..") for part in value.split("/"))


def is_natural(value: object) -> bool:
    """A whole number of 64 bits from 0 on."""
    return is_whole(value) and value >= 0  # type: ignore[operator]


def is_truth(value: object) -> bool:
    """True or False."""
    return isinstance(value, bool)


def is_texts(value: object) -> bool:
    """A list of texts."""
    return isinstance(value, list) and all(map(is_text, value))


def is_pairs(value: object) -> bool:
    """A list of pairs of texts."""
    return isinstance(value, list) and all(is_texts(pair) and len(pair) == 2 for pair in value)


def is_mapping(value: object) -> bool:
    """Accept any JSON object."""
    return isinstance(value, dict)


def optional(check: Check) -> Check:
    """The content of a file if it passes the check, or None."""
    return lambda value: value is None or check(value)


def one_of(*values: str) -> Check:
    """One of some texts."""
    return lambda value: isinstance(value, str) and value in values


# -- files -----------------------------------------------------------------------------------------


def read_small(
    fs: pafs.FileSystem, path: str, shape: Shape, *, most_bytes: int = MOST_BYTES
) -> SmallFile | None:
    """Read a file and check each of its fields; None if there is none.

    Raises
    ------
    BadFile
        If it is no plain file, too large, not readable, no JSON object, or a field is not as it should.
    """
    found = _read(fs, path, most_bytes)
    if found is None:
        return None
    content, why = found
    if not isinstance(content, dict):
        raise BadFile("it is no JSON object")
    refuse_misshapen(content, shape)
    return SmallFile(content, why)


def read_texts(fs: pafs.FileSystem, path: str, *, most_bytes: int = MOST_BYTES) -> list[str] | None:
    """Read a file that lists texts; None if there is none.

    Raises
    ------
    BadFile
        As `read_small`.
    """
    found = _read(fs, path, most_bytes)
    if found is None:
        return None
    texts, _ = found
    if not isinstance(texts, list) or not is_texts(texts):
        raise BadFile("it is no list of texts")
    return texts


def _read(fs: pafs.FileSystem, path: str, most_bytes: int) -> tuple[Any, str | None] | None:
    """The content of a file, and why its writer is not trusted; None if there is no file."""
    try:
        if isinstance(fs, pafs.LocalFileSystem):
            data, why = _read_local(path, most_bytes + 1)
        else:
            with fs.open_input_stream(path) as stream:
                data, why = bytes(stream.read(most_bytes + 1)), None
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unreadable(f"it cannot be read: {error.strerror or error}") from error
    if len(data) > most_bytes:
        raise BadFile(f"it has more than {most_bytes >> 20} MB")
    try:
        return json.loads(data), why
    except (ValueError, RecursionError) as error:
        raise BadFile("it is no JSON, or cut short") from error


def _read_local(path: str, size: int) -> tuple[bytes, str | None]:
    """The bytes of a file and why its writer is not trusted: owner and content are of one descriptor."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise BadFile("it is a symbolic link") from error
        raise
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise BadFile("it is no plain file")
        return file.read(size), distrust_of(found, path)


def refuse_misshapen(content: object, shape: Shape) -> None:
    """Raise a `BadFile` if something is no JSON object, or a field of it is not as it should be."""
    if not isinstance(content, dict):
        raise BadFile("a part of it is no JSON object")
    wrong = [name for name, check in shape.items() if not check(content.get(name))]
    if wrong:
        raise BadFile(f"what it says of {', '.join(wrong)} is missing or makes no sense")


def set_aside(fs: pafs.FileSystem, path: str, why: str) -> None:
    """Rename a file that cannot be used, so that it is not read again, and say so."""
    folder, _, name = path.rpartition("/")
    log.warning("%r is set aside: %s", path, why)
    # Not with Arrow's functions: they cannot take a name that is no UTF-8.
    move = os.rename if isinstance(fs, pafs.LocalFileSystem) else fs.move
    try:
        move(path, f"{folder}/{REJECTED}{name}")
    except OSError:
        # The name may be too long for a prefix.
        short = hashlib.sha256(os.fsencode(name)).hexdigest()
        with suppress(OSError):
            move(path, f"{folder}/{REJECTED}{short}")


def names_in(fs: pafs.FileSystem, folder: str) -> list[str]:
    """The sorted names in a folder that are not hidden; empty if it is no folder, or cannot be read."""
    if isinstance(fs, pafs.LocalFileSystem):
        try:
            names = os.listdir(folder)
        except OSError:
            return []
        return sorted(name for name in names if not name.startswith("."))
    found = fs.get_file_info(pafs.FileSelector(folder, allow_not_found=True))
    return sorted(info.base_name for info in found if not info.base_name.startswith("."))
