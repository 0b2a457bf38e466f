"""Pickling by value: functions and classes of the main script, with everything that they use."""

from __future__ import annotations

import io
import sys
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["dumps_by_value"]


def dumps_by_value(value: Any, cloud: ModuleType | None = None) -> bytes:
    """Pickle a value; what another process could not import goes with it.

    ``cloud`` is the cloudpickle that does it: the package of that name, or the one of PySpark. Both take
    a class by value if the module that it names is not there. Classes of C libraries may name a module
    that does not exist: those of confluent_kafka say "cimpl". They can be pickled by value, but no
    process can read them. Here they go by the name of a module that has them.

    Examples
    --------
    >>> import pickle
    >>> pickle.loads(dumps_by_value(lambda n: n + 1))(2)
    3
    """
    if cloud is None:
        cloud = import_module("cloudpickle")
    with io.BytesIO() as file:
        _pickler(cloud)(file, protocol=5).dump(value)
        return file.getvalue()


@cache
def _pickler(cloud: ModuleType) -> Any:
    base: Any = cloud.CloudPickler

    class Pickler(base):  # type: ignore[misc]
        def reducer_override(self, thing: Any) -> Any:
            home = _home_of(thing) if isinstance(thing, type) else None
            return super().reducer_override(thing) if home is None else (_class_at, home)

    return Pickler


def _home_of(found: type) -> tuple[str, str] | None:
    """A module that has a class, and the name there, if its own module does not exist."""
    module, name = found.__module__, found.__name__
    if module in sys.modules:
        return None
    homes = [
        other
        for other, loaded in sys.modules.copy().items()
        if other != "__main__" and getattr(loaded, "__dict__", {}).get(name) is found
    ]
    homes.sort(key=lambda home: (not home.endswith(f".{module}"), home))
    return (homes[0], name) if homes else None


def _class_at(module: str, name: str) -> Any:
    return getattr(import_module(module), name)
