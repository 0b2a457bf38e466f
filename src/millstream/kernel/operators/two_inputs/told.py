"""Emissions of a function for a broadcast record, and which slots emit them.

All slots call `process_broadcast_element` with the same record and the same broadcast state. What it
emits is therefore the same everywhere, and one slot says it for all. That is not so for what an instance
alone knows: what it has found in the state of its keys, and what it has kept of the records of the other
input. Each instance says that itself.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable
from types import FrameType, GeneratorType
from typing import Any

from millstream.common.output_tag import OutputTag
from millstream.kernel.operators.two_inputs.bytecode import (
    always_comes_to,
    yields_what_follows_from,
)
from millstream.kernel.operators.two_inputs.reach import Reach, names_in
from millstream.kernel.records.order import Order, ordinal_code
from millstream.kernel.records.outputs import Outputs
from millstream.kernel.records.side_outputs import is_for_side, side_result
from millstream.kernel.state.sweep import place_of_key, place_of_other


class Told:
    """Emissions of a call of `process_broadcast_element`.

    ``speaks``: this slot emits for all. ``alone``: emissions may depend on the instance.
    """

    def __init__(
        self, outputs: Outputs, row: int, record: Any, *, speaks: bool, alone: bool
    ) -> None:
        self._outputs = outputs
        self._record = record
        self._generator: GeneratorType[Any, Any, Any] | None = None
        self._since = -1
        self._order, self._ts = outputs.row_of(row)
        self._speaks = speaks
        self._alone = alone
        self._own = 0
        self._others = 0
        self._sweeps = 0
        self._counts: dict[tuple[int, Any], int] = {}
        self._found: dict[int, deque[tuple[int, Any, Any]]] = {}

    def take_all(self, results: Any) -> None:
        """Take the values that the call emits."""
        self._generator = results if isinstance(results, GeneratorType) else None
        for value in results or ():
            self.take(value)

    def take(self, value: Any) -> None:
        """Take a value; the generator stands where it has yielded it."""
        part = side_result(value)[1] if is_for_side(value) else value
        of_key = self._found.get(id(part))
        if of_key:
            sweep, key, _ = of_key.popleft()
            self._take_of_key(sweep, key, value)
        elif self._alone and not self._is_own():
            self._others += 1
            place = (self._own, self._sweeps, self._others)
            self._emit(place_of_other(self._order, *place, _pickled(part)), value)
        else:
            self._own += 1
            if self._speaks:
                path = self._order[5] + ordinal_code(self._own)
                self._emit((*self._order[:5], path), value)

    def _take_of_key(self, sweep: int, key: Any, value: Any) -> None:
        """Take a value that a sweep has found for a key."""
        index = self._counts[sweep, key] = self._counts.get((sweep, key), 0) + 1
        self._emit(place_of_key(self._order, self._own, sweep, key, index), value)

    def _is_own(self) -> bool:
        """Whether each instance emits the value, and the same one: made of the record and of constants.

        The generator stands where it has yielded it.
        """
        frame = None if self._generator is None else self._generator.gi_frame
        if frame is None or not always_comes_to(frame.f_code, self._since, frame.f_lasti):
            return False
        return yields_what_follows_from(frame.f_code, frame.f_lasti, self._sure_names(frame))

    def _sure_names(self, frame: FrameType) -> frozenset[str]:
        """The variables that hold the record, and the names of tags."""
        own, outer = frame.f_locals, frame.f_globals
        sure = {n for n, v in own.items() if v is self._record or v.__class__ is OutputTag}
        tags = {n for n in frame.f_code.co_names if outer.get(n).__class__ is OutputTag}
        return frozenset(sure | tags)

    def _at(self) -> int:
        """The instruction at which the generator stands."""
        frame = None if self._generator is None else self._generator.gi_frame
        return -1 if frame is None else frame.f_lasti

    def _emit(self, order: Order, value: Any) -> None:
        self._outputs.at(order, self._ts, value)

    def sweep(self, keys: Iterable[Any], function: Callable[[Any], Any], reach: Reach) -> None:
        """Call a function with each key. What it yields is emitted for the key.

        What it adds to a list within reach is found for the key too, if the call emits it later. If it
        leaves anything behind, or could and yields nothing, all that follows may depend on the instance.
        """
        self._sweeps += 1
        lists, before, yields = reach.lists(), reach.fingerprint(), False
        for key in keys:
            lengths = list(map(len, lists)) if lists else ()
            results = function(key)
            if results.__class__ is GeneratorType:
                yields = True
                for value in results:
                    self._take_of_key(self._sweeps, key, value)
            if not lists:
                continue
            for known, length in zip(lists, lengths, strict=True):
                for item in known[length:]:
                    found = self._found.setdefault(id(item), deque())
                    found.append((self._sweeps, key, item))
        if reach.fingerprint() != before or (not yields and reach.can_keep(self._record)):
            if not self._alone:
                self._since = self._at()
            self._alone = True


class Buffers:
    """Whether instances may differ in what the broadcast side uses, in all of them alike.

    They may if the code that runs for the records and timers of one instance could change it, and from
    then on if the function of a sweep could. An instance without such records cannot know of others, so
    it is the code that counts, and not what has happened. What instances keep is no state: it is gone
    when a job starts again.
    """

    def __init__(self, function: Any) -> None:
        self._function = function
        self._differ = bool(names_in(type(function)) & _OF_AN_INSTANCE)
        self._attributes: list[tuple[str, int]] | None = None

    def differ(self) -> bool:
        """Whether instances may differ, for a broadcast record; from then on they always may."""
        if self._differ:
            return True
        # With other attributes something else may be within reach.
        attributes = sorted(
            (name, id(value)) for name, value in _attributes(self._function).items()
        )
        if attributes != self._attributes:
            self._attributes = attributes
            calls = [getattr(self._function, name, None) for name in _OF_ONE_INSTANCE]
            self.note([Reach(call, self._function) for call in calls if call is not None])
        return self._differ

    def note(self, reaches: Iterable[Reach]) -> None:
        """Note what runs in one instance only."""
        if not self._differ:
            used = Reach(self._function.process_broadcast_element, self._function)
            self._differ = any(reach.may_change(used) for reach in reaches)


def _attributes(function: Any) -> dict[str, Any]:
    found: dict[str, Any] = getattr(function, "__dict__", {})
    return found


_OF_ONE_INSTANCE = ("process_element", "on_timer")
"""What runs for the keys of an instance."""
_OF_AN_INSTANCE = {
    "get_index_of_this_subtask",
    "get_task_name_with_subtasks",
    "get_count",
    "get_local_value",
}
"""The identity of an instance, and its counts."""


def _pickled(value: Any) -> bytes:
    """A value as bytes, to order what slots say apart; nothing of one that cannot be pickled."""
    try:
        return pickle.dumps(value, 5)
    except Exception:
        return b""
