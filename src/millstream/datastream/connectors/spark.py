"""Any Spark writer as a sink."""

from __future__ import annotations

from millstream.common.errors import PlanError, user_location
from millstream.datastream.connectors.base import Sink
from millstream.plan.specs import SparkFormatSpec

__all__ = ["SparkSink"]

_MODES = ("append", "overwrite", "ignore", "error", "errorifexists")


class SparkSink(Sink):
    """Writes each epoch with a Spark batch writer, by the name of its format and its options.

    After a crash an epoch may be written twice; whether that is visible depends on the format.

    Parameters
    ----------
    format
        A format that Spark knows: ``"jdbc"``, ``"delta"``, ``"orc"``, ...
    mode
        Spark's save mode.
    **options
        The options of the format. Pass a name that is no Python identifier as ``**{"a.b": "c"}``.

    Examples
    --------
    >>> SparkSink("jdbc", dbtable="words", truncate=True).to_spec().options
    {'dbtable': 'words', 'truncate': 'true'}
    """

    def __init__(self, format: str, *, mode: str = "append", **options: object) -> None:
        if not isinstance(format, str) or not format:
            raise PlanError(
                "BAD_FORMAT",
                f"a Spark format is named by a string, got {format!r}",
                location=user_location(),
                hint='give a name such as "jdbc"',
            )
        if mode not in _MODES:
            raise PlanError(
                "BAD_SAVE_MODE",
                f"{mode!r} is no save mode of Spark",
                location=user_location(),
                hint=f"use one of {', '.join(_MODES)}",
            )
        texts = {name: option_text(value) for name, value in options.items()}
        self._spec = SparkFormatSpec(format=format, options=texts, mode=mode)

    def to_spec(self) -> SparkFormatSpec:
        return self._spec


def option_text(value: object) -> str:
    """Return an option's value as Spark writes it: True is ``true``."""
    return str(value).lower() if isinstance(value, bool) else str(value)
