"""Sinks that keep nothing: the console, and nowhere."""

from millstream.connectors.simple_sinks import DiscardingSink, PrintSink

__all__ = ["DiscardingSink", "PrintSink"]
