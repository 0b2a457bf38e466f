"""The typed expression tree and its reference evaluator over Arrow columns.

PyFlink's functions, such as ``col`` and ``lit``, are here too; they are loaded when they are asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from millstream.table.expressions.context import Context as Context
from millstream.table.expressions.context import EvaluationError as EvaluationError
from millstream.table.expressions.tree import Call as Call
from millstream.table.expressions.tree import Case as Case
from millstream.table.expressions.tree import Cast as Cast
from millstream.table.expressions.tree import Expression as Expression
from millstream.table.expressions.tree import FieldAccess as FieldAccess
from millstream.table.expressions.tree import InputRef as InputRef
from millstream.table.expressions.tree import Literal as Literal
from millstream.table.expressions.tree import Symbol as Symbol


def __getattr__(name: str) -> Any:
    """A function of `pyflink.table.expressions`; ``import *`` takes these only."""
    if name == "__all__" or not name.startswith("__"):
        functions = import_module("millstream.table.expression_functions")
        if name == "__all__" or name in functions.__all__:
            return getattr(functions, name)
    raise AttributeError(f"module 'millstream.table.expressions' has no attribute {name!r}")
