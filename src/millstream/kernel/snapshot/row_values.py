"""Rows of columns of the values of keys: what a savepoint holds, for an operator that keeps rows."""

from __future__ import annotations

from typing import Any, Protocol

from millstream.common.errors import CheckpointError, TypeMismatchError
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.snapshot.fields import fits_exactly
from millstream.kernel.tables.rows import RowForm, Rows
from millstream.kernel.windows.pane_store import refuse_other_key


class RowOperator(Protocol):
    """An operator that keeps a row for each key."""

    info: OperatorInfo
    form: RowForm

    def row_key(self, row: Any) -> Any: ...


def rows_of(operator: RowOperator, keys: list[Any], values: list[Any]) -> Rows:
    """The rows of keys with values, which may be of any type: what no column holds is pickled."""
    form = operator.form
    for key, value in zip(keys, values, strict=True):
        refuse_other_key(operator.info, operator.row_key(value), key, "value")
    whole = fits_exactly(form.type_info, values)
    fits = [whole or fits_exactly(form.type_info, [value]) for value in values]
    try:
        return form.rows(keys, values, fits)
    except TypeMismatchError as error:
        raise CheckpointError(
            "KEYS_CHANGED",
            f"operator {operator.info.uid!r} has stored values by keys of another type than those of "
            f"this program: {error.message}",
            parameters={"uid": operator.info.uid},
            location=operator.info.location,
            hint="key by the same values as before, or give the operator another uid to start empty",
        ) from error
