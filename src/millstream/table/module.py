"""Modules: sets of built-in functions. There is one, ``core``."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.table.environment.absent import absent

__all__ = ["HiveModule", "Module", "ModuleEntry"]


class Module:
    """A set of built-in functions. Modules of Flink are Java objects, so there is none to load."""


@dataclass(frozen=True, order=True)
class ModuleEntry:
    """The name of a module, and whether its functions are found.

    Examples
    --------
    >>> ModuleEntry("core", True)
    ModuleEntry(name='core', used=True)
    """

    _name: str
    _used: bool

    def name(self) -> str:
        """The name of the module."""
        return self._name

    def used(self) -> bool:
        """Whether its functions are found."""
        return self._used

    def __repr__(self) -> str:
        return f"ModuleEntry(name={self._name!r}, used={self._used})"


HiveModule = absent(
    __name__, "HiveModule", "register a user function under the name of Hive's: udf(...)"
)
