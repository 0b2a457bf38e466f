"""Specifications of files, and of sources that Spark reads: plain data, translated by the runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from millstream.common.errors import Location
from millstream.connectors.source import ChannelSource, SourceSpec

FileFormat = Literal["text", "csv", "json", "parquet", "orc", "avro"]

_TEXT_COMPRESSION = ("none", "gzip", "bzip2")
FILE_SINK_OPTIONS: Mapping[FileFormat, Mapping[str, tuple[str, ...]]] = {
    "text": {"compression": _TEXT_COMPRESSION},
    "json": {"compression": _TEXT_COMPRESSION},
    "csv": {
        "compression": _TEXT_COMPRESSION,
        "header": ("true", "false"),
        "quoteAll": ("true", "false"),
        **dict.fromkeys(("sep", "quote", "escape", "lineSep", "nullValue"), ()),
    },
    "parquet": {"compression": ("none", "snappy", "gzip", "zstd", "lz4", "brotli")},
    "orc": {"compression": ("none", "snappy", "zlib", "zstd", "lz4")},
    "avro": {"compression": ("none", "deflate", "bzip2", "xz"), "schema": ()},
}
"""The options of Spark's writers that file sinks have, and the values of those that are a choice."""


@dataclass(frozen=True, kw_only=True)
class FilesSpec(SourceSpec):
    """Reads files; each of them is a channel. Spark lists them.

    ``watch`` False lists the files once, at the first start, and ends when they are read.
    """

    kind = "files"

    path: str
    format: FileFormat
    options: Mapping[str, str] = field(default_factory=dict)
    schema: Any = None
    watch: bool = False

    @property
    def bounded(self) -> bool:
        return not self.watch

    def describe_channels(self) -> str:
        unknown = "; files to come are unknown, so none is waited for"
        return "one a file" + (unknown if self.watch else "")

    def describe_reading(self, configuration: Mapping[str, str]) -> str:
        # These import Arrow's readers, which only jobs with files need.
        from millstream.connectors.files.choice import READER_KEY, refusal
        from millstream.connectors.files.columns import columns_of

        columns = columns_of(self.schema)
        reason = refusal(self.path, self.format, self.options, columns)
        if configuration.get(READER_KEY) == "spark" and self.format != "avro":
            reason = READER_KEY
        if reason is not None:
            return f"Spark's reader: {reason}"
        if self.format in ("text", "avro") or columns is not None:
            return "the workers"
        return "the workers, unless Spark finds columns that only its own reader knows"

    def channels(self, location: Location | None = None) -> ChannelSource:
        """Return the same files as channels, for a source that reads them before others."""
        from millstream.connectors.files.channels import file_channels

        return file_channels(self.path, self.format, self.options, self.schema, location)

    def signature(self) -> str:
        return f"files {self.path}"


@dataclass(frozen=True, kw_only=True)
class SocketSpec(SourceSpec):
    """Lines from a TCP socket, through Spark's socket source: no replay, so no exactly-once."""

    kind = "socket"
    bounded = False
    keeps_order = False

    host: str
    port: int

    def channel_count(self) -> int:
        return 1

    def describe_channels(self) -> str:
        return "one; not replayable, so not exactly-once"


@dataclass(frozen=True, kw_only=True)
class DataFrameSpec(SourceSpec):
    """Any Spark DataFrame. One channel whose stamps move at epoch ends, unless columns say more.

    ``resume`` makes one that goes on from the offset of another job's, as Spark has written it.
    """

    kind = "dataframe"
    has_name = False

    dataframe: Any
    channel: str | None = None
    position: str | None = None
    resume: Callable[[Any], Any] | None = None

    @property
    def bounded(self) -> bool:
        return not self.dataframe.isStreaming

    @property
    def batch_only(self) -> bool:
        """Spark does not read a batch DataFrame in a streaming query."""
        return self.bounded

    @property
    def keeps_order(self) -> bool:
        return self.channel is not None

    def channel_count(self) -> int | None:
        return 1 if self.channel is None else None

    def describe_channels(self) -> str:
        if self.channel is not None:
            return f"by column {self.channel!r}"
        return "one; watermarks move at the end of an epoch, as the order of its rows is unknown"

    def details(self) -> dict[str, Any]:
        return {"resumable": self.bounded or self.resume is not None}


@dataclass(frozen=True, kw_only=True)
class FilesSinkSpec:
    """Files to write: where, and how.

    ``bucketed``: records come as triples: the path of a subdirectory, whether it is complete, and the
    record. ``part_size``: from how many bytes on a file is followed by another one.
    """

    path: str
    format: FileFormat
    options: Mapping[str, str] = field(default_factory=dict)
    prefix: str = "part"
    encoder: Callable[[Any], str] | None = None
    bucketed: bool = False
    part_size: int | None = None
