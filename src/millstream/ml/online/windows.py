"""Streams in the windows of flink-ml."""

from __future__ import annotations

from typing import Any

from millstream.datastream import window as stream_windows
from millstream.datastream.data_stream import DataStream
from millstream.ml.common.window import (
    CountTumblingWindows,
    EventTimeSessionWindows,
    EventTimeTumblingWindows,
    ProcessingTimeSessionWindows,
    ProcessingTimeTumblingWindows,
    Windows,
)

__all__ = ["windowed"]


def windowed(stream: DataStream[Any], windows: Windows) -> Any:
    """Return a stream in windows of flink-ml."""
    if isinstance(windows, CountTumblingWindows):
        return stream.count_window_all(windows.size)
    if isinstance(windows, EventTimeTumblingWindows):
        return stream.window_all(stream_windows.TumblingEventTimeWindows.of(windows.size))
    if isinstance(windows, ProcessingTimeTumblingWindows):
        return stream.window_all(stream_windows.TumblingProcessingTimeWindows.of(windows.size))
    if isinstance(windows, EventTimeSessionWindows):
        return stream.window_all(stream_windows.EventTimeSessionWindows.with_gap(windows.gap))
    if isinstance(windows, ProcessingTimeSessionWindows):
        return stream.window_all(stream_windows.ProcessingTimeSessionWindows.with_gap(windows.gap))
    return stream.window_all(stream_windows.EndOfStreamWindows.get())
