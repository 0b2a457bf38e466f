"""PyFlink's module of `JobClient`, which is one of the DataStream API here."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["JobClient"]  # noqa: F822 the function below gives it


def __getattr__(name: str) -> Any:
    # By name and late: this package knows nothing of the API above it.
    if name == "JobClient":
        return import_module("millstream.datastream.job_client").JobClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
