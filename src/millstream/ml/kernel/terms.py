"""Columns of texts and of lists of terms."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream.ml.errors import ml_type_error
from millstream.ml.kernel.batch import Batch

__all__ = ["lists_of", "texts_of"]


def lists_of(batch: Batch, name: str) -> list[list[Any]]:
    """A column of lists.

    Examples
    --------
    >>> lists_of(Batch({"words": [["a", "b"], ("c",)]}), "words")
    [['a', 'b'], ['c']]
    """
    found = []
    for at, value in enumerate(batch.column(name)):
        if isinstance(value, (list, tuple, np.ndarray)):
            found.append(value.tolist() if isinstance(value, np.ndarray) else list(value))
        else:
            message = f"column {name!r} has {value!r:.60} in row {at}, which is no list of terms"
            raise ml_type_error("ML_COLUMN_KIND", message, "make lists of texts with Tokenizer")
    return found


def texts_of(batch: Batch, name: str) -> list[str]:
    """A column of texts."""
    found = batch.column(name)
    for at, value in enumerate(found):
        if not isinstance(value, str):
            message = f"column {name!r} has {value!r:.60} in row {at}, which is no text"
            raise ml_type_error("ML_COLUMN_KIND", message, "fill or convert the column first")
    return list(found)
