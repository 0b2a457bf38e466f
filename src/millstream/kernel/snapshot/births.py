"""Births of stored order keys, for a program in which operators have other depths.

Stored order keys are compared with new ones, so what the timers of an operator have emitted before must
stand where the operator stands now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from millstream.kernel.records.order import BEFORE_ALL, Ints, Order, Origin
from millstream.kernel.stages.programs import KeyedProgram
from millstream.kernel.windows.contents import FIRST_REDUCED, ORDERED_ELEMENTS


def renumbered(stored: Mapping[str, int], now: Mapping[str, int]) -> dict[int, int]:
    """For each stored depth the one that takes its place: that of the same operators, if it can be.

    The order of the stored depths stays. One whose operators are all gone comes right behind the last.

    Examples
    --------
    >>> renumbered({"a": 1, "b": 2, "c": 3}, {"a": 2, "c": 4, "new": 1})
    {1: 2, 2: 3, 3: 4}
    """
    found: dict[int, int] = {}
    last = 0
    for depth in sorted(set(stored.values())):
        wanted = [now[uid] for uid, was in stored.items() if was == depth and uid in now]
        last = found[depth] = max(last + 1, max(wanted, default=0))
    return found


@dataclass(frozen=True)
class Births:
    """Conversion of stored births. ``depths``: the present depth by the stored one.

    ``origins``: given for state of versions that knew the births -1 and 1 only. There the path of a
    timer says which operator's it is; an operator that the program has not keeps its birth.
    """

    depths: Mapping[int, int] = field(default_factory=dict)
    origins: Mapping[bytes, int] | None = None

    @staticmethod
    def between(stored: Mapping[str, int], stages: Iterable[KeyedProgram]) -> Births:
        """From the depths of operators in a stored program to those in another one."""
        infos = [hosted.operator.info for stage in stages for hosted in stage.operators]
        if not stored:
            return Births(origins={Origin.of(i.uid, i.depth).path: i.depth for i in infos})
        return Births(renumbered(stored, {info.uid: info.depth for info in infos}))

    @property
    def changes(self) -> bool:
        """Whether any birth may become another one."""
        return self.origins is not None or any(a != b for a, b in self.depths.items())

    def order(self, stored: Order) -> Order:
        """A stored order key as it is now."""
        return stored[0], self._birth(stored[1], stored[5]), *stored[2:]

    def column(self, births: Ints, paths: Iterable[bytes]) -> Ints:
        """The births of stored order keys as they are now."""
        pairs = zip(births.tolist(), paths, strict=True)
        return np.array([self._birth(birth, path) for birth, path in pairs], np.int64)

    def _birth(self, birth: int, path: bytes) -> int:
        depth = abs(birth)
        if self.origins is None:
            depth = self.depths.get(depth, depth)
        elif depth == 1:
            name, end, _ = path.partition(b"\xff")
            depth = self.origins.get(name + end, 1)
        elif birth:
            return BEFORE_ALL
        return depth if birth > 0 else -depth

    def content(self, layout: str | None, content: Any) -> Any:
        """The content of a window, made up in some layout, with the order keys of now."""
        if layout == ORDERED_ELEMENTS:
            return [(value, ts, self.order(order)) for value, ts, order in content]
        if layout == FIRST_REDUCED:
            return self.order(content[0]), content[1]
        return content
