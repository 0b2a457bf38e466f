"""PyFlink's names of tables that are not here: they can be imported, and their use is explained."""

from __future__ import annotations

from typing import Any

from millstream.common.errors import PlanError, user_location
from millstream.datastream.connectors.absent import AbsentClass

__all__ = ["MODELS", "PLANS", "absent", "not_here"]

PLANS = "plans are not stored; execute the statement, and go on from a savepoint of it"
MODELS = "there are no models; call yours in a user function: udf(...)"


def absent(module: str, name: str, instead: str) -> Any:
    """A class that can be imported, and whose use is refused in one line.

    Examples
    --------
    >>> try:
    ...     absent("m", "HiveCatalog", "use the catalog of Spark")()
    ... except PlanError as error:
    ...     print(error.message)
    there is no HiveCatalog: use the catalog of Spark
    """
    space = {"__module__": module, "_absence": _not_supported, "_instead": instead}
    return AbsentClass(name, (), space)


def _not_supported(message: str) -> PlanError:
    return PlanError("NOT_SUPPORTED", message, location=user_location())


def not_here(what: str, instead: str) -> PlanError:
    """The error of a method that is not here.

    Examples
    --------
    >>> not_here("load_plan", PLANS).code
    'NOT_SUPPORTED'
    """
    return PlanError("NOT_SUPPORTED", f"{what} is not supported", hint=instead)
