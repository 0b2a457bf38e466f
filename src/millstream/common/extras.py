"""Packages that only some connectors need: they are imported when they are used."""

from __future__ import annotations

import importlib
from typing import Any

from millstream.common.errors import PlanError, user_location

__all__ = ["needed_package"]


def needed_package(module: str, extra: str, user: str) -> Any:
    """Import a module of an optional package; an error says what to install.

    Parameters
    ----------
    module
        The module, for example ``"confluent_kafka"``.
    extra
        The extra of Millstream that brings the package, for example ``"kafka"``.
    user
        The class that needs it, for the error.

    Examples
    --------
    >>> needed_package("json", "kafka", "KafkaSource").dumps([1])
    '[1]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != module.split(".")[0]:
            raise  # The package is here, and lacks one that it needs itself.
        raise PlanError(
            "EXTRA_MISSING",
            f"{user} needs the package {module.split('.')[0]!r}, which is not installed",
            location=user_location(),
            hint=f"pip install 'millstream[{extra}]'",
        ) from error
