"""Calls of user functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from millstream.common.errors import PlanError
from millstream.table.expressions.tree import OwnCall
from millstream.table.functions.user_code import UserCode
from millstream.table.logical.entries import FunctionEntry

__all__ = ["UserCall", "code_of"]


@dataclass(frozen=True)
class UserCall(OwnCall):
    """A call of a user function: ``entry.definition`` runs it."""

    entry: FunctionEntry = field(default_factory=lambda: FunctionEntry("", "scalar"))

    def run(self, arrays: Sequence[pa.Array], length: int) -> pa.Array:
        types = [each.type for each in self.arguments]
        return code_of(self.entry).column(arrays, types, self.type, length)


def code_of(entry: FunctionEntry) -> UserCode:
    """The code of a user function; functions of Java have none."""
    if isinstance(entry.definition, UserCode):
        return entry.definition
    raise PlanError(
        "FUNCTION_LANGUAGE",
        f"the function {entry.name} is no Python function: {entry.class_name}",
        hint="write it in Python, and add LANGUAGE PYTHON behind 'module.function'",
    )
