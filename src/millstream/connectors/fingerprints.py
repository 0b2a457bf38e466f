"""Fingerprints of parts: which records a part has, and how many parts its epoch has."""

from __future__ import annotations

import re

__all__ = ["parts_of", "same_records", "with_parts"]

_OF = re.compile(r"(.*) of (\d+)", re.DOTALL)


def with_parts(fingerprint: str, parts: int) -> str:
    """The fingerprint of a part, with the number of parts of its epoch; 0: that is not known.

    >>> with_parts("8-1a2b3c4d", 4)
    '8-1a2b3c4d of 4'
    """
    return f"{fingerprint} of {parts}" if parts else fingerprint


def parts_of(fingerprint: str) -> int:
    """The number of parts; 0 if it is not known, as in markers of earlier versions.

    >>> parts_of("8-1a2b3c4d of 4"), parts_of("8-1a2b3c4d")
    (4, 0)
    """
    found = _OF.fullmatch(fingerprint)
    return 0 if found is None else int(found[2])


def same_records(one: str, other: str) -> bool:
    """Whether two fingerprints are of the same records; the number of parts may be missing in one.

    >>> same_records("8-1a2b3c4d of 4", "8-1a2b3c4d"), same_records("8-1a of 4", "8-1a of 3")
    (True, False)
    """
    first, second = (_OF.sub(r"\1", text) for text in (one, other))
    return first == second and (one == other or 0 in (parts_of(one), parts_of(other)))
