"""Any Spark writer as a sink."""

from __future__ import annotations

from typing import Any

from millstream.common.errors import PlanError, user_location
from millstream.connectors.simple_sinks import FrameSink
from millstream.connectors.sink import SinkContext

__all__ = ["SparkSink"]

_MODES = ("append", "overwrite", "ignore", "error", "errorifexists")


class SparkSink(FrameSink):
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
    >>> SparkSink("jdbc", dbtable="words", truncate=True).options
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
        self.format = format
        self.mode = mode
        self.options = {name: option_text(value) for name, value in options.items()}

    def write_frame(self, context: SinkContext, epoch: int, frame: Any) -> None:
        frame.write.format(self.format).options(**self.options).mode(self.mode).save()


def option_text(value: object) -> str:
    """Return an option's value as Spark writes it: True is ``true``."""
    return str(value).lower() if isinstance(value, bool) else str(value)
