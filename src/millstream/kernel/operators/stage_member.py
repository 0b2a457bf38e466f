"""Questions that stages and snapshots ask any operator, with the answers of most operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream.kernel.time.watermarks import Control


class StageMember:
    """An operator as its stage sees it. Stages know no operator by its class.

    ``has_two_inputs``: its records come as pairs of the input's number, 0 or 1, and the value.
    ``wants_columns``: its records come as Arrow columns. ``wants_sides``: those of two inputs come as
    Arrow columns of each input, see `Sides`. ``gives_columns``: its results leave as Arrow
    columns, and become objects where a function needs them. ``takes_weights``: its records may count
    more than once, or be taken back. ``own_states``: the names of the cells that the operator itself
    keeps for each key, before those of its function. ``keeps_windows``: it keeps a table of windows for
    each key, see `WindowOperator`. ``keeps_panes``: it keeps records, or sums of them, by pane, see
    `PaneStore`. ``keeps_rows``: it keeps a row of columns for each key, see `PointArrangement`.
    ``keeps_sections``: it keeps tables in pages, see `SectionArrangement`.
    ``counts_records``: its records are counted when they arrive, else before they leave for it.
    ``copied_input``: the number of the input whose records go to every slot, None if there is none.
    """

    has_two_inputs = False
    wants_columns = False
    wants_sides = False
    gives_columns = False
    takes_weights = False
    keeps_windows = False
    keeps_panes = False
    keeps_rows = False
    keeps_sections = False
    counts_records = True
    own_states: tuple[str, ...] = ()
    copied_input: int | None = None

    @property
    def in_one_slot(self) -> bool:
        """Whether all its records, and so all its state, are in one slot."""
        return False

    def note_control(self, control: Control) -> None:
        """Take note of what sources and driver say, before the records of an epoch come."""

    def news(self) -> Control | None:
        """News of the epoch that all later stages have to know."""
        return None

    def take_over(self, stored: Mapping[str, Mapping[str, Any]]) -> None:
        """Look at what is known of the stored states, by name, before an epoch."""
