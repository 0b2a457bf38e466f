"""What a window operator is to do. Apart from the rest of the kernel: the user API fills it in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from millstream.common.output_tag import OutputTag
from millstream.kernel.windows.contents import Fold

if TYPE_CHECKING:
    from millstream.kernel.order import Ints


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
    """All that a window operator does.

    ``fold`` makes one value of a window's records (None: they are kept). ``function`` is asked
    ``process(key, context, elements)`` for what a firing window emits, and told ``clear(context)`` when
    a window is cleared.

    ``alignment``: given if the windows follow from the time alone, with the default trigger and no
    evictor; ``session_gap`` likewise for sessions, with lateness 0. ``emits_fold``: the function only
    emits what was folded. ``counts``: it emits the key and the number of its records.
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
    lateness: Literal["channel", "operator"] = "channel"
    late_tag: OutputTag | None = None
    second_late_tag: OutputTag | None = None

    def are_used_once(self) -> bool:
        """Whether nobody else sees the records that a firing window gives to its function.

        They are in no other window, and this one fires no more; or the function is the library's own.
        """
        if self.emits_fold or self.counts:
            return True
        in_one_window = self.session_gap is not None or (
            self.alignment is not None and self.alignment.overlap == 1
        )
        return in_one_window and not self.allowed_lateness_ms

    def waits_for_its_end(self) -> bool:
        """Whether windows fire an instant later than others: those in event time that merge do."""
        merges = hasattr(self.assigner, "merge_windows")
        return merges and bool(self.assigner.is_event_time())
