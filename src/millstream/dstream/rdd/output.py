"""Actions that write the values of an RDD, and its way to a DataFrame."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar, cast

from millstream.common.errors import PlanError, user_location
from millstream.common.paths import local_path
from millstream.common.pickling import dumps
from millstream.dstream.rdd.lineage import Lineage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Output", "parts_of", "read_pickles", "text_lines"]

T = TypeVar("T")
_SUCCESS = "_SUCCESS"


class Output(Lineage[T]):
    """Actions that write the values of an RDD, and its way to a DataFrame."""

    def saveAsTextFile(self, path: str, compressionCodecClass: str | None = None) -> None:
        """Write one file of lines per partition into a new folder, then the empty file _SUCCESS.

        A codec whose name ends in ``GzipCodec`` compresses the files.
        """
        compress = _gzip(compressionCodecClass)
        self._write(path, ".gz" if compress else "", compress, _lines)

    def saveAsPickleFile(self, path: str, batchSize: int = 10) -> None:
        """Write one file of pickles per partition, which `SparkContext.pickleFile` reads.

        The files are not those of Spark, which writes pickles into Hadoop's sequence files.
        """

        def batches(values: Iterable[Any]) -> Iterator[bytes]:
            found = list(values)
            size = batchSize or len(found) or 1
            for start in range(0, len(found), size):
                yield dumps(found[start : start + size])

        self._write(path, "", False, batches)

    def _write(
        self,
        path: str,
        ending: str,
        compress: bool,
        encode: Callable[[Iterable[Any]], Iterable[bytes]],
    ) -> None:
        folder = _folder_at(path)
        if folder.exists():
            raise PlanError(
                "OUTPUT_EXISTS",
                f"the folder {path} exists already",
                location=user_location(),
                hint="write into a new folder, or delete this one first",
            )
        working = folder.with_name(f".{folder.name}._temporary")
        shutil.rmtree(working, ignore_errors=True)
        working.mkdir(parents=True)

        def write(split: int, values: Iterable[Any]) -> list[None]:
            # A task that runs twice leaves one whole file.
            begun = working / f".part-{split:05d}-{os.getpid()}"
            with _opened(begun, compress) as file:
                file.writelines(encode(values))
            os.replace(begun, working / f"part-{split:05d}{ending}")
            return []

        self._narrow(write, False, "save")._run(_nothing, label="save")
        (working / _SUCCESS).touch()
        os.rename(working, folder)

    def toDF(self, schema: Any = None, sampleRatio: float | None = None) -> DataFrame:
        """A DataFrame of the values, made by the Spark session of the context."""
        values = cast("list[Any]", self._rdd.collect())
        return self.ctx.spark.createDataFrame(values, schema, sampleRatio)


def _nothing(values: Iterator[Any]) -> None:
    for _ in values:
        pass


def parts_of(path: str) -> list[Path]:
    """The files that a folder of `saveAsTextFile` has, or the file itself; hidden ones are left out."""
    found = _folder_at(path)
    if not found.exists():
        raise PlanError(
            "RDD_NO_INPUT",
            f"there is no file or folder {path}",
            location=user_location(),
            hint="check the path; a relative one begins where the program was started",
        )
    if found.is_file():
        return [found]
    return sorted(p for p in found.iterdir() if p.is_file() and p.name[0] not in "._")


def _folder_at(path: str) -> Path:
    local = local_path(os.fspath(path))
    if local is None:
        raise PlanError(
            "RDD_REMOTE_PATH",
            f"an RDD is written and read on this machine, not at {path}",
            location=user_location(),
            hint="use toDF() and Spark's writers, which know other file systems",
        )
    return Path(local)


def _gzip(codec: str | None) -> bool:
    if codec is None:
        return False
    if codec.endswith("GzipCodec"):
        return True
    raise PlanError(
        "RDD_CODEC",
        f"{codec} is not known",
        location=user_location(),
        hint="org.apache.hadoop.io.compress.GzipCodec is",
    )


def _opened(path: Path, compress: bool) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path, "wb")) if compress else open(path, "wb")


def _lines(values: Iterable[Any]) -> Iterator[bytes]:
    for value in values:
        yield (value if isinstance(value, bytes) else str(value).encode()) + b"\n"


def text_lines(path: Path, use_unicode: bool = True) -> Iterator[Any]:
    """The lines of a file of `saveAsTextFile`, or of any other."""
    data = path.read_bytes()
    for line in io.BytesIO(gzip.decompress(data) if path.suffix == ".gz" else data):
        text = line.removesuffix(b"\n").removesuffix(b"\r")
        yield text.decode("utf-8", "replace") if use_unicode else text


def read_pickles(path: Path) -> Iterator[Any]:
    """The values of a file of `saveAsPickleFile`."""
    with open(path, "rb") as file:
        while file.peek(1):
            yield from pickle.load(file)
