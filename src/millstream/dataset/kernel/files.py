"""Files of this machine, in memory."""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow.parquet as pq

from millstream.common.errors import Location, PlanError
from millstream.common.paths import local_path
from millstream.dataset.kernel.evaluate import Evaluator, operator_of
from millstream.dataset.kernel.places import Parts
from millstream.dataset.kernel.sources import slices
from millstream.dataset.plan.nodes import ReadLines, ReadParquet
from millstream.dataset.plan.records import decoded, table_of

__all__ = ["files_of", "lines_of", "replacing", "write_lines", "write_parquet"]

_END_OF_LINE = re.compile(r"\r\n|\r|\n")


def files_of(path: str, location: Location | None) -> list[str]:
    """A file, or the files of a folder, except for names that begin with a dot or an underscore."""
    here = local_path(path)
    if here is None or not os.path.exists(here):
        raise PlanError(
            "DATASET_PATH",
            f"there is no file or folder {path!r}"
            + ("" if here is not None else " on this machine, on which programs in memory read"),
            location=location,
        )
    if os.path.isfile(here):
        return [here]
    names = sorted(name for name in os.listdir(here) if name[0] not in "._")
    return [file for name in names for file in files_of(os.path.join(here, name), location)]


def lines_of(path: str, location: Location | None, end: str = "\n") -> list[str]:
    """The lines of a file or of the files of a folder."""
    found: list[str] = []
    for file in files_of(path, location):
        with open(file, encoding="utf-8-sig", newline="") as text:
            content = text.read()
        lines = _END_OF_LINE.split(content) if end == "\n" else content.split(end)
        found += lines[:-1] if lines and not lines[-1] else lines
    return found


@operator_of(ReadLines)
def _lines(run: Evaluator, node: ReadLines) -> Parts:
    return slices(run, node, lines_of(node.path, node.location, node.end))


@operator_of(ReadParquet)
def _parquet(run: Evaluator, node: ReadParquet) -> Parts:
    found: list[Any] = []
    for file in files_of(node.path, node.location):
        found += decoded(node.type, pq.read_table(file).columns)
    return slices(run, node, found)


@contextmanager
def replacing(path: str, overwrite: bool, location: Location | None) -> Iterator[str]:
    """A place on this machine to write to. What was there before goes when all is written."""
    here = local_path(path)
    if here is None:
        raise PlanError(
            "DATASET_PATH",
            f"{path!r} is not on this machine: a single file can be written there only",
            location=location,
            hint="leave out set_parallelism(1): then Spark writes a folder of files",
        )
    if os.path.exists(here) and not overwrite:
        raise exists(path, location)
    folder, name = os.path.split(here)
    os.makedirs(folder, exist_ok=True)
    fresh = os.path.join(folder, f".{name}.{uuid.uuid4().hex}")
    try:
        yield fresh
        _remove(here)
        os.replace(fresh, here)
    finally:
        _remove(fresh)


def _remove(place: str) -> None:
    if os.path.isdir(place):
        shutil.rmtree(place)
    elif os.path.exists(place):
        os.remove(place)


def exists(path: str, location: Location | None) -> PlanError:
    """The error for a file that is there already."""
    return PlanError(
        "DATASET_EXISTS",
        f"{path!r} exists already",
        location=location,
        hint="write to another place, or with WriteMode.OVERWRITE",
    )


def write_lines(place: str, parts: list[Any], end: str, *, one_file: bool) -> None:
    """Write lines: one file, or a folder with a file per partition."""
    if one_file:
        with open(place, "w", encoding="utf-8", newline="") as file:
            file.writelines(line + end for part in parts for line in part)
        return
    os.makedirs(place)
    for number, part in enumerate(parts):
        name = os.path.join(place, f"part-{number:05}.txt")
        with open(name, "w", encoding="utf-8", newline="") as file:
            file.writelines(line + end for line in part)


def write_parquet(place: str, type_info: Any, records: list[Any], *, one_file: bool) -> None:
    """Write columns: one file, or a folder with one file."""
    if not one_file:
        os.makedirs(place)
        place = os.path.join(place, "part-00000.parquet")
    pq.write_table(table_of(type_info, records), place)
