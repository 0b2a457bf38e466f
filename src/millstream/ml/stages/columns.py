"""Checks of stages with several columns, and of values that a stage does not know."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from millstream.ml.api import Stage
from millstream.ml.errors import ml_value_error

__all__ = ["refuse_invalid", "same_count"]


def same_count(stage: Stage[Any], *names: str) -> None:
    """Refuse parameters of columns that have different numbers of elements."""
    counts = {name: len(getattr(stage, name)) for name in names}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name} has {count}" for name, count in counts.items())
        message = f"{type(stage).__name__} needs as many of each: {listed}"
        raise ml_value_error("ML_PARAM_VALUE", message, "give one for each column")


def refuse_invalid(invalid: NDArray[np.bool_], handling: str, what: str) -> None:
    """Refuse rows with values that the stage does not know, if it handles them as errors."""
    if handling == "error" and invalid.any():
        message = f"the input contains {what} in row {int(invalid.argmax())} of a batch"
        hint = "set_handle_invalid('skip') leaves such rows out, 'keep' gives them a place"
        raise ml_value_error("ML_INVALID_VALUE", message, hint)
