"""The reference evaluator: an expression over the columns of a batch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.table.expressions.context import Context, EvaluationError
from millstream.table.expressions.kinds import arrow_type
from millstream.table.expressions.safety import never_fails
from millstream.table.expressions.tree import (
    Call,
    Case,
    Cast,
    Expression,
    FieldAccess,
    InputRef,
    Literal,
    OwnCall,
    Symbol,
)
from millstream.table.expressions.vectors import Vector
from millstream.table.functions.casts import cast_vector
from millstream.table.functions.registry import lookup

__all__ = ["evaluate"]


def evaluate(
    expression: Expression, batch: pa.RecordBatch, context: Context | None = None
) -> pa.Array:
    """The values of an expression for all rows of a batch.

    A value that a function refuses is an `EvaluationError` with the function and its arguments.
    """
    known = replace(context or Context(), length=batch.num_rows)
    try:
        return _vector(expression, batch, known).array
    except OverflowError as error:  # of a constant
        raise EvaluationError(f"{expression}: {error}") from error


def _vector(expression: Expression, batch: pa.RecordBatch, context: Context) -> Vector:
    length = batch.num_rows
    if isinstance(expression, Literal):
        return Vector(expression.type, length, constant=True, scalar=expression.value)
    if isinstance(expression, Symbol):
        return Vector(expression.type, length, constant=True, scalar=expression.text)
    if isinstance(expression, InputRef):
        return Vector(expression.type, length, batch.column(expression.index))
    if isinstance(expression, Case):
        return Vector(expression.type, length, _case(expression, batch, context))
    if isinstance(expression, FieldAccess):
        row = _vector(expression.operand, batch, context).array
        return Vector(expression.type, length, pc.struct_field(row, expression.index))
    if isinstance(expression, Cast):
        operand = _vector(expression.operand, batch, context)
        try:
            return cast_vector(operand, expression, context)
        except (pa.ArrowException, OverflowError) as error:
            # Such as a year that nanoseconds of 64 bits cannot reach.
            raise EvaluationError(f"{expression}: {error}") from error
    if isinstance(expression, OwnCall):
        arrays = [_vector(each, batch, context).array for each in expression.arguments]
        return Vector(expression.type, length, expression.run(arrays, length))
    if isinstance(expression, Call):
        return _call(expression, batch, context)
    raise TypeError(f"cannot evaluate {type(expression).__name__}")


def _call(call: Call, batch: pa.RecordBatch, context: Context) -> Vector:
    entry = lookup(call.function)
    if entry.run is None:
        raise EvaluationError(f"{call.function} is not evaluated for rows: {entry.syntax}")
    vectors = [_vector(each, batch, context) for each in call.arguments]
    constant = entry.deterministic and bool(vectors) and all(each.constant for each in vectors)
    if constant and batch.num_rows != 1:
        # Constants are computed once.
        vectors = [replace(each, length=1) for each in vectors]
        context = replace(context, length=1)
    try:
        array = entry.run(call, vectors, context)
    except EvaluationError:
        raise
    except Exception as error:
        raise EvaluationError(f"{call}: {error}") from error
    if not constant:
        return Vector(call.type, batch.num_rows, array)
    once = Vector(call.type, 1, array)
    return Vector(call.type, batch.num_rows, constant=True, scalar=once.values[0])


def _case(case: Case, batch: pa.RecordBatch, context: Context) -> pa.Array:
    kind = arrow_type(case.type)
    if never_fails(case) and not pa.types.is_nested(kind):
        return _case_at_once(case, batch, context).cast(kind)
    # Each branch sees only the rows that reach it, so that no error comes from the others.
    waiting = np.arange(batch.num_rows)
    pieces: list[pa.Array] = []
    rows: list[np.ndarray] = []
    for condition, result in zip(case.conditions, case.results, strict=True):
        mask = _holds(condition, batch, waiting, context)
        chosen, waiting = waiting[mask], waiting[~mask]
        rows.append(chosen)
        pieces.append(evaluate(result, _rows_for(result, batch, chosen), context))
    rows.append(waiting)
    pieces.append(evaluate(case.otherwise, _rows_for(case.otherwise, batch, waiting), context))
    joined = pa.concat_arrays([piece.cast(kind) for piece in pieces])
    return joined.take(pa.array(np.argsort(np.concatenate(rows), kind="stable")))


def _case_at_once(case: Case, batch: pa.RecordBatch, context: Context) -> pa.Array:
    conditions = [evaluate(each, batch, context) for each in case.conditions]
    results = [evaluate(each, batch, context) for each in (*case.results, case.otherwise)]
    names = [str(place) for place in range(len(conditions))]
    return pc.case_when(pa.StructArray.from_arrays(conditions, names), *results)


def _holds(
    condition: Expression, batch: pa.RecordBatch, rows: np.ndarray, context: Context
) -> np.ndarray:
    """For which of some rows a condition is true."""
    seen = batch if never_fails(condition) else _rows_for(condition, batch, rows)
    verdicts = evaluate(condition, seen, context).fill_null(False)
    found: np.ndarray = verdicts.to_numpy(zero_copy_only=False).astype(bool)
    return found[rows] if seen is batch else found


def _rows_for(expression: Expression, batch: pa.RecordBatch, rows: np.ndarray) -> pa.RecordBatch:
    """Some rows, with empty columns where the expression reads none: those need no copy."""
    read = {each.index for each in expression.walk() if isinstance(each, InputRef)}
    places, none = pa.array(rows), pa.nulls(len(rows))
    columns = [each.take(places) if at in read else none for at, each in enumerate(batch.columns)]
    return pa.RecordBatch.from_arrays(columns, [str(at) for at in range(len(columns))])
