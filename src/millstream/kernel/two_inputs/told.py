"""What a function emits for a broadcast record, and which of the slots say it.

All slots call `process_broadcast_element` with the same record and the same broadcast state. What it
emits is therefore the same everywhere, and one slot says it for all. That is not so for what an instance
alone knows: what it has found in the state of its keys, and what it has kept of the records of the other
input. Each instance says that itself.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Sized
from functools import partial
from io import BytesIO
from types import CodeType, GeneratorType
from typing import Any

from millstream.common import state as api
from millstream.common.output_tag import OutputTag
from millstream.common.types import Row
from millstream.kernel.order import Order, ordinal_code
from millstream.kernel.outputs import Outputs
from millstream.kernel.sweep import place_of_key, place_of_other


class Told:
    """What a call of `process_broadcast_element` emits.

    ``speaks``: this slot speaks for all. ``alone``: all that is emitted may depend on the instance.
    """

    def __init__(
        self, outputs: Outputs, row: int, record: Any, call: Any, *, speaks: bool, alone: bool
    ) -> None:
        self._outputs = outputs
        self._record = record
        self._call = call
        self._certain: set[int] | None = None
        self._order, self._ts = outputs.row_of(row)
        self._speaks = speaks
        self._alone = alone
        self._own = 0
        self._others = 0
        self._sweeps = 0
        self._counts: dict[tuple[int, Any], int] = {}
        self._found: dict[int, deque[tuple[int, Any, Any]]] = {}

    def take(self, value: Any) -> None:
        """Take a value that the call has emitted."""
        part = value[1] if _is_tagged(value) else value
        of_key = self._found.get(id(part))
        if of_key:
            sweep, key, _ = of_key.popleft()
            self._take_of_key(sweep, key, value)
        elif self._alone and not self._is_certain(part):
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

    def _is_certain(self, value: Any) -> bool:
        """Whether a value is the same in all instances: made of the record and of fixed texts."""
        if self._certain is None:
            self._certain = _certain_parts(self._record, self._call)
        if id(value) in self._certain:
            return True
        return value.__class__ in (tuple, list) and all(map(self._is_certain, value))

    def _emit(self, order: Order, value: Any) -> None:
        self._outputs.at(order, self._ts, value)

    def sweep(self, keys: Iterable[Any], function: Callable[[Any], Any], reach: Reach) -> None:
        """Call a function with each key. What it yields is emitted for the key.

        What it adds to a list within reach is found for the key too, if the call emits it later. If it
        leaves anything behind, all else that follows may depend on the instance.
        """
        self._sweeps += 1
        lists, before = reach.lists(), reach.fingerprint()
        for key in keys:
            lengths = list(map(len, lists))
            results = function(key)
            if isinstance(results, GeneratorType):
                for value in results:
                    self._take_of_key(self._sweeps, key, value)
            for known, length in zip(lists, lengths, strict=True):
                for item in known[length:]:
                    found = self._found.setdefault(id(item), deque())
                    found.append((self._sweeps, key, item))
        if reach.fingerprint() != before:
            self._alone = True


class Reach:
    """What a function may leave something in.

    That are its cells, attributes of objects that it uses, and containers in its module.
    """

    def __init__(self, function: Any) -> None:
        self._things: list[Callable[[], Any]] = []
        self._add(function, set())

    def _add(self, function: Any, seen: set[int]) -> None:
        if id(function) in seen:
            return
        seen.add(id(function))
        owners = [getattr(function, "__self__", None)]
        for cell in getattr(function, "__closure__", None) or ():
            self._things.append(partial(getattr, cell, "cell_contents", None))
            owners.append(getattr(cell, "cell_contents", None))
        self._things += [partial(_itself, found) for found in _containers(function)]
        for owner in owners:
            if hasattr(owner, "__code__"):
                self._add(owner, seen)
            elif owner is not None and not isinstance(owner, api.State):
                names = sorted(names_used(function, owner))
                self._things += [partial(getattr, owner, name, None) for name in names]

    def values(self) -> list[Any]:
        """What is there now, apart from state."""
        found = [thing() for thing in self._things]
        return [
            value for value in found if not isinstance(value, api.State) and not callable(value)
        ]

    def lists(self) -> list[list[Any]]:
        """The lists among it, each once."""
        return list({id(v): v for v in self.values() if isinstance(v, list)}.values())

    def fingerprint(self) -> list[bytes]:
        """What it looks like."""
        return [_pickled(value) for value in self.values()]


def _itself(thing: Any) -> Any:
    return thing


def _containers(function: Any) -> list[Any]:
    """The containers in a function's module that it mentions."""
    known = getattr(function, "__globals__", {})
    found = [known.get(name) for name in sorted(names_used(function, None))]
    return [value for value in found if isinstance(value, list | dict | set | deque)]


def names_used(function: Any, owner: Any) -> set[str]:
    """The names in the code that a function may run."""
    return {name for code in _codes(function, owner) for name in code.co_names}


def _codes(function: Any, owner: Any) -> list[Any]:
    """The code that a function may run: its own, and that of functions whose names it mentions.

    Those may be methods or attributes of the owner, or lie in the module of the function.
    """
    attributes = getattr(owner, "__dict__", {})
    found: dict[int, Any] = {}
    todo = [function]
    while todo:
        one = todo.pop()
        code = one if isinstance(one, CodeType) else getattr(one, "__code__", None)
        if code is None or id(code) in found:
            continue
        found[id(code)] = code
        known = getattr(one, "__globals__", {})
        todo += [const for const in code.co_consts if isinstance(const, CodeType)]
        for name in code.co_names:
            todo += [getattr(type(owner), name, None), attributes.get(name), known.get(name)]
    return list(found.values())


class Buffers:
    """Whether the records of the other input have changed what the broadcast side uses.

    Such attributes are an instance's own. They are no state: they are gone when a job starts again.
    """

    def __init__(self, function: Any) -> None:
        self._reach = Reach(function.process_broadcast_element)
        self._known = self._reach.fingerprint()
        self._differs = False

    def differ(self) -> bool:
        """Whether instances may differ; from then on they always may."""
        if not self._differs:
            self._differs = self._reach.fingerprint() != self._known
        return self._differs

    def note(self) -> None:
        """Note what a broadcast record has changed: it does the same in every instance."""
        if not self._differs:
            self._known = self._reach.fingerprint()


def _certain_parts(record: Any, call: Any) -> set[int]:
    """The identities of a record, of its fields, and of the texts in the code that is called."""
    fields = record if isinstance(record, tuple | list | Row) else ()
    codes = _codes(call, getattr(call, "__self__", None))
    texts = [const for code in codes for const in code.co_consts if isinstance(const, str | bytes)]
    return {id(record), *map(id, fields), *map(id, texts)}


def _is_tagged(value: Any) -> bool:
    return value.__class__ is tuple and len(value) == 2 and value[0].__class__ is OutputTag


class _Fingerprint(pickle.Pickler):
    """Pickles a value without what belongs to the runtime: state, metrics, contexts, accumulators.

    The runtime changes these all the time, for all instances alike.
    """

    def persistent_id(self, obj: Any) -> str | None:
        kind = type(obj)
        is_runtimes = kind.__module__.startswith(_OF_THE_RUNTIME) or isinstance(obj, api.State)
        return kind.__qualname__ if is_runtimes else None


_OF_THE_RUNTIME = ("millstream.kernel.", "millstream.common.accumulators", "millstream.metrics.")


def _pickled(value: Any) -> bytes:
    """A value as bytes; of one that cannot be pickled, such as a connection, only its length counts."""
    found = BytesIO()
    try:
        _Fingerprint(found, 5).dump(value)
    except Exception:
        return b"%d" % len(value) if isinstance(value, Sized) else b""
    return found.getvalue()
