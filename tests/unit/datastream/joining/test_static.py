"""Joins of streams with tables."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from millstream.common import Row, Types
from millstream.common.errors import MillstreamError, PlanError, TypeMismatchError
from millstream.datastream import (
    DataStream,
    FlatJoinFunction,
    JoinFunction,
    KeySelector,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from millstream.plan.graph import StatelessNode
from millstream.testing import rebatch, run_local
from tests.support.datastream_support import check_error, last
from tests.support.strategies import schedules

Env = StreamExecutionEnvironment
FEW = schedules(cuts=(1, "random"), slots=(1, 3), parallelism=(2,))
ORDERS = [("pen", 3), ("ink", 1), ("cap", 2)]
PRICES = [
    {"item": "pen", "price": 2.5},
    {"item": "ink", "price": 9.0},
    {"item": "pen", "price": 3.0},
]
FOUND = [(3, 2.5), (3, 3.0), (1, 9.0)]


class SparkFrame:
    """What a join asks of a Spark DataFrame."""

    def __init__(self, table: Any, streaming: bool = False) -> None:
        self.isStreaming = streaming
        self.reads = 0
        self._table = table

    def toArrow(self) -> Any:
        self.reads += 1
        return self._table


def amount(order: tuple[str, int], price: Any) -> tuple[int, float | None]:
    return order[1], None if price is None else price.price


def orders(env: Env) -> DataStream:
    return env.from_collection(ORDERS)


# -- tables ----------------------------------------------------------------------------------------

Named = namedtuple("Named", ["item", "price"])


@dataclasses.dataclass
class Price:
    item: str
    price: float


@pytest.mark.parametrize(
    "table",
    [
        PRICES,
        [Row(**price) for price in PRICES],
        [Named(**price) for price in PRICES],
        [Price(**price) for price in PRICES],  # type: ignore[arg-type]
        (dict(price) for price in PRICES),
        pa.Table.from_pylist(PRICES),
        pa.RecordBatch.from_pylist(PRICES),
        pd.DataFrame(PRICES, index=[7, 8, 9]),
        SparkFrame(pa.Table.from_pylist(PRICES)),
    ],
    ids=["dicts", "rows", "named", "classes", "generator", "arrow", "batch", "pandas", "spark"],
)
def test_tables_of_all_kinds(env: Env, table: Any) -> None:
    joined = orders(env).join_static(table, 0, "item", function=amount)
    assert run_local(joined).values() == FOUND


def test_rows_have_the_names_of_the_columns(env: Env) -> None:
    joined = orders(env).join_static(pa.Table.from_pylist(PRICES), 0, "item")
    assert run_local(joined).values()[0] == (("pen", 3), Row(item="pen", price=2.5))
    price = Types.ROW_NAMED(["item", "price"], [Types.STRING(), Types.DOUBLE()])
    assert joined.get_type() == Types.TUPLE([orders(env).get_type(), price])


def test_tuples_have_numbered_names(env: Env) -> None:
    joined = orders(env).join_static([("pen", 2.5)], 0)
    assert run_local(joined).values() == [(("pen", 3), Row(f0="pen", f1=2.5))]
    joined = orders(env).join_static([Row("pen", 2.5)], "f0")
    assert run_local(joined).values() == [(("pen", 3), Row(f0="pen", f1=2.5))]


def test_dicts_may_leave_fields_out(env: Env) -> None:
    table = [{"item": "pen"}, {"item": "ink", "price": 9.0}]
    joined = orders(env).join_static(table, 0, "item", function=amount)
    assert run_local(joined).values() == [(3, None), (1, 9.0)]


def test_missing_values_of_pandas_are_none(env: Env) -> None:
    table = pd.DataFrame({"item": ["pen", None], "price": [None, 9.0]})
    joined = orders(env).join_static(table, 0, "item", function=amount)
    assert run_local(joined).values() == [(3, None)]


def test_values_are_those_a_stream_of_the_table_would_have(env: Env) -> None:
    moment = dt.datetime(2024, 5, 1, 12)
    table = pa.table({"item": ["pen"], "at": [moment], "parts": [[{"size": 1}]]})
    ((_, row),) = run_local(orders(env).join_static(table, 0, "item")).values()
    assert row == Row(item="pen", at=moment, parts=[Row(size=1)])


def test_a_spark_dataframe_is_read_once(env: Env) -> None:
    frame = SparkFrame(pa.Table.from_pylist(PRICES))
    joined = orders(env).join_static(frame, 0, "item", function=amount)
    assert frame.reads == 1
    run_local(joined)
    assert frame.reads == 1


def test_an_empty_table(env: Env) -> None:
    empty: list[Any] = []
    for table in (empty, pa.Table.from_pylist(PRICES).slice(0, 0)):
        joined = orders(env).join_static(table, 0, "item", how="left", function=amount)
        assert run_local(joined).values() == [(3, None), (1, None), (2, None)]


# -- joining ---------------------------------------------------------------------------------------


def test_a_left_join_keeps_records_without_a_row(env: Env) -> None:
    joined = orders(env).join_static(PRICES, 0, "item", how="left", function=amount)
    assert run_local(joined).values() == [*FOUND, (2, None)]
    pairs = orders(env).join_static(PRICES, 0, "item", how="left")
    assert run_local(pairs).values()[-1] == (("cap", 2), None)


class Name(KeySelector):
    def get_key(self, value: Any) -> str:
        return value[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize("right", [0, "item", Name(), lambda row: row.item])
def test_keys_are_fields_or_functions(env: Env, right: Any) -> None:
    for left in (0, Name(), lambda order: order[0]):
        joined = orders(env).join_static(PRICES, left, right, function=amount)
        assert run_local(joined).values() == FOUND


def test_keys_that_are_none_meet_nothing(env: Env) -> None:
    stream = env.from_collection([("a", 1), (None, 2)])
    joined = stream.join_static([("a", 10), (None, 20)], 0, how="left")
    assert run_local(joined).values() == [(("a", 1), Row(f0="a", f1=10)), ((None, 2), None)]


def test_functions_of_all_kinds(env: Env) -> None:
    class Total(JoinFunction):
        opened = False

        def open(self, runtime_context: RuntimeContext) -> None:
            self.opened = True

        def join(self, first: Any, second: Any) -> float:
            assert self.opened
            return float(first[1] * second.price)

    class Cheap(FlatJoinFunction):
        def join(self, first: Any, second: Any) -> Iterator[str]:
            if second.price < 5:
                yield first[0]

    totals = orders(env).join_static(PRICES, 0, "item", function=Total())
    assert (totals.get_type(), run_local(totals).values()) == (Types.DOUBLE(), [7.5, 9.0, 9.0])
    cheap = orders(env).join_static(PRICES, 0, "item", function=Cheap())
    assert run_local(cheap).values() == ["pen", "pen"]


def test_a_function_cannot_change_the_table(env: Env) -> None:
    def raise_price(order: Any, row: Row) -> tuple[Any, Any]:
        row["price"] += 1
        row["tags"].append("seen")
        return row["price"], row["tags"]

    table = [{"item": "pen", "price": 2.5, "tags": ["new"]}]
    twice = env.from_collection([("pen", 1), ("pen", 2)])
    joined = twice.join_static(table, 0, "item", function=raise_price)
    assert run_local(joined).values() == [(3.5, ["new", "seen"])] * 2


def test_it_is_fused_and_does_not_depend_on_the_schedule(env: Env) -> None:
    keyed = orders(env).key_by(0)
    keyed.join_static(PRICES, 0, "item")
    assert isinstance(last(env), StatelessNode)

    def program(env: Env) -> DataStream:
        return orders(env).join_static(PRICES, 0, "item", how="left")

    assert len(rebatch(program, **FEW).results.values()) == 4


# -- mistakes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [PRICES * 500, pa.Table.from_pylist(PRICES * 500)])
def test_a_large_table_is_refused(env: Env, table: Any) -> None:
    with pytest.raises(PlanError) as caught:
        orders(env).join_static(table, 0, "item", max_bytes=10_000)
    check_error(caught.value, "TABLE_TOO_LARGE", here=__file__, hint="max_bytes")
    orders(env).join_static(table, 0, "item", max_bytes=1_000_000)


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        ((PRICES, 0, "itme"), "UNKNOWN_FIELD", "'item'"),
        ((PRICES, 0, 2), "UNKNOWN_FIELD", "item, price"),
        ((PRICES, 2, "item"), "UNKNOWN_FIELD", "f0, f1"),
        ((PRICES, 0, "price"), "KEY_TYPES", "convert"),
        ((PRICES, lambda order: order[0]), "NO_RIGHT_KEY", "right_key="),
        ((PRICES, 0, "item", "outer"), "BAD_JOIN", "left"),
        ((PRICES, 0, "item", "inner", lambda order: order), "WRONG_ARITY", "second"),
        ((PRICES, 0, lambda: 1), "WRONG_ARITY", "row"),
        ((5, 0), "NOT_A_TABLE", "DataFrame"),
        ("abc", "NOT_A_TABLE", "DataFrame"),
        (([1, 2], 0), "NOT_A_ROW", "dicts"),
        (([("a", 1), ("b",)], 0), "RAGGED_TABLE", "same fields"),
        (([("a", [1])], 0, 1), "KEY_TYPES", ""),
        (([("a", {1})], 0, lambda row: row.f1), "UNHASHABLE_KEY", "string"),
        ((SparkFrame(None, streaming=True), 0), "STREAMING_TABLE", "from_dataframe"),
    ],
)
def test_mistakes_are_told_at_the_users_line(
    env: Env, arguments: Any, code: str, hint: str
) -> None:
    given = (arguments, 0) if isinstance(arguments, str) else arguments
    with pytest.raises(PlanError) as caught:
        orders(env).join_static(*given)
    check_error(caught.value, code, here=__file__, hint=hint)


def test_columns_without_a_counterpart_are_refused(env: Env) -> None:
    with pytest.raises(TypeMismatchError, match="duration"):
        orders(env).join_static(pa.table({"f0": [dt.timedelta(1)]}), 0)


# -- tables that change ----------------------------------------------------------------------------


class Versions:
    """A table that is another one each time it is loaded."""

    def __init__(self) -> None:
        self.loads = 0

    def __call__(self) -> list[tuple[str, int]]:
        self.loads += 1
        return [("a", self.loads)]


def test_a_table_is_loaded_again_when_it_is_too_old(env: Env) -> None:
    versions = Versions()
    stream = env.from_collection(["a"] * 6)
    joined = stream.join_changing(
        versions, str, "f0", refresh="2 s", function=lambda _, row: row.f1
    )
    # An epoch is a second long.
    found = run_local(joined, epochs=1, copy_functions=False).values()
    assert found == [1, 1, 2, 2, 3, 3]
    assert versions.loads == 3


def test_a_task_without_records_loads_nothing(env: Env) -> None:
    versions = Versions()
    joined = env.from_collection([], Types.STRING()).join_changing(versions, 0, refresh=1)
    run_local(joined, copy_functions=False)
    assert versions.loads == 0


def test_a_changing_table_keeps_or_drops_records_without_a_row(env: Env) -> None:
    stream = env.from_collection([("a", 1), ("b", 2)])
    load = lambda: pd.DataFrame({"f0": ["a"], "n": [10]})  # noqa: E731
    assert run_local(stream.join_changing(load, 0)).values() == [(("a", 1), Row(f0="a", n=10))]
    kept = stream.join_changing(load, 0, how="left", output_type=None)
    assert run_local(kept).values()[1] == (("b", 2), None)


def test_an_error_of_the_loader_is_the_operators(env: Env) -> None:
    def load() -> Any:
        raise ConnectionError("no database")

    joined = env.from_collection(["a"]).join_changing(load, 0).name("lookup")
    with pytest.raises(MillstreamError, match="no database") as caught:
        run_local(joined)
    assert "lookup" in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"load": lambda x: x}, "WRONG_ARITY"),
        ({"load": PRICES}, "WRONG_FUNCTION_KIND"),
        ({"refresh": 0}, "INVALID_DURATION"),
        ({"how": "full"}, "BAD_JOIN"),
        ({"left_key": str}, "NO_RIGHT_KEY"),
    ],
)
def test_mistakes_with_changing_tables(env: Env, arguments: Any, code: str) -> None:
    given = {"load": Versions(), "left_key": 0, **arguments}
    with pytest.raises(PlanError) as caught:
        env.from_collection(["a"]).join_changing(**given)
    check_error(caught.value, code, here=__file__, hint="")
