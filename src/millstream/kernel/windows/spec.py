"""Specification of a window operator. Apart from the rest of the kernel: the user API fills it in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from millstream.common.output_tag import OutputTag
from millstream.kernel.windows.contents import Fold

if TYPE_CHECKING:
    from millstream.kernel.records.order import Ints


LEAVES = "leaves_elements"
"""Marks a window function that changes none of its elements, and lets nobody else do it."""


@dataclass(frozen=True)
class Alignment:
    """Windows of ``size`` that begin at ``offset`` and every multiple of ``slide`` from there."""

    size: int
    slide: int
    offset: int

    @property
    def overlap(self) -> int:
        """How many windows a record belongs to, at most."""
        return -(-self.size // self.slide)

    def newest_starts(self, ts: Ints) -> Ints:
        """The start of the last window that holds each time."""
        starts: Ints = ts - (ts - self.offset) % self.slide
        return starts


@dataclass(frozen=True, kw_only=True)
class WindowSpec:
    """Specification of a window operator.

    ``fold`` makes one value of a window's records (None: they are kept). ``function`` is asked
    ``process(key, context, elements)`` for what a firing window emits, and told ``clear(context)`` when
    a window is cleared.

    ``alignment``: given if the windows follow from the time alone, with the default trigger and no
    evictor; ``session_gap`` likewise for sessions. ``emits_fold``: the function only
    emits what was folded. ``counts``: it emits the key and the number of its records. ``summarizes``: it
    emits the key and several aggregates of fields, see `Summary`.
    ``second_late_tag``: the tag of late records of the second input, if there are two.
    """

    assigner: Any
    trigger: Any
    function: Any
    fold: Fold | None = None
    evictor: Any = None
    allowed_lateness_ms: int = 0
    alignment: Alignment | None = None
    session_gap: int | None = None
    emits_fold: bool = False
    counts: bool = False
    summarizes: bool = False
    lateness: Literal["channel", "operator"] = "channel"
    late_tag: OutputTag | None = None
    second_late_tag: OutputTag | None = None

    def are_used_once(self) -> bool:
        """Whether nobody else sees the records that a firing window gives to its function.

        They are in no other window, and this one fires no more; or the function leaves them alone.
        With an evictor they are folded only then.
        """
        folds_now = self.evictor is not None and self.fold is not None and not self.fold.is_ours
        ours = self.emits_fold or self.counts or self.summarizes
        leaves_them = ours or getattr(self.function, LEAVES, False)
        if leaves_them and not folds_now:
            return True
        return self._is_in_one_window() and not self.allowed_lateness_ms

    def is_folded_once(self) -> bool:
        """Whether nobody else sees a record that is folded when it comes.

        It is in no other window, and the trigger does not look at it; or the fold leaves it alone.
        """
        if self.fold is None or self.fold.is_ours or self.evictor is not None:
            return True
        return self._is_in_one_window()

    def _is_in_one_window(self) -> bool:
        """Whether each record is in one window at most, and the trigger is the default one."""
        one_each = self.alignment is not None and self.alignment.overlap == 1
        return one_each or self.session_gap is not None

    def plain_sessions(self) -> bool:
        """Whether windows are sessions that fire once, and are late by the channels of their records."""
        is_plain = not self.allowed_lateness_ms and self.lateness == "channel"
        return self.session_gap is not None and is_plain

    def waits_for_its_end(self) -> bool:
        """Whether windows fire an instant later than others: those in event time that merge do."""
        merges = hasattr(self.assigner, "merge_windows")
        return merges and bool(self.assigner.is_event_time())
