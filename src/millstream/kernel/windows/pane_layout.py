"""The names of layouts: how window operators keep their state."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, cast

from millstream.kernel.windows.contents import Reduced
from millstream.kernel.windows.spec import Alignment, WindowSpec

IN_PAGES = "windows in pages"
"""A table of windows for each key."""

PaneContent = Literal["partial sums", "counts", "columns"]
_PATTERN = re.compile(
    r"(partial sums|counts|columns) of (.+) in windows of (\d+) ms every (\d+) ms"
    r"(?: from (-?\d+) ms on)?"
)


@dataclass(frozen=True)
class PaneLayout:
    """State by pane: sums, numbers of records or records as columns. ``of``: their type as text.

    Examples
    --------
    >>> layout = PaneLayout("counts", "TUPLE(LONG)", Alignment(10, 5, 2))
    >>> str(layout)
    'counts of TUPLE(LONG) in windows of 10 ms every 5 ms from 2 ms on'
    >>> PaneLayout.read(str(layout)) == layout
    True
    """

    content: PaneContent
    of: str
    alignment: Alignment

    @staticmethod
    def read(name: str | None) -> PaneLayout | None:
        """The layout with a name, None if it is none of panes."""
        found = _PATTERN.fullmatch(name or "")
        if found is None:
            return None
        content, of, size, slide, offset = found.groups()
        alignment = Alignment(int(size), int(slide), int(offset or 0))
        return PaneLayout(cast("PaneContent", content), of, alignment)

    def becomes_windows_of(self, spec: WindowSpec) -> bool:
        """Whether a window that keeps its state in pages can go on from this.

        Sums need a function that adds to them, and records one that takes records.
        """
        if self.content == "columns":
            return spec.fold is None
        if spec.evictor is not None:
            return False
        return spec.counts if self.content == "counts" else isinstance(spec.fold, Reduced)

    def __str__(self) -> str:
        align = self.alignment
        offset = f" from {align.offset} ms on" if align.offset else ""
        spans = f"in windows of {align.size} ms every {align.slide} ms{offset}"
        return f"{self.content} of {self.of} {spans}"
