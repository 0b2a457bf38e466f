"""The evaluator: whole columns, constants, lazy branches, errors."""

from __future__ import annotations

import pyarrow as pa
import pytest

from millstream.table.expressions import (
    Context,
    EvaluationError,
    Expression,
    InputRef,
    Literal,
    kinds,
)
from millstream.table.functions import bind, bind_case, bind_cast
from millstream.table.functions.evaluate import evaluate

BATCH = pa.record_batch({"i": pa.array([4, 0, None], pa.int32()), "s": ["b", None, "a"]})
I = InputRef(kinds.INT, 0, "i")  # noqa: E741
S = InputRef(kinds.STRING, 1, "s")


def _int(value: int) -> Literal:
    return Literal(kinds.not_null(kinds.INT), value)


def _values(expression: Expression) -> list[object]:
    found = evaluate(expression, BATCH)
    assert found.type == kinds.arrow_type(expression.type)
    return list(found.to_pylist())


def test_a_constant_is_repeated_for_all_rows() -> None:
    assert _values(bind("+", [_int(1), _int(2)])) == [3, 3, 3]


def test_null_goes_through_functions_of_columns() -> None:
    assert _values(bind("UPPER", [S])) == ["B", None, "A"]


def test_a_branch_sees_only_its_rows() -> None:
    divided = bind("/", [_int(8), I])
    zero = bind("=", [I, _int(0)])
    assert _values(bind_case([(zero, _int(-1))], divided)) == [2, -1, None]


def test_an_error_names_the_function_and_its_arguments() -> None:
    with pytest.raises(EvaluationError, match=r"/\(8, i\): / by zero"):
        evaluate(bind("/", [_int(8), I]), BATCH)


def test_try_cast_gives_null_where_cast_fails() -> None:
    assert _values(bind_cast(S, kinds.INT, lenient=True)) == [None, None, None]
    with pytest.raises(EvaluationError, match=r"CAST\(s AS INT\)"):
        evaluate(bind_cast(S, kinds.INT), BATCH)


def test_the_time_zone_belongs_to_the_context() -> None:
    call = bind("FROM_UNIXTIME", [_int(44)])
    assert (
        evaluate(call, BATCH, Context(zone_name="Asia/Tokyo")).to_pylist()
        == ["1970-01-01 09:00:44"] * 3
    )


def test_random_numbers_are_those_of_java() -> None:
    assert evaluate(bind("RAND_INTEGER", [_int(42), _int(10)]), BATCH).to_pylist() == [0, 3, 8]


def test_an_empty_batch_has_no_rows() -> None:
    assert evaluate(bind("UPPER", [S]), BATCH.slice(0, 0)).to_pylist() == []
    assert evaluate(bind("+", [_int(1), _int(2)]), BATCH.slice(0, 0)).to_pylist() == []


def test_a_time_that_does_not_fit_is_an_error_with_the_cast() -> None:
    early = pa.record_batch({"t": pa.array([-62_135_596_800_000], pa.timestamp("ms"))})
    cast = bind_cast(InputRef(kinds.timestamp(3), 0, "t"), kinds.timestamp(9))
    with pytest.raises(EvaluationError, match=r"CAST\(t AS TIMESTAMP\(9\)\)"):
        evaluate(cast, early)


def test_a_time_that_64_bits_cannot_hold_is_told_as_such() -> None:
    text = pa.record_batch({"s": pa.array(["1500-01-01 00:00:00"])})
    cast = bind_cast(InputRef(kinds.STRING, 0, "s"), kinds.timestamp(9))
    constant = Literal(kinds.timestamp(9), -15_000_000_000_000_000_000)
    for early in (cast, constant):
        with pytest.raises(EvaluationError, match="too far from 1970 for 64 bits as TIMESTAMP"):
            evaluate(early, text)


@pytest.mark.parametrize(
    ("start", "part"), [(-2, "bc"), (-3, "abc"), (-4, ""), (0, "abc"), (4, "")]
)
def test_places_before_and_behind_a_text_give_nothing(start: int, part: str) -> None:
    """Flink gives the empty text for a place before the first character, not the whole text."""
    text = pa.record_batch({"s": pa.array(["abc"])})
    call = bind("SUBSTRING", [InputRef(kinds.STRING, 0, "s"), _int(start)])
    assert evaluate(call, text).to_pylist() == [part]


@pytest.mark.parametrize("name", ["LPAD", "RPAD", "REPEAT"])
def test_a_text_that_fills_the_memory_is_refused(name: str) -> None:
    text = Literal(kinds.not_null(kinds.char(2)), "ab")
    size = _int(2**31 - 1)
    call = bind(name, [text, size] if name == "REPEAT" else [text, size, text])
    with pytest.raises(EvaluationError, match="too long"):
        _values(call)


def test_a_column_is_equal_to_itself_even_where_it_is_nan() -> None:
    numbers = pa.record_batch({"x": pa.array([1.0, float("nan"), None])})
    x = InputRef(kinds.DOUBLE, 0, "x")
    found = {sign: evaluate(bind(sign, [x, x]), numbers).to_pylist() for sign in ("=", "<>")}
    assert found == {"=": [True, True, None], "<>": [False, False, None]}
