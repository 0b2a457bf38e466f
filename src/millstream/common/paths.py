"""Which paths are of this machine: the one place that reads a path or URI of a user."""

from __future__ import annotations

import os
import re
from urllib.parse import unquote

__all__ = ["absolute_path", "local_path"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/|(file):", re.IGNORECASE)
"""How a URI begins. A drive letter is no scheme, nor is a colon in the name of a file."""


def local_path(path: str) -> str | None:
    """The absolute path of a file or folder of this machine; None if the path leads elsewhere.

    A relative path is one of this process: tasks and the JVM have working directories of their own. In
    ``file://...`` a ``%20`` is a space, as `pathlib.Path.as_uri` writes it; in ``file:/...`` it is not.
    A ``~`` is the name of a folder: shells replace it, programs do not.

    Examples
    --------
    >>> local_path("/data/words"), local_path("file:/data/words"), local_path("file:///my%20words")
    ('/data/words', '/data/words', '/my words')
    >>> local_path("s3://bucket/words"), local_path("hdfs:/words"), local_path("file://host/words")
    (None, None, None)
    """
    scheme = _SCHEME.match(path)
    if scheme is None:
        return _absolute(path)
    if (scheme[1] or scheme[2]).lower() != "file":
        return None
    inner = path[len("file:") :]
    if not inner.startswith("//"):
        return _absolute(inner)
    host, slash, rest = inner[2:].partition("/")
    if host.lower() not in ("", "localhost"):
        return None
    return _absolute(unquote(slash + rest))


def _absolute(path: str) -> str:
    found = os.path.abspath(path)
    # Python leaves two slashes in front, in which Hadoop sees the name of a host.
    return f"/{found.lstrip('/')}" if found.startswith("//") else found


def absolute_path(path: str) -> str:
    """A path as other processes understand it: absolute if it is of this machine, else as it is.

    Examples
    --------
    >>> absolute_path("file:/data/words"), absolute_path("s3://bucket/words")
    ('/data/words', 's3://bucket/words')
    """
    return local_path(path) or path
