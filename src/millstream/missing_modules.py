"""Modules of PyFlink that are not here: importing one fails with a line on what takes its place."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType

__all__ = ["MODULES", "explain_missing_modules"]

_GATEWAY = "there is no JVM of Flink; for the one of Spark ask SparkSession.builder.getOrCreate()"
_JAVA = "it wraps objects of Flink's Java API, and there are none"

MODULES: dict[str, str] = {
    "millstream.common.io": "input formats are Java objects: use env.from_source(...)",
    "millstream.common.utils": _JAVA,
    "millstream.java_gateway": _GATEWAY,
    "millstream.util": _GATEWAY,
    "millstream.fn_execution": "functions run in Spark's Python workers",
    "millstream.shell": "use python -i, or a notebook",
    "millstream.version": "use millstream.__version__",
}
"""Modules of PyFlink, by the name that a port makes of theirs."""


class _MissingModules(MetaPathFinder):
    """Asked for modules that nobody else has found."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        # Python imports outer packages first, so a package in the table covers the modules inside it.
        if fullname in MODULES:
            raise ModuleNotFoundError(f"there is no {fullname}: {MODULES[fullname]}", name=fullname)


def explain_missing_modules() -> None:
    """Let imports of PyFlink's modules that are not here fail with what takes their place."""
    if not any(isinstance(finder, _MissingModules) for finder in sys.meta_path):
        sys.meta_path.append(_MissingModules())
