"""Sinks that keep nothing: the console, and nowhere."""

from __future__ import annotations

from millstream.datastream.connectors.base import Sink
from millstream.plan.specs import DiscardSpec, PrintSpec

__all__ = ["DiscardingSink", "PrintSink"]


class PrintSink(Sink):
    """Prints each record on the driver when its epoch is committed, in order.

    Parameters
    ----------
    sink_identifier
        Stands before every record, as in ``prefix> record``.
    stderr
        Print to the standard error stream instead.

    Examples
    --------
    >>> PrintSink("words").to_spec()
    PrintSpec(prefix='words', to_stderr=False)
    """

    def __init__(self, sink_identifier: str = "", stderr: bool = False) -> None:
        self._spec = PrintSpec(prefix=sink_identifier, to_stderr=stderr)

    def to_spec(self) -> PrintSpec:
        return self._spec


class DiscardingSink(Sink):
    """Counts records and forgets them: for streams whose functions do the work themselves."""

    def to_spec(self) -> DiscardSpec:
        return DiscardSpec()
