"""Specifications of files, and of sources that Spark reads: plain data, translated by the runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from millstream.connectors.source import SourceSpec

FileFormat = Literal["text", "csv", "json", "parquet"]

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
}
"""The options of Spark's writers that file sinks have, and the values of those that are a choice."""


@dataclass(frozen=True, kw_only=True)
class FilesSpec(SourceSpec):
    """Reads files through Spark; each file is a channel.

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
    """Files to write: where, and how."""

    path: str
    format: FileFormat
    options: Mapping[str, str] = field(default_factory=dict)
    prefix: str = "part"
    encoder: Callable[[Any], str] | None = None
