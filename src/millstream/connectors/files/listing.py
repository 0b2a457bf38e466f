"""The files of a path: a file, a folder or a pattern, listed without Spark.

Files are chosen as Spark's readers do: those directly in a folder, without hidden and empty ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow.fs as pafs

from millstream.common.errors import MillstreamError
from millstream.connectors.files.hidden import is_hidden
from millstream.connectors.files.opening import GLOB, file_system

_UNKNOWN_TIME = -1


@dataclass(frozen=True)
class ListedFile:
    """A file with something in it, as it was when somebody looked.

    ``changed_ns``: when it was last changed, -1 if its file system does not say.
    """

    path: str
    size: int
    changed_ns: int


def files_of(path: str, options: Mapping[str, str]) -> list[ListedFile]:
    """The files of a path, by their names.

    Parameters
    ----------
    path
        A file, a folder or a pattern in Hadoop's spelling.
    options
        Spark's options ``pathGlobFilter`` and ``recursiveFileLookup``; others have no effect here.
    """
    wanted = {name.lower(): value for name, value in options.items()}
    deep = wanted.get("recursivefilelookup", "false").lower() == "true"
    fits = regex_of(wanted.get("pathglobfilter", "*"))
    fs, inner = file_system(path)
    # Around the path of the file system is what leads to it: a scheme, a host.
    before, _, after = path.rpartition(inner)
    found = {
        info.path: info
        for root in _roots(fs, inner, path)
        for info in _below(fs, root, deep=deep)
        if info.size and not is_hidden(info.base_name) and fits.fullmatch(info.base_name)
    }
    # Some file systems leave out the first slash.
    slash = "/" if inner.startswith("/") else ""
    return [
        listed(info, f"{before}{slash}{name.removeprefix(slash)}{after}")
        for name, info in sorted(found.items())
    ]


def listed(info: pafs.FileInfo, path: str) -> ListedFile:
    """A file as its file system describes it."""
    return ListedFile(path, info.size, _UNKNOWN_TIME if info.mtime is None else info.mtime_ns)


def look(path: str) -> ListedFile | None:
    """A file as it is now; None if it is gone."""
    fs, inner = file_system(path)
    info = fs.get_file_info(inner)
    return listed(info, path) if info.type == pafs.FileType.File else None


def is_below(name: str, path: str) -> bool:
    """Whether a file can be one of those of a path, by the part of the path before its first pattern.

    Examples
    --------
    >>> is_below("/data/words/a", "/data/words"), is_below("/data/words", "/data/words")
    (True, True)
    >>> is_below("/data/2024-1/a", "/data/2024-*"), is_below("/data/words2/a", "/data/words")
    (True, False)
    >>> is_below("/data/words/../a", "/data/words")
    False
    """
    parts, plain = name.split("/"), path.rstrip("/").split("/")
    known = next((n for n, part in enumerate(plain) if not GLOB.isdisjoint(part)), len(plain))
    return parts[:known] == plain[:known] and ".." not in parts


def _roots(fs: pafs.FileSystem, inner: str, path: str) -> list[pafs.FileInfo]:
    """The files and folders that a path or pattern names."""
    parts = inner.split("/")
    plain = next((n for n, part in enumerate(parts) if not GLOB.isdisjoint(part)), len(parts))
    roots = [fs.get_file_info("/".join(parts[:plain]) or "/")]
    for pattern in parts[plain:]:
        fits = regex_of(pattern)
        roots = [
            info
            for root in roots
            if root.type == pafs.FileType.Directory
            for info in fs.get_file_info(pafs.FileSelector(root.path))
            if fits.fullmatch(info.base_name)
        ]
    found = [root for root in roots if root.type != pafs.FileType.NotFound]
    if not found:
        raise refused(path, "there is no such file or folder")
    return found


def _below(fs: pafs.FileSystem, root: pafs.FileInfo, *, deep: bool) -> Iterator[pafs.FileInfo]:
    if root.type == pafs.FileType.File:
        yield root
        return
    for info in fs.get_file_info(pafs.FileSelector(root.path, recursive=deep)):
        if info.type == pafs.FileType.File:
            inside = info.path.removeprefix(root.path).strip("/").split("/")[:-1]
            if not any(map(is_hidden, inside)):
                yield info
        elif "=" in info.base_name and not deep:
            raise refused(root.path, f"the folder {info.base_name} stands for a value of a column")


def regex_of(pattern: str) -> re.Pattern[str]:
    """A part of a path in Hadoop's pattern language.

    Examples
    --------
    >>> pattern = regex_of("day-{1,2?}.[!x]*")
    >>> [bool(pattern.fullmatch(name)) for name in ("day-1.csv", "day-27.csv", "day-3.csv", "day-1.x")]
    [True, True, False, False]
    """
    written, depth = "", 0
    for kind in re.findall(r"\\.|\[[!^]?[^]]+\]|.", pattern, re.DOTALL):
        if kind == "{":
            written, depth = written + "(?:", depth + 1
        elif kind == "}" and depth:
            written, depth = written + ")", depth - 1
        elif kind == "," and depth:
            written += "|"
        elif len(kind) == 2:
            written += re.escape(kind[1])
        else:
            written += _translated(kind)
    if depth:
        raise refused(pattern, "a bracket { is not closed")
    return re.compile(written, re.DOTALL)


def _translated(kind: str) -> str:
    if len(kind) == 1:
        return {"*": ".*", "?": "."}.get(kind, re.escape(kind))
    inner = kind[1:-1].replace("\\", "\\\\")
    return f"[^{inner[1:]}]" if inner[0] in "!^" else f"[{inner}]"


def refused(path: str, why: str) -> MillstreamError:
    """A path that cannot be listed."""
    return MillstreamError(
        "SOURCE_REFUSED",
        f"{path} cannot be read: {why}",
        hint="give files, folders or patterns that are there when the job starts",
    )
