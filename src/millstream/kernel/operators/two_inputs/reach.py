"""Places where a user's function can keep something, and whether it has.

That are the cells and defaults of the function, what its code names among the attributes of its object
and in its module, and the same again for functions among these. In doubt it counts as changed: nobody
can look into a database in memory.
"""

from __future__ import annotations

import copyreg
import logging
import pickle
import re
import sys
import threading
from collections import deque
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from io import BytesIO
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

from millstream.common import state as api
from millstream.common.output_tag import OutputTag
from millstream.common.typeinfo import TypeInformation
from millstream.kernel.operators.two_inputs.bytecode import (
    changes_containers,
    codes_in,
    is_understood,
    stored_names,
)

__all__ = ["Reach", "names_in"]

_LOCKS = (type(threading.Lock()), type(threading.RLock()))
_CONTAINERS = (list, set, frozenset, deque, dict)
_FIXED = (
    type(None),
    int,
    float,
    complex,
    str,
    bytes,
    frozenset,
    Enum,
    date,
    time,
    timedelta,
    Decimal,
)
_NEVER_CHANGED = (api.StateDescriptor, OutputTag, TypeInformation, re.Pattern, logging.Logger)
_READERS = {
    "copy",
    "count",
    "get",
    "index",
    "items",
    "keys",
    "values",
    "isdisjoint",
    "issubset",
    "issuperset",
}
"""Methods that change no container."""
_LIBRARY_CHANGERS = {"heapify", "heappop", "heappush", "heappushpop", "heapreplace"}
_LIBRARY_CHANGERS |= {"insort", "insort_left", "insort_right", "shuffle", "setitem", "delitem"}
"""Functions of libraries that change a container they are given."""
_BY_NAME = {"getattr", "setattr", "vars", "__dict__", "eval", "exec"}
"""With these a function may use any attribute."""
_OF_THE_RUNTIME = ("millstream.kernel.", "millstream.common.accumulators", "millstream.metrics.")
_LIBRARIES = {*sys.stdlib_module_names, "millstream", "pyspark"} - {"__main__"}
_NONE = object()


class Reach:
    """Places where a function can keep something, at this moment.

    Parameters
    ----------
    function
        Anything that can be called.
    owner
        The user's object. Of this one only the attributes count that the code names.
    """

    def __init__(self, function: Any, owner: Any = None) -> None:
        self._owner = owner
        self._owned = False
        self._names = {"__getattr__", "__getattribute__"}
        self._seen: dict[int, Any] = {}
        self._classes: list[type] = []
        self._codes: list[CodeType] = []
        self._bound: set[int] = set()
        self.things: list[Any] = []
        self._add(function)
        self._follow_names()

    def _follow_names(self) -> None:
        """Add the attributes that the code names; they may bring more code, and more names."""
        known = -1
        while known != len(self._seen):
            known = len(self._seen)
            for place in [self._owner, *self._classes] if self._owned else self._classes:
                for name in self._attributes(place):
                    for version in _versions(place, name):
                        self._add(version)

    def _attributes(self, place: Any) -> list[str]:
        every = self._names & _BY_NAME and place is self._owner
        return sorted(self._names | vars(place).keys() if every else self._names)

    def _add(self, thing: Any) -> None:
        if thing is _NONE or id(thing) in self._seen:
            return
        self._seen[id(thing)] = thing
        if thing is self._owner and thing is not None:
            self._owned = True
        elif isinstance(thing, FunctionType):
            self._add_function(thing)
        elif isinstance(thing, type):
            if not _is_library(thing):
                self._classes.append(thing)
        elif isinstance(thing, MethodType | partial | property | staticmethod | classmethod):
            for part in _parts(thing):
                self._add(part)
        elif isinstance(thing, BuiltinFunctionType):
            self._bound.add(id(thing.__self__))
            self._add(thing.__self__)
        elif not isinstance(thing, ModuleType) and not _is_runtimes(thing):
            self.things.append(thing)
            # The code of a helper may keep something elsewhere.
            for version in _versions(type(thing), "__call__"):
                self._add(version)

    def _add_function(self, function: FunctionType) -> None:
        if _is_library(function):
            return
        codes = list(codes_in(function.__code__))
        self._codes += codes
        names = {name for code in codes for name in code.co_names}
        self._names |= names
        for name in sorted(names):
            self._add(function.__globals__.get(name, _NONE))
        for cell in function.__closure__ or ():
            self._add(_content(cell))
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._add(value)

    def lists(self) -> list[list[Any]]:
        """The lists among it."""
        return [thing for thing in self.things if isinstance(thing, list)]

    def can_keep(self, record: Any) -> bool:
        """Whether anything of it can change; the record that is being processed does not count."""
        things = (thing for thing in self.things if thing is not record)
        stores = not is_understood() or any(map(stored_names, self._codes))
        return stores or not all(map(_is_fixed, things))

    def may_change(self, other: Reach) -> bool:
        """Whether the code here may change what the code there uses and finds again.

        That is what both name and one sets, and what both have within reach unless it is never changed.
        """
        if not is_understood():
            return True
        if any(stored_names(code) & other._names for code in self._codes):
            return True
        shared = [thing for thing in self.things if id(thing) in other._seen]
        return any(map(self._changes, shared))

    def _changes(self, thing: Any) -> bool:
        """Whether the code may change a thing: a container is not changed by reading it."""
        if _is_fixed(thing) or isinstance(thing, _NEVER_CHANGED):
            return False
        if id(thing) in self._bound or type(thing) not in (list, dict, set, deque):
            return not _is_plain(thing)
        content = [*thing.keys(), *thing.values()] if isinstance(thing, dict) else thing
        if not all(map(_is_fixed, content)) or self._names & _LIBRARY_CHANGERS:
            return True
        changers = {name for name in dir(type(thing)) if name not in _READERS}
        return bool(self._names & changers) or any(map(changes_containers, self._codes))

    def fingerprint(self) -> object:
        """A fingerprint; never equal to another one if equality cannot be told."""
        found = BytesIO()
        pickler = _Pickler(found, 5)
        try:
            pickler.dump(self.things)
        except Exception:
            return object()
        return object() if pickler.is_opaque else found.getvalue()


def names_in(kind: type) -> set[str]:
    """The names in the code of a user's class."""
    functions = [f for c in kind.__mro__ if not _is_library(c) for f in vars(c).values()]
    found = [f.__code__ for f in functions if isinstance(f, FunctionType)]
    return {name for code in found for inner in codes_in(code) for name in inner.co_names}


def _versions(place: Any, name: str) -> list[Any]:
    """An attribute, without running code of the user's, and what `super` finds under its name."""
    kinds = place.__mro__ if isinstance(place, type) else (place, *type(place).__mro__)
    own = [kind for kind in kinds if not isinstance(kind, type) or not _is_library(kind)]
    found = [vars(kind)[name] for kind in own if name in vars(kind)]
    # An attribute in __slots__.
    return [
        getattr(place, name, _NONE) if isinstance(one, MemberDescriptorType) else one
        for one in found
    ]


def _parts(thing: Any) -> list[Any]:
    if isinstance(thing, MethodType):
        return [thing.__self__, thing.__func__]
    if isinstance(thing, partial):
        return [thing.func, *thing.args, *thing.keywords.values()]
    return [thing.fget if isinstance(thing, property) else thing.__func__]


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _NONE  # It has none yet.


def _is_fixed(thing: Any) -> bool:
    if isinstance(thing, tuple):
        return all(map(_is_fixed, thing))
    return isinstance(thing, (*_FIXED, *_LOCKS))


def _is_plain(thing: Any) -> bool:
    """Whether an object of the user's has fixed attributes, and no code that sets them."""
    kinds = [kind for kind in type(thing).__mro__ if kind is not object]
    if any(map(_is_library, kinds)) or not hasattr(thing, "__dict__"):
        return False
    functions = [f for kind in kinds for name, f in vars(kind).items() if name != "__init__"]
    codes = [c for f in functions if isinstance(f, FunctionType) for c in codes_in(f.__code__)]
    return all(map(_is_fixed, vars(thing).values())) and not any(map(stored_names, codes))


def _is_library(thing: Any) -> bool:
    return (thing.__module__ or "").partition(".")[0] in _LIBRARIES


def _is_runtimes(thing: Any) -> bool:
    """State, metrics, contexts, accumulators: the runtime changes these, for all instances alike."""
    return type(thing).__module__.startswith(_OF_THE_RUNTIME) or isinstance(thing, api.State)


class _Pickler(pickle.Pickler):
    """Pickles what can be compared; classes and functions need not be found again by their names."""

    is_opaque = False

    def reducer_override(self, obj: Any) -> Any:
        if obj is _looks_like or type(obj) in copyreg.dispatch_table:
            return NotImplemented
        if isinstance(obj, _NAMED):
            return _looks_like, (obj.__name__,)
        if isinstance(obj, _LOCKS) or _is_runtimes(obj):
            return _looks_like, (type(obj).__qualname__,)
        if isinstance(obj, FunctionType):
            cells = [_content(cell) for cell in obj.__closure__ or ()]
            known = [content for content in cells if content is not _NONE]
            return _looks_like, (obj.__qualname__, known, obj.__defaults__)
        try:
            return obj.__reduce_ex__(5)
        except Exception:
            if isinstance(obj, _CONTAINERS):
                return _looks_like, tuple(obj.items() if isinstance(obj, dict) else obj)
            self.is_opaque = True
            return _looks_like, ()


_NAMED = (type, ModuleType, BuiltinFunctionType)


def _looks_like(*parts: Any) -> None:
    """Stands in a pickle for something that is compared by its parts."""
