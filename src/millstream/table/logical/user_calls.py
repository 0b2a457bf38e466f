"""Calls of user functions."""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.table.expressions.tree import Call
from millstream.table.logical.entries import FunctionEntry

__all__ = ["UserCall"]


@dataclass(frozen=True)
class UserCall(Call):
    """A call of a user function: ``entry.definition`` runs it."""

    entry: FunctionEntry = field(default_factory=lambda: FunctionEntry("", "scalar"))
