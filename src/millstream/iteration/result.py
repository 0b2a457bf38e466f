"""The result of a loop, and how it went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.common.errors import PlanError, user_location
from millstream.iteration.chart import Panel, chart

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["LoopChoice", "LoopResult", "Superstep"]


@dataclass(frozen=True)
class LoopChoice:
    """How a loop is going to run, and why: see `choose`.

    Parameters
    ----------
    mode
        "resident", "driver" or "memory".
    reason
        Why.
    tasks
        How many tasks it has.

    Examples
    --------
    >>> LoopChoice("resident", "2 tasks run at once, in 4 slots", 2).mode
    'resident'
    """

    mode: str
    reason: str
    tasks: int


@dataclass(frozen=True)
class Superstep:
    """One superstep that is done.

    Parameters
    ----------
    step
        Its number, from 1.
    active
        What was left to do after it, in all tasks: the size of the workset.
    seconds
        How long it took.
    aggregates
        The merged aggregates.

    Examples
    --------
    >>> Superstep(1, 250, 0.004).active
    250
    """

    step: int
    active: int
    seconds: float
    aggregates: Mapping[str, Any] = field(default_factory=dict)


class LoopResult:
    """The result of a loop, and how it went.

    Attributes
    ----------
    mode : str
        How it ran: "resident", "driver" or "memory".
    reason : str
        Why it ran that way.
    supersteps : list of Superstep
        The supersteps.
    converged : bool
        Whether the program said that it is finished; False if it ended at ``max_supersteps``.
    aggregates : Mapping[str, Any]
        The aggregates of the last superstep.
    restarts : int
        How often the loop was started again after a failure.
    resumed_from : int
        The superstep of the snapshot that the last start went on from; 0: from the beginning.

    Examples
    --------
    >>> table = pa.table({"id": [1]})
    >>> result = LoopResult([table], table.schema, "memory", "asked for", [], converged=True)
    >>> result.to_arrow().num_rows
    1
    """

    def __init__(
        self,
        rows: Sequence[pa.Table] | DataFrame,
        schema: pa.Schema,
        mode: str,
        reason: str,
        supersteps: Sequence[Superstep],
        *,
        converged: bool,
        aggregates: Mapping[str, Any] | None = None,
        restarts: int = 0,
        resumed_from: int = 0,
    ) -> None:
        self.mode = mode
        self.reason = reason
        self.supersteps = list(supersteps)
        self.converged = converged
        self.aggregates = dict(aggregates or {})
        self.restarts = restarts
        self.resumed_from = resumed_from
        self._rows = rows
        self._schema = schema

    def to_arrow(self) -> pa.Table:
        """All rows of the result, in order of the tasks."""
        if isinstance(self._rows, Sequence):
            return pa.concat_tables([self._schema.empty_table(), *self._rows])
        return self._rows.toArrow().cast(self._schema)

    def _repr_html_(self) -> str:
        """A chart for notebooks: the workset and the time of each superstep."""
        seconds = sum(step.seconds for step in self.supersteps)
        ended = "ended" if self.converged else "not converged"
        text = (
            f"{len(self.supersteps)} supersteps in {seconds:,.3g} s, {ended}; "
            f"{self.mode} ({self.reason})"
        )
        if self.restarts:
            text += f"; started again {self.restarts} times"
        return f"<div><p>{escape(text)}</p>{self.chart()}</div>"

    def chart(self) -> str:
        """The workset and the time of each superstep: a chart as SVG."""
        first = self.supersteps[0].step if self.supersteps else 1
        worksets = Panel(
            "active after the superstep", [s.active for s in self.supersteps], "#1668b8"
        )
        times = [s.seconds * 1000 for s in self.supersteps]
        return chart(first, [worksets, Panel("milliseconds", times, "#b85c16")])

    def to_dataframe(self) -> DataFrame:
        """The result as a DataFrame. It was computed once, and is not computed again."""
        if isinstance(self._rows, Sequence):
            raise PlanError(
                "LOOP_NO_SPARK",
                "a loop that ran in memory has no DataFrame",
                location=user_location(),
                hint="use to_arrow()",
            )
        return self._rows
