"""The records that an operator skips, as dead letters."""

from __future__ import annotations

import logging
from typing import Any

from millstream.common.dead_letter import DeadLetter
from millstream.common.errors import short_repr, user_code_error
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.calls.reports import OperatorCounts
from millstream.kernel.records.buffers import NO_TIMESTAMP
from millstream.kernel.records.copying import frozen

TRACEBACK_LIMIT = 2_000

log = logging.getLogger("millstream")


class DeadLetters:
    """Counts what an operator skips, and makes dead letters of it if there is a side output for them.

    ``number``: how many there have been. ``counts``: where the operator counts them.
    """

    def __init__(self, info: OperatorInfo, tag: str | None) -> None:
        self.info = info
        self.tag = tag
        self.number = 0
        self.counts: OperatorCounts | None = None

    def original(self, value: Any) -> Any:
        """A record before a function has it, as a dead letter would show it."""
        return value if self.tag is None else frozen(value)

    def take(self, error: Exception, value: Any, ts: int) -> DeadLetter | None:
        """Count a record that is skipped; the dead letter, if there is a place for it."""
        self._count(1)
        if self.tag is not None:
            return self._letter(error, value, ts)
        if self.number == 1:
            log.warning(
                "operator %r skips records it fails on, the first is %s: %s; "
                "on_error('skip', tag) keeps them",
                self.info.name,
                short_repr(value),
                self._described(error).partition("\n")[0],
            )
        return None

    def forget(self, number: int) -> None:
        """Count again as if there had been no more than so many."""
        if number != self.number:
            self._count(number - self.number)

    def _count(self, change: int) -> None:
        assert self.counts is not None
        self.number += change
        self.counts.skipped += change

    def _letter(self, error: Exception, value: Any, ts: int) -> DeadLetter:
        text = self._described(error)
        return DeadLetter(
            value=value,
            timestamp=None if ts == NO_TIMESTAMP else ts,
            operator=self.info.name,
            uid=self.info.uid,
            error=text.partition("\n")[0],
            traceback=text if len(text) <= TRACEBACK_LIMIT else f"{text[:TRACEBACK_LIMIT]}...",
        )

    def _described(self, error: Exception) -> str:
        return user_code_error(error, self.info.name, self.info.uid).user_traceback
