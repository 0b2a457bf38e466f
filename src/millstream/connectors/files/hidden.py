"""Which files Spark's readers leave out. Without Arrow: the names of the API ask this, too."""

from __future__ import annotations


def is_hidden(name: str) -> bool:
    """Whether readers pass over a file or folder of this name, as those of Spark do.

    Examples
    --------
    >>> [is_hidden(name) for name in ("_SUCCESS", ".crc", "_day=1", ".day=1", "day=1")]
    [True, True, False, True, False]
    """
    if name.startswith("_"):
        return "=" not in name
    return name.startswith(".") or name.endswith("._COPYING_")
