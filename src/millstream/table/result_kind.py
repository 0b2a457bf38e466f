"""The kind of a result: a success, or one with rows."""

from __future__ import annotations

__all__ = ["ResultKind"]


class ResultKind:
    """The kind of a result: a success, or one with rows."""

    SUCCESS = 0
    SUCCESS_WITH_CONTENT = 1
