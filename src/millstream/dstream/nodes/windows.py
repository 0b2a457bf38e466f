"""Windows over the batches of a node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from millstream.dstream.nodes.base import Graph, Node, StatefulNode, moment
from millstream.dstream.rdd import RDD

__all__ = ["ReducedWindowNode", "WindowNode"]

Reduce = Callable[[datetime, Any, Any], RDD[Any]]
_TWICE_IS_CHEAPER = 5


class WindowNode(Node):
    """All records of the batches in a window."""

    def __init__(self, graph: Graph, parent: Node, length_ms: int, slide_ms: int) -> None:
        super().__init__(graph, [parent], slide_ms)
        self.length_ms = length_ms

    def parents_remember_ms(self) -> int:
        """The window needs batches as old as it is long."""
        return self.remember_ms + self.length_ms

    def compute(self, time_ms: int) -> RDD[Any] | None:
        """The RDDs of the window, one after another."""
        (parent,) = self.parents
        rdds = list(parent.between(time_ms - self.length_ms + parent.slide_ms, time_ms))
        return self.graph.sc.union(rdds)


class ReducedWindowNode(StatefulNode):
    """A window that follows from the one before: new batches come in, old ones go out.

    Parameters
    ----------
    reduce : callable
        ``reduce(time, before, new)``: the window with new batches; ``before`` may be None.
    inverse : callable
        ``inverse(time, before, old)``: the window without old batches.
    """

    kind = "window"

    def __init__(
        self, graph: Graph, parent: Node, reduce: Reduce, inverse: Reduce, length_ms: int, slide_ms: int
    ) -> None:  # fmt: skip
        super().__init__(graph, [parent], slide_ms)
        self.reduce = reduce
        self.inverse = inverse
        self.length_ms = length_ms

    def parents_remember_ms(self) -> int:
        """The window needs batches as old as it is long, and those that have just left it."""
        return self.remember_ms + self.length_ms

    def compute(self, time_ms: int) -> RDD[Any] | None:
        """The window, computed at once: else it would stand on all windows before it."""
        found = self._window(time_ms)
        return None if found is None else found._kept()

    def _window(self, time_ms: int) -> RDD[Any] | None:
        (parent,) = self.parents
        at, step, begin = moment(time_ms), parent.slide_ms, time_ms - self.length_ms
        before = self.rdd_at(time_ms - self.slide_ms)
        if before is None or self.length_ms < self.slide_ms * _TWICE_IS_CHEAPER:
            whole = list(parent.between(begin + step, time_ms))
            return self.reduce(at, None, self.graph.sc.union(whole)) if whole else None
        old = list(parent.between(begin - self.slide_ms + step, begin))
        if old:
            before = self.inverse(at, before, self.graph.sc.union(old))
        new = list(parent.between(time_ms - self.slide_ms + step, time_ms))
        return self.reduce(at, before, self.graph.sc.union(new)) if new else before

    def save(self) -> tuple[bool, Any]:
        """The values of the windows that are kept."""
        return True, {
            "window": (self.length_ms, self.slide_ms),
            "values": {time_ms: rdd.glom().collect() for time_ms, rdd in self.made.items()},
        }

    def load(self, contents: Sequence[Any]) -> None:
        """Windows from their values. Rebuilt code with another window begins with the batches of it."""
        content = contents[-1]
        if content["window"] != (self.length_ms, self.slide_ms):
            return
        for time_ms, parts in content["values"].items():
            self.made[time_ms] = self.graph.sc.from_partitions(parts)
            self.latest_ms = max(self.latest_ms, time_ms)
