"""The errors of machine learning."""

from __future__ import annotations

from millstream.common.errors import MillstreamError, user_location

__all__ = ["MLError", "MLTypeError", "MLValueError", "ml_error", "ml_type_error", "ml_value_error"]


class MLError(MillstreamError):
    """A stage cannot be fitted, applied, saved or read.

    Examples
    --------
    >>> print(MLError("ML_NOT_FITTED", "KMeans has not been fitted"))
    [ML_NOT_FITTED] KMeans has not been fitted
    """


class MLValueError(MLError, ValueError):
    """A parameter or a value of the data is not allowed.

    Examples
    --------
    >>> isinstance(MLValueError("ML_PARAM_VALUE", "k is -1"), ValueError)
    True
    """


class MLTypeError(MLError, TypeError):
    """A parameter or an argument is of a wrong class.

    Examples
    --------
    >>> isinstance(MLTypeError("ML_PARAM_TYPE", "k is 'two'"), TypeError)
    True
    """


def ml_error(code: str, message: str, hint: str | None = None) -> MLError:
    """An error that knows the user's line."""
    return MLError(code, message, location=user_location(), hint=hint)


def ml_value_error(code: str, message: str, hint: str | None = None) -> MLValueError:
    """The same, for values; it is a ValueError too."""
    return MLValueError(code, message, location=user_location(), hint=hint)


def ml_type_error(code: str, message: str, hint: str | None = None) -> MLTypeError:
    """The same, for classes; it is a TypeError too."""
    return MLTypeError(code, message, location=user_location(), hint=hint)
