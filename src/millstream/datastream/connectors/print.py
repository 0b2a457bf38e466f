"""Sinks that keep nothing: the console, and nowhere."""

from __future__ import annotations

from millstream.common.text import TextStyle, checked_style
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
    text
        ``"flink"``: as PyFlink does, which writes records of a declared type as Java does, such as
        ``(hi,1)`` or ``true``, and others as Python does. ``"python"``: all as ``str(record)``.

    Examples
    --------
    >>> PrintSink("words").to_spec()
    PrintSpec(prefix='words', to_stderr=False, text='flink')
    """

    def __init__(
        self, sink_identifier: str = "", stderr: bool = False, text: TextStyle = "flink"
    ) -> None:
        style = checked_style(text)
        self._spec = PrintSpec(prefix=sink_identifier, to_stderr=stderr, text=style)

    def to_spec(self) -> PrintSpec:
        return self._spec


class DiscardingSink(Sink):
    """Counts records and forgets them: for streams whose functions do the work themselves."""

    def to_spec(self) -> DiscardSpec:
        return DiscardSpec()
