"""Outputs of tables on the driver, by the modes of Structured Streaming."""

from millstream.table.outputs.modes import OutputMode, foreach_output, show_output

__all__ = ["OutputMode", "foreach_output", "show_output"]
