"""Versions of models in folders."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Mapping
from typing import Any

from millstream.common.types import Row
from millstream.datastream.functions import SinkFunction
from millstream.ml.api import Stage
from millstream.ml.util.read_write_utils import load_model_rows, local_folder, save_model

__all__ = ["NewestSink", "load_row", "save_row"]


def save_row(stage: Stage[Any], row: Any, path: str) -> None:
    """Write a model and its one row of model data."""
    save_model(stage, [_named(row)], path)


def _named(row: Any) -> Mapping[str, Any]:
    names = list(getattr(row, "_fields", None) or ())
    return dict(zip(names or [f"f{at}" for at in range(len(row))], row, strict=True))


def load_row(path: str) -> Row | None:
    """Return the row of model data in a folder, None if it has none."""
    if not (local_folder(path) / "data").exists():
        return None
    (found,) = load_model_rows(path)
    row = Row(*found.values())
    row.set_field_names(list(found))
    return row


class NewestSink(SinkFunction[Any]):
    """Writes each version over the one before. What is read at any time is one whole version."""

    def __init__(self, model: Stage[Any], path: str) -> None:
        self.model = type(model)()
        self.model._take_params(model)
        self.path = path

    def invoke(self, value: Any) -> None:
        target = local_folder(self.path)
        made = target.parent / f".{target.name}.{uuid.uuid4().hex}"
        save_row(self.model, value, str(made))
        if target.exists():
            os.replace(made / "data", target / "data")
            shutil.rmtree(made)
        else:
            os.replace(made, target)
