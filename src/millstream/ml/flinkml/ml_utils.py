"""MLUtils: files of LibSVM."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from millstream.common.paths import local_path
from millstream.ml.errors import ml_error, ml_value_error
from millstream.ml.labeled import LabeledVector
from millstream.ml.linalg import SparseVector
from millstream.ml.stages.entry import frame_of

__all__ = ["MLUtils"]


class MLUtils:
    """Reading and writing of LibSVM's files: a label and ``place:value`` in each line, from place 1.

    Examples
    --------
    >>> import tempfile
    >>> from millstream.ml.linalg import Vectors
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = f"{folder.name}/data.libsvm"
    >>> MLUtils.write_libsvm(path, [LabeledVector(1.0, Vectors.dense(0.0, 2.5))])
    >>> MLUtils.read_libsvm(path)
    [LabeledVector(label=1.0, vector=SparseVector(2, {1: 2.5}))]
    >>> folder.cleanup()
    """

    @staticmethod
    def read_libsvm(env: Any, path: Any = None) -> Any:
        """The lines of a file, or of the files of a folder, as sparse vectors of one length.

        ``read_libsvm(path)`` gives a list of `LabeledVector`; ``read_libsvm(env, path)`` a DataSet of
        them, and with a SparkSession a DataFrame with the columns ``label`` and ``features``.
        """
        if path is None:
            return _read(str(env))
        if type(env).__module__.startswith("pyspark."):
            return env.read.format("libsvm").load(str(path))
        return env.from_collection(_read(str(path)))

    @staticmethod
    def write_libsvm(path: Any, data: Any) -> None:
        """Write vectors with labels to a file: a list of `LabeledVector`, or data with both columns."""
        target = _local(str(path))
        lines = [_line(label, vector) for label, vector in _pairs(data)]
        with target.open("w", encoding="utf-8") as file:
            file.writelines(lines)


def _pairs(data: Any) -> Iterable[tuple[float, Any]]:
    if hasattr(data, "collect") and type(data).__module__.startswith("millstream.dataset"):
        data = data.collect()
    batch = frame_of(data, ["features"], None, "label").batch()
    return zip(batch.numbers("label").tolist(), batch.vectors("features"), strict=True)


def _line(label: float, vector: Any) -> str:
    sparse = vector.to_sparse()
    pairs = zip(sparse.indices.tolist(), sparse.values.tolist(), strict=True)
    return " ".join([repr(label), *(f"{at + 1}:{value!r}" for at, value in pairs)]) + "\n"


def _local(path: str) -> Path:
    found = local_path(path)
    if found is None:
        hint = "with a SparkSession, read_libsvm reads whatever Spark can"
        raise ml_error("ML_INPUT_KIND", f"{path} is no path of this machine", hint)
    return Path(found)


def _read(path: str) -> list[LabeledVector]:
    target = _local(path)
    files = sorted(target.iterdir()) if target.is_dir() else [target]
    rows: list[tuple[float, list[int], list[float]]] = []
    for each in files:
        if not each.name.startswith((".", "_")):
            with each.open(encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    text = line.split("#")[0].strip()
                    if text:
                        rows.append(_parsed(text, f"{os.fspath(each)}:{number}"))
    size = max((places[-1] for _, places, _ in rows if places), default=0)
    return [
        LabeledVector(label, SparseVector(size, np.array(places, np.int32) - 1, values))
        for label, places, values in rows
    ]


def _parsed(text: str, where: str) -> tuple[float, list[int], list[float]]:
    label, *items = text.split()
    try:
        pairs = [item.split(":") for item in items]
        places = [int(place) for place, _ in pairs]
        found = float(label), places, [float(value) for _, value in pairs]
    except ValueError:
        message = f"{where} is no line of LibSVM: {text:.60}"
        raise ml_value_error("ML_LIBSVM", message, "write: label place:value ...") from None
    if places != sorted(set(places)) or (places and places[0] < 1):
        message = f"{where} has places that do not rise from 1: {text:.60}"
        raise ml_value_error("ML_LIBSVM", message, "sort the places; the first one is 1")
    return found
