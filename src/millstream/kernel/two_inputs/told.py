"""Emissions of a function for a broadcast record, and which slots emit them.

All slots call `process_broadcast_element` with the same record and the same broadcast state. What it
emits is therefore the same everywhere, and one slot says it for all. That is not so for what an instance
alone knows: what it has found in the state of its keys, and what it has kept of the records of the other
input. Each instance says that itself.
"""

from __future__ import annotations

import dis
import pickle
from collections import deque
from collections.abc import Callable, Iterable
from functools import lru_cache
from types import CodeType, GeneratorType
from typing import Any

from millstream.common.types import Row
from millstream.kernel.order import Order, ordinal_code
from millstream.kernel.outputs import Outputs
from millstream.kernel.side_outputs import is_for_side, side_result
from millstream.kernel.sweep import place_of_key, place_of_other
from millstream.kernel.two_inputs.reach import Reach, names_in


class Told:
    """Emissions of a call of `process_broadcast_element`.

    ``speaks``: this slot emits for all. ``alone``: emissions may depend on the instance.
    """

    def __init__(
        self, outputs: Outputs, row: int, record: Any, *, speaks: bool, alone: bool
    ) -> None:
        self._outputs = outputs
        self._record = record
        self._certain: set[int] | None = None
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
        elif self._alone and not self._is_own(part):
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

    def _is_own(self, value: Any) -> bool:
        """Whether each instance emits the value, and the same one: made of the record and of texts."""
        if self._generator is None:
            return False
        code = self._generator.gi_code
        if not _is_reached(code, self._since, self._at()):
            return False
        if self._certain is None:
            self._certain = _certain_parts(self._record, code)
        return self._is_certain(value, self._certain)

    def _is_certain(self, value: Any, certain: set[int]) -> bool:
        if id(value) in certain:
            return True
        parts = value if value.__class__ in (tuple, list) else ()
        return bool(parts) and all(self._is_certain(part, certain) for part in parts)

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
            lengths = list(map(len, lists))
            results = function(key)
            if isinstance(results, GeneratorType):
                yields = True
                for value in results:
                    self._take_of_key(self._sweeps, key, value)
            for known, length in zip(lists, lengths, strict=True):
                for item in known[length:]:
                    found = self._found.setdefault(id(item), deque())
                    found.append((self._sweeps, key, item))
        if reach.fingerprint() != before or (not yields and reach.can_keep(self._record)):
            if not self._alone:
                self._since = self._at()
            self._alone = True


class Buffers:
    """Whether the records of the other input have changed what the broadcast side uses.

    Such attributes are an instance's own. They are no state: they are gone when a job starts again.
    """

    def __init__(self, function: Any) -> None:
        self._function = function
        self._differs = bool(names_in(type(function)) & _OF_AN_INSTANCE)
        self._known: object = None
        self._is_known = False

    def before_others(self) -> None:
        """Note what broadcast records have changed, before anything else runs in this instance.

        It is the same in every instance.
        """
        if not self._is_known:
            self._is_known = True
            if not self._differs:
                self._known = self._fingerprint()

    def differ(self) -> bool:
        """Whether instances may differ, for a broadcast record; from then on they always may."""
        if self._is_known and not self._differs:
            self._differs = self._fingerprint() != self._known
        self._is_known = False
        return self._differs

    def _fingerprint(self) -> object:
        return Reach(self._function.process_broadcast_element, self._function).fingerprint()


_OF_AN_INSTANCE = {
    "get_index_of_this_subtask",
    "get_task_name_with_subtasks",
    "get_count",
    "get_local_value",
}
"""The identity of an instance, and its counts."""


def _certain_parts(record: Any, code: CodeType) -> set[int]:
    """The identities of a record, of its fields, and of the texts in the code that emits.

    Python has one object for each small number and each short text, wherever it comes from.
    """
    fields = record if isinstance(record, tuple | list | Row) else ()
    texts = [const for const in code.co_consts if isinstance(const, str | bytes)]
    return {id(part) for part in (record, *fields, *texts) if not _is_shared(part)}


def _is_shared(value: Any) -> bool:
    if isinstance(value, str | bytes | tuple):
        return len(value) < 2
    return value is None or (isinstance(value, int) and -5 <= value <= 256)


@lru_cache(256)
def _is_reached(code: CodeType, since: int, offset: int) -> bool:
    """Whether a generator that was at one instruction always comes to another one, and once.

    What it decided before ``since`` did not depend on the instance. From there on nothing may jump over
    the other instruction, return, or lead back.
    """
    if offset <= since:
        return False
    for one in dis.get_instructions(code):
        target = one.argval if one.opcode in _JUMPS else None
        if one.offset > offset:
            if target is not None and target <= since:
                return False
        elif one.offset > since:
            if one.opname in ("RETURN_VALUE", "RETURN_CONST"):
                return False
            if target is not None and target > offset:
                return False
    return True


_JUMPS = frozenset([*dis.hasjrel, *dis.hasjabs])


def _pickled(value: Any) -> bytes:
    """A value as bytes, to order what slots say apart; nothing of one that cannot be pickled."""
    try:
        return pickle.dumps(value, 5)
    except Exception:
        return b""
