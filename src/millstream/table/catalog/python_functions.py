"""Functions of Python that CREATE FUNCTION names by the place of their code."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

from millstream.common.errors import PlanError
from millstream.table.logical.entries import FunctionEntry


def entry_at(
    path: str, name: str, *, temporary: bool = False, system: bool = False
) -> FunctionEntry:
    """The entry of a catalog for the function at ``module.function``, under a name."""
    module, _, function = path.rpartition(".")
    try:
        found = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise PlanError(
            "UNKNOWN_PYTHON_FUNCTION",
            f"there is no function {path}: {error}",
            hint="give the path of a module and a function made with udf(...) in it",
        ) from error
    if isinstance(found, type):
        found = found()
    made = getattr(found, "entry", None)
    if not isinstance(made, FunctionEntry):
        raise PlanError(
            "NOT_A_USER_FUNCTION",
            f"{path} is a {type(found).__name__}, and no user function with types",
            hint="decorate it: @udf(result_type=...)",
        )
    return replace(
        made, name=name, temporary=temporary, system=system, language="PYTHON", class_name=path
    )
