"""The names of layouts: how window operators keep their state."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, cast

from millstream.kernel.windows.contents import Reduced
from millstream.kernel.windows.spec import Alignment, WindowSpec

IN_PAGES = "windows in pages"
"""A table of windows for each key."""

PaneContent = Literal["partial sums", "counts", "aggregates", "columns"]
_PATTERN = re.compile(
    r"(partial sums|counts|aggregates|columns)(?: \((.+?)\))?(?: by tuples of (\d+))? of (.+) "
    r"in windows of (\d+) ms every (\d+) ms(?: from (-?\d+) ms on)?"
)


@dataclass(frozen=True)
class PaneLayout:
    """State by pane: sums, numbers of records, several aggregates, or records as columns.

    ``of``: the type of the records as text. ``folds``: the aggregates, if they are several.
    ``tuple_of``: the number of parts of keys that are tuples and are stored by themselves.

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
    folds: str | None = None
    tuple_of: int | None = None

    @staticmethod
    def read(name: str | None) -> PaneLayout | None:
        """The layout with a name, None if it is none of panes."""
        found = _PATTERN.fullmatch(name or "")
        if found is None:
            return None
        content, folds, parts, of, size, slide, offset = found.groups()
        alignment = Alignment(int(size), int(slide), int(offset or 0))
        tuple_of = None if parts is None else int(parts)
        return PaneLayout(cast("PaneContent", content), of, alignment, folds, tuple_of)

    def becomes_windows_of(self, spec: WindowSpec) -> bool:
        """Whether a window that keeps its state in pages can go on from this.

        Sums need a function that adds to them, and records one that takes records.
        """
        if self.content == "columns":
            return spec.fold is None
        if spec.evictor is not None:
            return False
        if self.content == "aggregates":
            return spec.summarizes and str(spec.fold.function) == self.folds  # type: ignore[union-attr]
        return spec.counts if self.content == "counts" else isinstance(spec.fold, Reduced)

    def __str__(self) -> str:
        align = self.alignment
        offset = f" from {align.offset} ms on" if align.offset else ""
        spans = f"in windows of {align.size} ms every {align.slide} ms{offset}"
        folds = f" ({self.folds})" if self.folds is not None else ""
        key = f" by tuples of {self.tuple_of}" if self.tuple_of is not None else ""
        return f"{self.content}{folds}{key} of {self.of} {spans}"
