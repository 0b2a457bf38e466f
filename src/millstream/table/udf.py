"""Functions of users, with PyFlink's names: `udf`, `udtf`, `udaf`, `udtaf` and their base classes."""

from __future__ import annotations

import functools
import inspect
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, overload

from millstream.common.errors import user_location
from millstream.plan.travel import unpicklable
from millstream.table.data_view import ListView, MapView
from millstream.table.expression import Expression
from millstream.table.functions.user_classes import (
    AggregateFunction,
    AsyncScalarFunction,
    FunctionContext,
    ImperativeAggregateFunction,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
    UserDefinedFunction,
)
from millstream.table.functions.user_code import UserCode
from millstream.table.logical.entries import FunctionEntry
from millstream.table.types.data_types import DataType, logical_of
from millstream.table.types.logical import ArrayType, LogicalType, RowField, RowType

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "FunctionContext",
    "ImperativeAggregateFunction",
    "ListView",
    "MapView",
    "ScalarFunction",
    "TableAggregateFunction",
    "TableFunction",
    "UserDefinedFunction",
    "UserDefinedFunctionWrapper",
    "udaf",
    "udf",
    "udtaf",
    "udtf",
]

Kind = Literal["scalar", "table", "aggregate", "table_aggregate"]
TypeLike = DataType | LogicalType | str
_FORMS = ("general", "pandas", "arrow")
_made: Counter[str] = Counter()


class UserDefinedFunctionWrapper:
    """A function with its types. Call it with expressions, or register it under a name.

    It is made by `udf`, `udtf`, `udaf` and `udtaf`.
    """

    def __init__(
        self,
        func: Any,
        kind: Kind,
        input_types: Any,
        result_type: LogicalType,
        deterministic: bool | None = None,
        name: str | None = None,
        func_type: str = "general",
    ) -> None:
        if inspect.isclass(func) or not (isinstance(func, UserDefinedFunction) or callable(func)):
            raise TypeError(
                "Invalid function: not a function or callable (__call__ is not defined): "
                f"{type(func)}"
            )
        own = func.is_deterministic() if isinstance(func, UserDefinedFunction) else None
        if deterministic is not None and own is not None and deterministic != own:
            raise ValueError(f"Inconsistent deterministic: {deterministic} and {own}")
        self._func = func
        self._name: str = name or getattr(func, "__name__", "") or type(func).__name__
        self._deterministic = next((d for d in (deterministic, own) if d is not None), True)
        self._alias_names: tuple[str, ...] = ()
        self._travels = False
        _made[self._name] += 1
        version = "" if _made[self._name] == 1 else str(_made[self._name])
        self.entry = FunctionEntry(
            self._name,
            kind,
            result_type,
            None if input_types is None else tuple(_input_types(input_types)),
            _parameters(func),
            self._deterministic,
            UserCode(func, self._name, func_type, location=user_location()),
            version=version,
            arity=_arity(func),
        )

    def __call__(self, *args: Any) -> Expression:
        self._refuse_what_cannot_travel()
        return Expression("user", args, data=self)

    def alias(self, *alias_names: str) -> UserDefinedFunctionWrapper:
        """Name the columns of the result, where the function is given to a table as it is."""
        self._alias_names = alias_names
        return self

    def on_row(self, columns: Sequence[str]) -> Expression:
        """The call with all columns of a table as one row."""
        taking = object.__new__(type(self))
        taking.__dict__.update(self.__dict__)
        code = self.entry.definition.on_rows(columns)
        taking.entry = replace(self.entry, definition=code, argument_types=None, arity=None)
        call = taking(*(Expression("column", name=name) for name in columns))
        return call.alias(*self._alias_names) if self._alias_names else call

    def registered(self, name: str, *, temporary: bool, system: bool) -> FunctionEntry:
        """The entry of a catalog under a name."""
        self._refuse_what_cannot_travel()
        return replace(self.entry, name=name, temporary=temporary, system=system, language="PYTHON")

    def _refuse_what_cannot_travel(self) -> None:
        """Raise at the first use, not in `udf`: it may use names that are defined below it."""
        if not self._travels:
            error = unpicklable(
                self._func, f"function {self._name!r}", self.entry.definition.location
            )
            if error is not None:
                raise error
            self._travels = True


def _input_types(given: Any) -> list[LogicalType]:
    if isinstance(given, (DataType, LogicalType, str)):
        found = logical_of(given)
        is_row = isinstance(found, RowType) and not isinstance(given, str)
        return [each.type for each in found.fields] if is_row else [found]  # type: ignore[attr-defined]
    for each in given:
        if not isinstance(each, (DataType, LogicalType, str)):
            raise TypeError(
                f"Invalid input_type: input_type should be DataType or str but contains {each}"
            )
    return [logical_of(each) for each in given]


def _result_type(given: Any) -> LogicalType:
    if not isinstance(given, (DataType, LogicalType, str)):
        raise TypeError(f"Invalid returnType: returnType should be DataType or str but is {given}")
    return logical_of(given)


def _row_type(given: Any) -> RowType:
    """The rows of a table function: of a row type its fields, else columns f0, f1 and so on."""
    if isinstance(given, (DataType, LogicalType, str)):
        found = logical_of(given)
        if isinstance(found, RowType):
            named = isinstance(given, str)
            fields = [
                RowField(each.name if named else f"f{at}", each.type)
                for at, each in enumerate(found.fields)
            ]
            return RowType(tuple(fields))
        return RowType((RowField("f0", found),))
    types = list(given) if isinstance(given, Iterable) else [given]
    for each in types:
        if not isinstance(each, (DataType, LogicalType, str)):
            raise TypeError(
                f"Invalid result_type: result_type should be DataType or str but contains {each}"
            )
    return RowType(tuple(RowField(f"f{at}", logical_of(t)) for at, t in enumerate(types)))


def _parameters(func: Any) -> tuple[str, ...]:
    """The names of the parameters, for calls with named arguments."""
    target = getattr(func, "eval", None) or getattr(func, "accumulate", None) or func
    try:
        names = [each.name for each in inspect.signature(target).parameters.values()]
    except (TypeError, ValueError):
        return ()
    return tuple(names[1:] if hasattr(func, "accumulate") else names)


def _arity(func: Any) -> tuple[int, float] | None:
    """The least and the largest number of arguments of a call; None if Python cannot tell."""
    target = getattr(func, "eval", None) or getattr(func, "accumulate", None) or func
    try:
        parameters = list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        return None
    if hasattr(func, "accumulate"):
        parameters = parameters[1:]  # the accumulator
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    placed = [each for each in parameters if each.kind in by_place]
    several = any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters)
    least = sum(each.default is inspect.Parameter.empty for each in placed)
    return least, math.inf if several else len(placed)


def _checked_form(func_type: str) -> None:
    if func_type not in _FORMS:
        raise ValueError(f"The func_type must be one of '{', '.join(_FORMS)}', got {func_type}.")


FunctionLike: TypeAlias = Expression | UserDefinedFunctionWrapper
"""A function of users that a table calls: on columns that it names, or on all of them."""
Code: TypeAlias = Callable[..., Any] | UserDefinedFunction
Decorator: TypeAlias = Callable[[Code], UserDefinedFunctionWrapper]


@overload
def udf(
    f: None = None,
    input_types: Any = None,
    result_type: TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Decorator: ...
@overload
def udf(
    f: Code,
    input_types: Any = None,
    result_type: TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> UserDefinedFunctionWrapper: ...
def udf(
    f: Code | None = None,
    input_types: Any = None,
    result_type: TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> UserDefinedFunctionWrapper | Decorator:
    """Make a scalar function: a value for each row. It is a decorator too.

    Parameters
    ----------
    f
        A function, a `ScalarFunction`, an ``async`` function or an `AsyncScalarFunction`.
    input_types
        The types of the arguments; arguments of other types are cast. By default all types are taken.
    result_type
        The type of the result, as a `DataTypes` or a text.
    deterministic
        Whether equal arguments always give equal results; by default they do.
    name
        The name, by default that of the function.
    func_type
        "general": the function gets the values of a row. "pandas": it gets a Series for each argument,
        and gives one. "arrow": it gets and gives Arrow arrays.

    Examples
    --------
    >>> from millstream.table.fluent.expression_functions import col
    >>> from millstream.table.table_environment import TableEnvironment
    >>> @udf(result_type="BIGINT")
    ... def add(i, j):
    ...     return i + j
    >>> t_env = TableEnvironment.create()
    >>> t = t_env.from_elements([(1, 2), (3, 4)], "a BIGINT, b BIGINT")
    >>> sorted(map(tuple, t_env.final_rows(t.select(add(col("a"), col("b"))))))
    [(3,), (7,)]
    """
    _checked_form(func_type)

    def make(function: Any) -> UserDefinedFunctionWrapper:
        is_async = isinstance(function, AsyncScalarFunction) or inspect.iscoroutinefunction(
            function
        )
        if is_async and func_type != "general":
            raise ValueError(
                f"Async scalar functions do not support {func_type} func_type. "
                "Please use func_type='general' (default) for async functions."
            )
        kind = _result_type(result_type)
        return UserDefinedFunctionWrapper(
            function, "scalar", input_types, kind, deterministic, name, func_type
        )

    return _decorating(make, f)


@overload
def udtf(
    f: None = None,
    input_types: Any = None,
    result_types: Any = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Decorator: ...
@overload
def udtf(
    f: Code,
    input_types: Any = None,
    result_types: Any = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> UserDefinedFunctionWrapper: ...
def udtf(
    f: Code | None = None,
    input_types: Any = None,
    result_types: Any = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> UserDefinedFunctionWrapper | Decorator:
    """Make a table function: any number of rows for each row. It is a decorator too.

    ``result_types`` has the types of the columns; a text ``ROW<a INT, b STRING>`` names them too, else
    they are f0, f1 and so on.

    Examples
    --------
    >>> from millstream.table.table_environment import TableEnvironment
    >>> @udtf(result_types="ROW<word STRING, size INT>")
    ... def words(line):
    ...     for word in line.split():
    ...         yield word, len(word)
    >>> t_env = TableEnvironment.create()
    >>> t = t_env.from_elements([(1, "to be"), (2, "")], "id INT, line STRING")
    >>> from millstream.table.fluent.expression_functions import col
    >>> found = t.join_lateral(words(col("line"))).select(col("id"), col("word"), col("size"))
    >>> sorted(map(tuple, t_env.final_rows(found)))
    [(1, 'be', 2), (1, 'to', 2)]
    """

    def make(function: Any) -> UserDefinedFunctionWrapper:
        row = _row_type(result_types)
        return UserDefinedFunctionWrapper(function, "table", input_types, row, deterministic, name)

    return _decorating(make, f)


@overload
def udaf(
    f: None = None,
    input_types: Any = None,
    result_type: TypeLike | None = None,
    accumulator_type: TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Decorator: ...
@overload
def udaf(
    f: Code,
    input_types: Any = None,
    result_type: TypeLike | None = None,
    accumulator_type: TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> UserDefinedFunctionWrapper: ...
def udaf(
    f: Code | None = None,
    input_types: Any = None,
    result_type: TypeLike | None = None,
    accumulator_type: TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> UserDefinedFunctionWrapper | Decorator:
    """Make an aggregate function: a value for each group. It is a decorator too.

    A general one is an `AggregateFunction`, called row by row. One of "pandas" or "arrow" gets the
    columns of all rows of a group. ``accumulator_type`` is not needed: accumulators are pickled.

    Examples
    --------
    >>> from millstream.table.fluent.expression_functions import col
    >>> from millstream.table.table_environment import TableEnvironment
    >>> mean = udaf(lambda v: v.mean(), result_type="DOUBLE", func_type="pandas")
    >>> t_env = TableEnvironment.create()
    >>> t = t_env.from_elements([("x", 1), ("x", 2)], "k STRING, v INT")
    >>> found = t.group_by(col("k")).select(col("k"), mean(col("v")))
    >>> [tuple(row) for row in t_env.final_rows(found)]
    [('x', 1.5)]
    """
    _checked_form(func_type)

    def make(function: Any) -> UserDefinedFunctionWrapper:
        if func_type == "general" and not isinstance(function, AggregateFunction):
            raise TypeError(
                f"a general udaf is an AggregateFunction, and this is {type(function).__name__}: "
                "write a class, or give func_type='pandas'"
            )
        given = function.get_result_type() if result_type is None else result_type
        kind = _result_type(given)
        return UserDefinedFunctionWrapper(
            function, "aggregate", input_types, kind, deterministic, name, func_type
        )

    return _decorating(make, f)


@overload
def udtaf(
    f: None = None,
    input_types: Any = None,
    result_type: TypeLike | None = None,
    accumulator_type: TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Decorator: ...
@overload
def udtaf(
    f: Code,
    input_types: Any = None,
    result_type: TypeLike | None = None,
    accumulator_type: TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> UserDefinedFunctionWrapper: ...
def udtaf(
    f: Code | None = None,
    input_types: Any = None,
    result_type: TypeLike | None = None,
    accumulator_type: TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> UserDefinedFunctionWrapper | Decorator:
    """Make a table aggregate function: any number of rows for each group, for `flat_aggregate`.

    Examples
    --------
    >>> class Top2(TableAggregateFunction):
    ...     def create_accumulator(self):
    ...         return []
    ...     def accumulate(self, accumulator, value):
    ...         accumulator[:] = sorted([*accumulator, value])[-2:]
    ...     def emit_value(self, accumulator):
    ...         yield from accumulator
    >>> udtaf(Top2(), result_type="ROW<v INT>").entry.kind
    'table_aggregate'
    """
    if func_type != "general":
        raise ValueError(f"The func_type must be one of 'general', got {func_type}.")

    def make(function: Any) -> UserDefinedFunctionWrapper:
        given = function.get_result_type() if result_type is None else result_type
        found = _result_type(given)
        row = found if isinstance(found, RowType) else RowType((RowField("f0", found),))
        return UserDefinedFunctionWrapper(
            function, "table_aggregate", input_types, ArrayType(row), deterministic, name
        )

    return _decorating(make, f)


def _decorating(make: Decorator, f: Code | None) -> UserDefinedFunctionWrapper | Decorator:
    return functools.partial(make) if f is None else make(f)
