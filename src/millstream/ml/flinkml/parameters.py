"""Parameters of FlinkML 1.x: maps of them, and those that have no counterpart here."""

from __future__ import annotations

from typing import Any, NoReturn, Self

from millstream.ml.errors import ml_error
from millstream.ml.param import Param

__all__ = ["ParameterMap", "refuse"]


class ParameterMap(dict[Any, Any]):
    """Parameters for one call of ``fit`` or ``predict``.

    Examples
    --------
    >>> from millstream.ml import SVM, ParameterMap
    >>> given = ParameterMap().add(SVM.REGULARIZATION, 0.5)
    >>> given[SVM.REGULARIZATION]
    0.5
    """

    def add(self, param: Param[Any] | str, value: Any) -> Self:
        """Give a parameter a value."""
        self[param] = value
        return self


def refuse(stage: str, name: str, reason: str) -> NoReturn:
    """Tell that a setter of FlinkML has no counterpart."""
    message = f"{stage} has no {name}: {reason}"
    raise ml_error("ML_NO_COUNTERPART", message, "leave the call out")
