"""The files of a bounded read, and which of them contain records."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from millstream.common.errors import MillstreamError, PlanError
from millstream.common.paths import absolute_path, local_path
from millstream.connectors.files.avro import schema_of_file
from millstream.connectors.files.choice import LISTING_OPTIONS, FileReader
from millstream.connectors.files.opening import GLOB, Fragment
from millstream.plan.specs import FilesSpec
from millstream.spark.io.xxhash64 import xxhash64

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

DEFAULT_EPOCH_BYTES = 256 << 20
SMALL_FILE = 64 << 10
SMALL_EPOCH_BYTES = 512 << 20


def streaming_path(spark: SparkSession, path: str) -> str:
    """A path as Spark's streaming reader takes it.

    It takes what is no pattern as a folder, so a single file becomes a pattern that only this file fits:
    a choice of one name.
    """
    path = absolute_path(path)
    if GLOB.isdisjoint(path) and _is_file(spark, path):
        folder, _, name = path.rpartition("/")
        name = name.replace(",", "\\,")
        return f"{folder}/{{{name}}}"
    return path


def _is_file(spark: SparkSession, path: str) -> bool:
    local = local_path(path)
    if local is not None:
        return os.path.isfile(local)
    # Not a path of this machine: a folder holds files with longer names than its own.
    found = spark.read.format("binaryFile").load(path).select("path").head(2)
    return [os.path.basename(row["path"]) for row in found] == [os.path.basename(path)]


def file_channel() -> Column:
    """The channel of a file: Spark knows its name without copying it into every row."""
    return F.xxhash64(F.input_file_name())


def with_schema(spark: SparkSession, spec: FilesSpec) -> FilesSpec:
    """A spec that knows its schema: if nobody gave one, Spark looks at the files, but not at Avro's."""
    if spec.schema is not None or spec.format == "text":
        return spec
    if spec.format == "avro":
        return replace(spec, schema=schema_of_file(_a_file(spark, spec)))
    read = spark.read.format(spec.format).options(**spec.options).load(absolute_path(spec.path))
    return replace(spec, schema=read.schema)


def spark_schema(spec: FilesSpec) -> StructType:
    """The schema of a spec, be it text; without columns if it has none."""
    schema = spec.schema
    if schema is None:
        return StructType()
    return cast(StructType, StructType.fromDDL(schema) if isinstance(schema, str) else schema)


def file_reader(spark: SparkSession, spec: FilesSpec, reader: Any) -> Any:
    """A reader, streaming or not, of the files that a spec describes."""
    schema = with_schema(spark, spec).schema
    reader = reader.format(spec.format).options(**spec.options)
    return reader if schema is None else reader.schema(schema)


@dataclass(frozen=True)
class ListedFile:
    """A file with something in it."""

    channel: int
    path: str
    length: int


def channels_with_records(
    spark: SparkSession, spec: FilesSpec, reader: FileReader | None = None
) -> list[int]:
    """The channels of the files that will speak: one that never does would hold the clock.

    A line of text is a record, so that a length is enough to know. A small file of another format may
    hold a header, a schema or white space only: somebody has to look, Spark if it reads the files.
    """
    files = _listed_here(spec)
    if files is None:
        files = _listed_by_spark(spark, spec)
    small = [] if spec.format == "text" else [f for f in files if f.length < SMALL_FILE]
    channels = {file.channel for file in files} - {file.channel for file in small}
    if reader is not None:
        return sorted(channels | {file.channel for file in small if _speaks(file, reader)})
    if small:
        paths = [re.sub(r"([\[\]{}*?\\])", r"\\\1", file.path) for file in small]
        speaking = file_reader(spark, spec, spark.read).load(paths)
        heard = speaking.select(file_channel().alias("id")).distinct()
        channels |= {row["id"] for row in heard.collect()}
    return sorted(channels)


def _speaks(file: ListedFile, reader: FileReader) -> bool:
    """Whether a file has a record; one that cannot be read fails in its turn, if it is still there."""
    try:
        return any(len(arrays[0]) for arrays in reader.read(Fragment(file.path)))
    except (OSError, MillstreamError):
        return True


def _a_file(spark: SparkSession, spec: FilesSpec) -> str:
    files = _listed_here(spec)
    files = _listed_by_spark(spark, spec) if files is None else files
    if not files:
        raise PlanError(
            "SOURCE_REFUSED",
            f"there is no file in {spec.path} to take the schema from",
            hint="give the source a schema=",
        )
    return min(file.path for file in files)


def _listed_by_spark(spark: SparkSession, spec: FilesSpec) -> list[ListedFile]:
    options = {k: v for k, v in spec.options.items() if k.lower() in LISTING_OPTIONS}
    listed = spark.read.format("binaryFile").options(**options).load(absolute_path(spec.path))
    files = listed.where("length > 0").select(file_channel().alias("id"), "path", "length")
    return [ListedFile(*row) for row in files.collect()]


PLAIN_PATH = re.compile(r"/[\w./=+,-]*", re.ASCII)
"""A path that is the same in Spark's spelling, which is that of a URI, and means one place."""


def _listed_here(spec: FilesSpec) -> list[ListedFile] | None:
    """The files of a plain local folder or file, or None if it takes Spark to tell.

    Spark's listing is a query; as the first one of a session it takes some seconds.
    """
    place = plain_path(spec.path)
    selective = any(option.lower() in LISTING_OPTIONS for option in spec.options)
    if selective or place is None or not os.path.exists(place):
        return None
    found = []
    for path in entries(place):
        if not path.is_file() or "=" in path.name or not PLAIN_PATH.fullmatch(str(path)):
            return None
        length = path.stat().st_size
        if length:
            found.append(ListedFile(xxhash64(f"file://{path}".encode()), str(path), length))
    return found


def plain_path(path: str) -> str | None:
    """The path of a local file or folder; None for one elsewhere, or one that has to be looked up."""
    local = local_path(path)
    return local if local is not None and PLAIN_PATH.fullmatch(local) else None


def is_plain_folder(path: str) -> bool:
    """Whether a path is a file or folder of this machine in which no folder stands for a value."""
    place = plain_path(path)
    if place is None or not os.path.exists(place):
        return False
    return all(entry.is_file() for entry in entries(place))


def entries(place: str) -> Iterator[Path]:
    """A file, or what is in a folder, without what Spark takes as hidden."""
    path = Path(place)
    for found in [path] if path.is_file() else path.iterdir():
        hidden = found.name.startswith(".") or found.name.endswith("._COPYING_")
        if not hidden and (not found.name.startswith("_") or "=" in found.name):
            yield found
