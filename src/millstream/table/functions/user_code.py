"""Functions of users in the worker that holds the columns: values go in, columns come out."""

from __future__ import annotations

import asyncio
import inspect
import weakref
from collections.abc import Callable, Coroutine, Generator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.common.errors import Location, MillstreamError, user_code_error
from millstream.common.types import Row
from millstream.kernel.calls.context import running_context
from millstream.kernel.records.order import Ints
from millstream.table.functions.user_classes import FunctionContext, UserDefinedFunction
from millstream.table.types.arrow import arrow_type
from millstream.table.types.logical import LogicalType, RowType
from millstream.table.types.values import (
    HALVES_EVEN,
    arrow_value,
    column_of,
    python_value,
    python_values,
)

__all__ = ["AggregateCode", "UserCode", "rows_of_result"]

_ASYNC_LIMIT = 1_000
"""So many calls of an asynchronous function wait at the same time."""


class UserCode:
    """A function of a user, with what is needed to call it over columns.

    ``form``: "general" (values of a row), "pandas" (a Series for each column) or "arrow" (an array for
    each). ``row_names``: it takes all columns as one row with these names. ``location``: where the
    program defines it. It is opened before the first call in a process, and closed when it goes.
    """

    def __init__(
        self,
        function: Any,
        name: str,
        form: str = "general",
        row_names: tuple[str, ...] | None = None,
        location: Location | None = None,
    ) -> None:
        self.function = function
        self.name = name
        self.form = form
        self.row_names = row_names
        self.location = location
        self._is_open = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_is_open": False}

    def on_rows(self, names: Sequence[str]) -> UserCode:
        """The same function with the whole row as its only argument."""
        return UserCode(self.function, self.name, self.form, tuple(names), self.location)

    def open(self) -> None:
        """Open the function, once."""
        if self._is_open:
            return
        self._is_open = True
        if isinstance(self.function, UserDefinedFunction):
            self.function.open(_function_context())
            weakref.finalize(self, self.function.close)

    @property
    def call(self) -> Callable[..., Any]:
        """The function of one row's values."""
        found = getattr(self.function, "eval", self.function)
        if self.row_names is None or self.form != "general":
            return found  # type: ignore[no-any-return]
        make = _RowMaker(self.row_names)
        return lambda *values: found(make(*values))

    # Scalar functions.

    def column(
        self,
        arrays: Sequence[pa.Array],
        types: Sequence[LogicalType],
        result: LogicalType,
        length: int,
    ) -> pa.Array:
        """The results for all rows."""
        self.open()
        if self.form != "general":
            return self._of_columns(arrays, types, result, length)
        rows = self._rows(arrays, types, length)
        call = self.call
        if inspect.iscoroutinefunction(getattr(self.function, "eval", self.function)):
            return self._built(asyncio.run(self._awaited(call, rows)), rows, result)
        return self._built([self._called(call, row) for row in rows], rows, result)

    def _rows(
        self, arrays: Sequence[pa.Array], types: Sequence[LogicalType], length: int
    ) -> list[tuple[Any, ...]]:
        if not arrays:
            return [()] * length
        columns = [python_values(a, kind) for a, kind in zip(arrays, types, strict=True)]
        return list(zip(*columns, strict=True))

    def _called(self, call: Callable[..., Any], row: tuple[Any, ...]) -> Any:
        try:
            return call(*row)
        except MillstreamError:
            raise
        except Exception as error:
            raise self.failure(error, row) from error

    async def _awaited(
        self, call: Callable[..., Any], rows: Sequence[tuple[Any, ...]]
    ) -> list[Any]:
        room = asyncio.Semaphore(_ASYNC_LIMIT)

        async def one(row: tuple[Any, ...]) -> Any:
            async with room:
                try:
                    return await call(*row)
                except Exception as error:
                    raise self.failure(error, row) from error

        waiting: list[Coroutine[Any, Any, Any]] = [one(row) for row in rows]
        return list(await asyncio.gather(*waiting))

    def _built(self, values: list[Any], rows: Sequence[Any], result: LogicalType) -> pa.Array:
        try:
            return column_of(values, result, decimals=HALVES_EVEN)
        except Exception:
            # Which row was it?
            for value, row in zip(values, rows, strict=True):
                try:
                    column_of([value], result, decimals=HALVES_EVEN)
                except Exception as error:
                    raise self.wrong_result(value, result, error, row) from error
            raise

    def wrong_result(
        self, value: Any, result: LogicalType, error: Exception, row: Any
    ) -> MillstreamError:
        """The error of a result that does not fit the type of the function."""
        made = TypeError(f"the result {value!r:.80} is no {result}: {error}")
        hint = "return a value of the result type, or declare another one"
        return self.failure(made, row, hint, self.location)

    def failure(
        self,
        error: Exception,
        row: Any,
        hint: str | None = None,
        location: Location | None = None,
    ) -> MillstreamError:
        """An error with the user's line, the function and the row."""
        return user_code_error(
            error,
            self.name,
            record=row,
            location=location,
            subject=f"function {self.name!r}",
            hint=hint,
        )

    def _of_columns(
        self,
        arrays: Sequence[pa.Array],
        types: Sequence[LogicalType],
        result: LogicalType,
        length: int,
    ) -> pa.Array:
        given = list(arrays) if self.form == "arrow" else [*map(_series, arrays, types)]
        if self.row_names is not None:
            given = [_frame(given, self.row_names, self.form)]
        first = [array[0].as_py() for array in arrays] if length else []
        try:
            found = self.call(*given)
        except Exception as error:
            raise self.failure(error, first) from error
        if not hasattr(found, "__len__") or len(found) != length:
            size = len(found) if hasattr(found, "__len__") else 1
            made = ValueError(f"{size} results for {length} rows: {type(found).__name__}")
            raise self.failure(made, first, "return one value for each row") from None
        try:
            return _array(found, result)
        except Exception as error:
            raise self.wrong_result(found, result, error, first) from error

    # Table functions.

    def rows(
        self, arrays: Sequence[pa.Array], types: Sequence[LogicalType], result: RowType, length: int
    ) -> tuple[Ints, list[pa.Array]]:
        """The rows that a table function makes: which row each one comes from, and the columns."""
        self.open()
        call, width = self.call, len(result.fields)
        rows: list[int] = []
        made: list[Sequence[Any]] = []
        given = self._rows(arrays, types, length)
        for at, row in enumerate(given):
            try:
                found = [_checked(each, width) for each in rows_of_result(self._called(call, row))]
            except MillstreamError:
                raise
            except Exception as error:
                raise self.failure(error, row) from error
            made += found
            rows += [at] * len(found)
        causes = [given[at] for at in rows]
        columns = [
            self._built([row[place] for row in made], causes, field.type)
            for place, field in enumerate(result.fields)
        ]
        return np.array(rows, np.int64), columns


def _function_context() -> FunctionContext:
    """The context of a function: that of the operator which calls it."""
    operator = running_context()
    if operator is None:
        return FunctionContext()
    return FunctionContext(
        operator.get_metrics_group(),
        operator.job_parameters,
        operator.get_task_name(),
        operator.get_number_of_parallel_subtasks(),
        operator.get_index_of_this_subtask(),
    )


def rows_of_result(found: Any) -> list[Sequence[Any]]:
    """The rows of what a table function returns: nothing, one row, or a list or generator of them.

    Examples
    --------
    >>> rows_of_result([(1, "a"), (2, "b")]), rows_of_result("a"), rows_of_result(None)
    ([(1, 'a'), (2, 'b')], [('a',)], [])
    """
    if found is None:
        return []
    several = found if isinstance(found, (list, range, Generator)) else [found]
    return [tuple(each) if isinstance(each, (tuple, Row)) else (each,) for each in several]


def _checked(row: Sequence[Any], width: int) -> Sequence[Any]:
    if len(row) != width:
        raise ValueError(
            f"a row of {len(row)} values, and the result has {width} columns: {row!r:.80}"
        )
    return row


class _RowMaker:
    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = list(names)

    def __call__(self, *values: Any) -> Row:
        row = Row(*values)
        row.set_field_names(self._names)
        return row


def _series(array: pa.Array, kind: LogicalType) -> Any:
    if isinstance(kind, RowType):
        parts = zip(array.flatten(), kind.fields, strict=True)
        columns = [_series(part, field.type) for part, field in parts]
        return _frame(columns, [field.name for field in kind.fields], "pandas")
    return array.to_pandas()


def _frame(columns: Sequence[Any], names: Sequence[str], form: str) -> Any:
    if form == "arrow":
        return pa.RecordBatch.from_arrays(list(columns), names=list(names))
    import pandas as pd

    return pd.DataFrame(dict(enumerate(columns))).set_axis(list(names), axis=1)


def _array(found: Any, kind: LogicalType) -> pa.Array:
    """An Arrow column of a Series, a DataFrame (of a row type), an array or a list."""
    wanted = arrow_type(kind)
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    if isinstance(found, pa.Array):
        return found if found.type == wanted else found.cast(wanted)
    if isinstance(kind, RowType) and hasattr(found, "columns"):
        is_batch = isinstance(found, pa.RecordBatch)
        columns = found.columns if is_batch else [part for _, part in found.items()]
        parts = [_array(c, f.type) for c, f in zip(columns, kind.fields, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=list(wanted))
    if isinstance(kind, RowType):
        return column_of(list(found), kind, decimals=HALVES_EVEN)
    return pa.Array.from_pandas(found, type=wanted)


class AggregateCode:
    """An aggregate function of a user as the kernel calls it, over values of Arrow.

    ``types``: those of the arguments. ``result``: of a table aggregate an array of rows.
    """

    def __init__(
        self,
        code: UserCode,
        types: Sequence[LogicalType],
        result: LogicalType,
        *,
        rows: bool = False,
    ) -> None:
        self._code = code
        self._types = tuple(types)
        self._result = result
        self._gives_rows = rows

    def _safely(self, call: Callable[..., Any], row: Any, *arguments: Any) -> Any:
        self._code.open()
        try:
            return call(*arguments)
        except Exception as error:
            raise self._code.failure(error, row) from error

    def _values(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        found = tuple(python_value(v, t) for v, t in zip(values, self._types, strict=True))
        if self._code.row_names is None:
            return found
        return (_RowMaker(self._code.row_names)(*found),)

    def create_accumulator(self) -> Any:
        """The accumulator of a group without rows."""
        return self._safely(self._code.function.create_accumulator, ())

    def accumulate(self, accumulator: Any, *values: Any) -> None:
        """Add a row."""
        row = self._values(values)
        self._safely(self._code.function.accumulate, row, accumulator, *row)

    def retract(self, accumulator: Any, *values: Any) -> None:
        """Take a row back."""
        row = self._values(values)
        self._safely(self._code.function.retract, row, accumulator, *row)

    def merge(self, accumulator: Any, accumulators: Any) -> None:
        """Add the rows of other accumulators."""
        self._safely(self._code.function.merge, (), accumulator, accumulators)

    def get_value(self, accumulator: Any) -> Any:
        """The value of a group, for a column of Arrow."""
        function = self._code.function
        if not self._gives_rows:
            value = self._safely(function.get_value, accumulator, accumulator)
        else:
            emitted = self._safely(function.emit_value, accumulator, accumulator)
            value = self._safely(rows_of_result, accumulator, emitted)
        return self._fitted(value, accumulator)

    def of_rows(self, rows: Sequence[tuple[Any, ...]]) -> Any:
        """The value of all rows of a group, given to a function of columns."""
        self._code.open()
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(self._types)
        arrays = [
            pa.array(column, arrow_type(kind))
            for column, kind in zip(columns, self._types, strict=True)
        ]
        given: list[Any] = arrays
        if self._code.form == "pandas":
            given = [*map(_series, arrays, self._types)]
        if self._code.row_names is not None:
            given = [_frame(given, self._code.row_names, self._code.form)]
        function = self._code.function
        if not hasattr(function, "accumulate"):
            value = self._safely(function, rows[:1], *given)
        else:
            accumulator = self._safely(function.create_accumulator, ())
            self._safely(function.accumulate, rows[:1], accumulator, *given)
            value = self._safely(function.get_value, rows[:1], accumulator)
        return self._fitted(_plain(value), rows[:1])

    def _fitted(self, value: Any, row: Any) -> Any:
        try:
            found = arrow_value(value, self._result, decimals=HALVES_EVEN)
            pa.array([found], arrow_type(self._result))
        except Exception as error:
            raise self._code.wrong_result(value, self._result, error, row) from error
        return found


def _plain(value: Any) -> Any:
    """A number of numpy as one of Python."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and value != value else value
