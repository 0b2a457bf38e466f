"""DStreams: what programs call to describe what happens to each batch."""

from millstream.dstream.streams.dstream import DStream

__all__ = ["DStream"]
