"""Functions of users in SQL and in the Table API, in memory."""

from __future__ import annotations

import datetime
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

from millstream.common import Row
from millstream.common.errors import MillstreamError
from millstream.table.fluent.expression_functions import call, col, lit
from millstream.table.table_environment import TableEnvironment
from millstream.table.types.data_types import DataTypes
from millstream.table.udf import (
    AggregateFunction,
    AsyncScalarFunction,
    FunctionContext,
    ListView,
    MapView,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
    udaf,
    udf,
    udtaf,
    udtf,
)
from millstream.table.window import Tumble


def environment(rows: Any = ((1, "a", 10), (2, "b", 20), (3, "a", 30)), schema: str = "") -> Any:
    t_env = TableEnvironment.create()
    t_env.create_temporary_view(
        "t", t_env.from_elements(rows, schema or "id BIGINT, k STRING, v INT")
    )
    return t_env


def rows_of(t_env: Any, table: Any) -> list[tuple[Any, ...]]:
    found = t_env.sql_query(table) if isinstance(table, str) else table
    return sorted((tuple(row) for row in t_env.final_rows(found)), key=repr)


add_one = udf(lambda i: i + 1, DataTypes.BIGINT(), DataTypes.BIGINT())


class Subtract(ScalarFunction):
    def open(self, function_context: FunctionContext) -> None:
        self.by = int(function_context.get_job_parameter("by", "1"))

    def eval(self, i: int) -> int:
        return i - self.by


def test_scalar_functions_by_object_by_name_and_in_sql():
    t_env = environment()
    t = t_env.from_path("t")
    t_env.create_temporary_system_function("subtract", udf(Subtract(), result_type="BIGINT"))
    expected = [(2, 0), (3, 1), (4, 2)]
    assert rows_of(t_env, t.select(add_one(col("id")), call("subtract", col("id")))) == expected
    assert rows_of(t_env, t.select(call(add_one, t.id), call("subtract", t.id))) == expected
    t_env.create_temporary_function("add_one", add_one)
    assert rows_of(t_env, "SELECT add_one(id), subtract(id) FROM t") == expected
    assert rows_of(t_env, "SELECT id FROM t WHERE add_one(id) > 3") == [(3,)]


def test_arguments_are_cast_to_the_declared_types():
    t_env = environment()
    t_env.create_temporary_function("add_one", add_one)
    assert rows_of(t_env, "SELECT add_one(v) FROM t WHERE id = 1") == [(11,)]
    with pytest.raises(MillstreamError, match="takes BIGINT, not STRING"):
        t_env.sql_query("SELECT add_one(k) FROM t")


def test_two_functions_of_one_name_differ():
    t_env = environment()
    one = udf(lambda i: i + 1, result_type="BIGINT")
    two = udf(lambda i: i + 2, result_type="BIGINT")
    t = t_env.from_path("t").where(col("id") == 1)
    assert rows_of(t_env, t.select(one(t.id), two(t.id))) == [(2, 3)]


def test_values_of_all_kinds_go_in_and_out():
    row = (
        Decimal("1.50"),
        datetime.date(2024, 1, 2),
        datetime.datetime(2024, 1, 2, 3, 4, 5),
        [1, 2],
        {"a": 1},
        {"n": 1, "s": "x"},
        b"b",
    )
    schema = "d DECIMAL(10, 2), da DATE, ts TIMESTAMP(3), xs ARRAY<INT>, m MAP<STRING, INT>, "
    schema += "r ROW<n INT, s STRING>, bs BYTES"
    t_env = environment([row], schema)
    types = ["DECIMAL(10, 2)", "DATE", "TIMESTAMP(3)", "ARRAY<INT>", "MAP<STRING, INT>"]
    types += ["ROW<n INT, s STRING>", "BYTES"]
    names = ["d", "da", "ts", "xs", "m", "r", "bs"]
    t = t_env.from_path("t")
    shown = [udf(lambda v: repr(v), result_type="STRING")(col(name)) for name in names]
    (found,) = t_env.final_rows(t.select(*shown))
    assert list(found) == [*map(repr, row[:5]), "Row(n=1, s='x')", "b'b'"]
    same = [
        udf(lambda v: v, result_type=kind)(col(name))
        for name, kind in zip(names, types, strict=True)
    ]
    (found,) = t_env.final_rows(t.select(*same))
    (given,) = t_env.final_rows(t)
    assert list(found) == list(given)


def test_functions_with_no_arguments_and_null():
    t_env = environment()
    t_env.create_temporary_function("seven", udf(lambda: 7, result_type="INT"))
    t_env.create_temporary_function("nothing", udf(lambda v: None, result_type="INT"))
    assert rows_of(t_env, "SELECT seven(), nothing(v) FROM t WHERE id = 2") == [(7, None)]


def test_asynchronous_functions_wait_together():
    class Lookup(AsyncScalarFunction):
        async def eval(self, key: str) -> str:
            return f"value of {key}"

    @udf(result_type="BIGINT")
    async def twice(i: int) -> int:
        return 2 * i

    t_env = environment()
    t = t_env.from_path("t").where(col("id") == 2)
    found = t.select(udf(Lookup(), result_type="STRING")(t.k), twice(t.id))
    assert rows_of(t_env, found) == [("value of b", 4)]
    with pytest.raises(ValueError, match="pandas func_type"):
        udf(Lookup(), result_type="STRING", func_type="pandas")


def test_functions_of_pandas_and_arrow():
    t_env = environment()
    t = t_env.from_path("t")
    pandas = udf(lambda i, v: i + v, result_type="BIGINT", func_type="pandas")
    arrow = udf(lambda v: pc.add(v, 1), result_type="INT", func_type="arrow")
    assert rows_of(t_env, t.select(pandas(t.id, t.v), arrow(t.v))) == [(11, 11), (22, 21), (33, 31)]


def test_a_pandas_function_of_the_wrong_length_is_an_error():
    t_env = environment()
    t = t_env.from_path("t")
    bad = udf(lambda v: v[:1], result_type="INT", func_type="pandas", name="bad")
    with pytest.raises(MillstreamError, match=r"function 'bad' failed.*1 results for 3 rows"):
        rows_of(t_env, t.select(bad(t.v)))


def test_errors_name_the_line_the_function_and_the_row():
    t_env = environment([(1, "a", 0)])

    def divide(i: int, v: int) -> float:
        return i / v

    t_env.create_temporary_function("divide", udf(divide, result_type="DOUBLE"))
    with pytest.raises(MillstreamError) as caught:
        rows_of(t_env, "SELECT divide(id, v) FROM t")
    shown = str(caught.value)
    assert "function 'divide' failed: ZeroDivisionError" in shown
    assert "(1, 0)" in shown
    assert "test_udf.py" in shown and "return i / v" in shown


def test_a_result_of_another_type_is_an_error():
    t_env = environment()
    t_env.create_temporary_function("text", udf(lambda v: "x", result_type="INT", name="text"))
    with pytest.raises(MillstreamError, match=r"'x' is no INT"):
        rows_of(t_env, "SELECT text(v) FROM t")


def test_wrong_declarations_are_errors_as_in_pyflink():
    with pytest.raises(TypeError, match="Invalid function: not a function or callable"):
        udf(Subtract, result_type="BIGINT")
    with pytest.raises(TypeError, match="Invalid returnType"):
        udf(lambda i: i, result_type=12)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="Invalid input_type"):
        udf(lambda i: i, input_types=[12], result_type="INT")
    with pytest.raises(ValueError, match="Inconsistent deterministic: False and True"):
        udf(Subtract(), result_type="BIGINT", deterministic=False)
    with pytest.raises(ValueError, match="The func_type must be one of"):
        udf(lambda i: i, result_type="INT", func_type="numpy")
    with pytest.raises(MillstreamError, match="no user function"):
        environment().create_temporary_function("f", lambda i: i)


# Tables made of rows.


class Repeat(TableFunction):
    def eval(self, text: str, times: int) -> Any:
        for at in range(times):
            yield text, at


def test_table_functions_join_their_rows():
    t_env = environment([(1, "a", 2), (2, "b", 0)])
    t = t_env.from_path("t")
    repeat = udtf(Repeat(), result_types=[DataTypes.STRING(), DataTypes.INT()])
    found = t.join_lateral(repeat(t.k, t.v).alias("s", "n")).select(t.id, col("s"), col("n"))
    assert rows_of(t_env, found) == [(1, "a", 0), (1, "a", 1)]
    left = t.left_outer_join_lateral(repeat(t.k, t.v).alias("s", "n")).select(t.id, col("n"))
    assert rows_of(t_env, left) == [(1, 0), (1, 1), (2, None)]


def test_one_column_needs_no_tuples():
    t_env = environment([(1, "a", 2)])
    t_env.create_temporary_function("up_to", udtf(lambda n: range(n), result_types="INT"))
    found = rows_of(t_env, "SELECT x FROM t, LATERAL TABLE(up_to(v)) AS u (x)")
    assert found == [(0,), (1,)]


def test_map_and_flat_map_take_calls_and_whole_rows():
    t_env = environment([(1, "a", 2)])
    t = t_env.from_path("t")
    row = DataTypes.ROW(
        [DataTypes.FIELD("a", DataTypes.BIGINT()), DataTypes.FIELD("b", DataTypes.STRING())]
    )
    pair = udf(lambda i, k: Row(i + 1, k * 2), result_type=row)
    assert rows_of(t_env, t.map(pair(t.id, t.k)).alias("x", "y")) == [(2, "aa")]
    whole = udf(lambda r: Row(r[0] + r.v, r.k), result_type=row)
    assert rows_of(t_env, t.map(whole)) == [(3, "a")]
    split = udtf(lambda r: [(r.k, n) for n in range(r.v)], result_types=["STRING", "INT"])
    assert rows_of(t_env, t.flat_map(split)) == [("a", 0), ("a", 1)]
    frame = udf(lambda f: f[["id", "k"]], result_type=row, func_type="pandas")
    assert rows_of(t_env, t.map(frame)) == [(1, "a")]


# Aggregates.


class WeightedAvg(AggregateFunction):
    """Example of PyFlink's documentation."""

    def create_accumulator(self) -> Any:
        return Row(0, 0)

    def get_value(self, accumulator: Any) -> Any:
        return None if accumulator[1] == 0 else accumulator[0] / accumulator[1]

    def accumulate(self, accumulator: Any, value: int, weight: int) -> None:
        accumulator[0] += value * weight
        accumulator[1] += weight

    def retract(self, accumulator: Any, value: int, weight: int) -> None:
        accumulator[0] -= value * weight
        accumulator[1] -= weight

    def merge(self, accumulator: Any, accumulators: Any) -> None:
        for other in accumulators:
            accumulator[0] += other[0]
            accumulator[1] += other[1]

    def get_result_type(self) -> Any:
        return "DOUBLE"

    def get_accumulator_type(self) -> Any:
        return "ROW<a BIGINT, b BIGINT>"


class Words(AggregateFunction):
    """Keeps a list and counts in an accumulator."""

    def create_accumulator(self) -> Any:
        return Row(ListView(), MapView())

    def accumulate(self, accumulator: Any, word: str) -> None:
        accumulator[0].add(word)
        accumulator[1][word] = (accumulator[1][word] or 0) + 1

    def get_value(self, accumulator: Any) -> str:
        counts = ",".join(f"{k}{n}" for k, n in sorted(accumulator[1].items()))
        return f"{'/'.join(sorted(accumulator[0]))} {counts}"


def test_aggregates_of_groups():
    t_env = environment()
    t = t_env.from_path("t")
    mean = udaf(WeightedAvg())
    found = t.group_by(t.k).select(t.k, mean(t.v, t.id).alias("m"))
    assert rows_of(t_env, found) == [("a", 25.0), ("b", 20.0)]
    t_env.create_temporary_function("wavg", mean)
    assert rows_of(t_env, "SELECT k, wavg(v, id) FROM t GROUP BY k") == [("a", 25.0), ("b", 20.0)]
    assert rows_of(t_env, "SELECT wavg(v, id) FILTER (WHERE id < 3) FROM t") == [(50 / 3,)]
    t_env.create_temporary_function("words", udaf(Words(), result_type="STRING"))
    assert rows_of(t_env, "SELECT words(k) FROM t") == [("a/a/b a2,b1",)]


def test_aggregates_take_rows_back():
    t_env = environment()
    t_env.create_temporary_function("wavg", udaf(WeightedAvg()))
    query = """SELECT wavg(n, 1) FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k)"""
    assert rows_of(t_env, query) == [(1.5,)]


def test_pandas_aggregates_get_all_rows_of_a_group():
    t_env = environment()
    t_env.create_temporary_function(
        "mean", udaf(lambda v: v.mean(), result_type="DOUBLE", func_type="pandas")
    )
    assert rows_of(t_env, "SELECT k, mean(v) FROM t GROUP BY k") == [("a", 20.0), ("b", 20.0)]


# Aggregates in time: no accumulator is merged, so none needs ``merge``.


def timed(tmp_path: Path) -> Any:
    """A table of files with a watermark, and functions over it."""
    lines = ["a,1,1", "a,2,2", "b,3,3", "a,4,3", "a,5,3", "a,6,14", "b,7,15", "a,8,16"]
    rows = [each.split(",") for each in lines]
    text = "\n".join(f"{k},{v},2024-01-01 00:00:{int(s):02}" for k, v, s in rows)
    (tmp_path / "t.csv").write_text(text + "\n")
    t_env = TableEnvironment.create()
    t_env.execute_sql(
        f"""CREATE TABLE t (k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS
            ts - INTERVAL '1' SECOND)
            WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'csv')"""
    )
    t_env.create_temporary_function("words", udaf(Words(), result_type="STRING"))
    t_env.create_temporary_function("wavg", udaf(WeightedAvg()))
    t_env.create_temporary_function(
        "total", udaf(lambda v: int(v.sum()), result_type="BIGINT", func_type="pandas")
    )
    return t_env


CALLS = "words(CAST(v AS STRING)) AS w, wavg(v, 1) AS m, total(v) AS t"
WINDOWS = {
    "TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)": [
        ("a", "1/2/4/5 11,21,41,51", 3.0, 12),
        ("a", "6/8 61,81", 7.0, 14),
        ("b", "3 31", 3.0, 3),
        ("b", "7 71", 7.0, 7),
    ],
    "HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '20' SECOND)": [
        ("a", "1/2/4/5 11,21,41,51", 3.0, 12),
        ("a", "1/2/4/5/6/8 11,21,41,51,61,81", 26 / 6, 26),
        ("a", "6/8 61,81", 7.0, 14),
        ("b", "3 31", 3.0, 3),
        ("b", "3/7 31,71", 5.0, 10),
        ("b", "7 71", 7.0, 7),
    ],
    "SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '5' SECOND)": [
        ("a", "1/2/4/5 11,21,41,51", 3.0, 12),
        ("a", "6/8 61,81", 7.0, 14),
        ("b", "3 31", 3.0, 3),
        ("b", "7 71", 7.0, 7),
    ],
}


@pytest.mark.parametrize("phases", ["ONE_PHASE", "TWO_PHASE"])
@pytest.mark.parametrize("window", WINDOWS)
def test_aggregates_of_windows(window: str, phases: str, tmp_path: Path):
    t_env = timed(tmp_path)
    t_env.get_config().set("table.optimizer.agg-phase-strategy", phases)
    query = f"SELECT k, {CALLS} FROM {window} GROUP BY k, window_start, window_end"
    assert rows_of(t_env, query) == WINDOWS[window]


FRAMES = {
    "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW": [1.0, 1.5, 3.0, 3.0, 18 / 5, 26 / 6],
    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW": [1.0, 1.5, 7 / 3, 3.0, 18 / 5, 26 / 6],
    "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW": [1.0, 1.5, 3.0, 4.5, 5.5, 7.0],
    "RANGE BETWEEN INTERVAL '2' SECOND PRECEDING AND CURRENT ROW": [1.0, 1.5, 3.0, 3.0, 6.0, 7.0],
}


@pytest.mark.parametrize("frame", FRAMES)
def test_aggregates_over_rows_before(frame: str, tmp_path: Path):
    t_env = timed(tmp_path)
    over = f"OVER (PARTITION BY k ORDER BY ts {frame})"
    calls = [f"{each} {over}" for each in ("wavg(v, 1)", "words(CAST(v AS STRING))", "total(v)")]
    query = f"SELECT v, {', '.join(calls)}, k FROM t"
    found = sorted(row for row in rows_of(t_env, query) if row[-1] == "a")
    assert [row[1] for row in found] == FRAMES[frame]
    seen = [[int(each) for each in row[2].split()[0].split("/")] for row in found]
    assert [row[3] for row in found] == [sum(each) for each in seen]
    assert [sum(each) / len(each) for each in seen] == FRAMES[frame]


class Top2(TableAggregateFunction):
    def create_accumulator(self) -> Any:
        return [None, None]

    def accumulate(self, accumulator: Any, value: int) -> None:
        found = sorted([v for v in (*accumulator, value) if v is not None], reverse=True)
        accumulator[:] = [*found, None, None][:2]

    def emit_value(self, accumulator: Any) -> Any:
        for rank, value in enumerate(accumulator):
            if value is not None:
                yield Row(value, rank)

    def get_result_type(self) -> Any:
        return "ROW<v INT, r INT>"


def test_table_aggregates_give_rows_for_each_group():
    t_env = environment()
    t = t_env.from_path("t")
    top = udtaf(Top2())
    found = t.group_by(t.k).flat_aggregate(top(t.v).alias("a", "b")).select(t.k, col("a"), col("b"))
    assert rows_of(t_env, found) == [("a", 10, 1), ("a", 30, 0), ("b", 20, 0)]
    found = t.flat_aggregate(top(t.v).alias("a", "b")).select(col("a"), col("b"))
    assert rows_of(t_env, found) == [(20, 1), (30, 0)]


def test_aggregates_of_rows_are_columns():
    class CountAndSum(AggregateFunction):
        def create_accumulator(self) -> Any:
            return Row(0, 0)

        def accumulate(self, accumulator: Any, value: int) -> None:
            accumulator[0] += 1
            accumulator[1] += value

        def get_value(self, accumulator: Any) -> Any:
            return accumulator

        def get_result_type(self) -> Any:
            return "ROW<a BIGINT, b BIGINT>"

    t_env = environment()
    t = t_env.from_path("t")
    agg = udaf(CountAndSum())
    found = t.group_by(t.k).aggregate(agg(t.v).alias("c", "d")).select(t.k, col("c"), col("d"))
    assert rows_of(t_env, found) == [("a", 2, 40), ("b", 1, 20)]
    found = t.aggregate(agg(t.v).alias("c", "d")).select(col("c"), col("d"))
    assert rows_of(t_env, found) == [(3, 60)]


# Registration.


def test_functions_are_created_and_dropped():
    t_env = environment()
    t_env.create_temporary_system_function("f", add_one)
    t_env.create_temporary_function("g", add_one)
    t_env.create_function("h", add_one)
    assert t_env.list_user_defined_functions() == ["f", "g", "h"]
    assert t_env.drop_temporary_system_function("f") and not t_env.drop_temporary_function("f")
    assert t_env.drop_temporary_function("g")
    assert t_env.drop_function("h") and not t_env.drop_function("h")
    with pytest.raises(MillstreamError, match="there is no function f"):
        t_env.sql_query("SELECT f(id) FROM t")


def test_functions_of_modules():
    t_env = environment()
    t_env.execute_sql(f"CREATE TEMPORARY FUNCTION plus AS '{__name__}.add_one' LANGUAGE PYTHON")
    assert rows_of(t_env, "SELECT plus(id) FROM t WHERE id = 1") == [(2,)]
    with pytest.raises(MillstreamError, match=r"there is no function millstream\.nothing"):
        t_env.execute_sql("CREATE FUNCTION f AS 'millstream.nothing' LANGUAGE PYTHON")
    with pytest.raises(MillstreamError, match="no user function with types"):
        t_env.execute_sql("CREATE FUNCTION f AS 'math.sqrt' LANGUAGE PYTHON")


def test_functions_of_java_are_refused_when_they_are_called():
    t_env = environment()
    t_env.execute_sql("CREATE FUNCTION j AS 'org.example.Upper'")
    with pytest.raises(MillstreamError, match=r"no Python function: org\.example\.Upper"):
        rows_of(t_env, "SELECT j(k) FROM t")


class Counted(ScalarFunction):
    def open(self, function_context: FunctionContext) -> None:
        group = function_context.get_metric_group()
        self.calls = group.add_group("kind", "value").counter("calls")

    def eval(self, i: int) -> int:
        self.calls.inc()
        return i


def test_functions_have_metrics():
    t_env = environment()
    result = t_env.from_path("t").select(udf(Counted(), result_type="BIGINT")(col("id"))).execute()
    assert len(list(result.collect())) == 3
    operators = result.get_job_client().metrics().operators
    assert {"kind.value.calls": 3} in [each.counters for each in operators.values()]


def test_functions_get_the_parameters_of_the_job():
    t_env = environment()
    t_env.get_config().set("pipeline.global-job-parameters", "by:5,other:1")
    subtract = udf(Subtract(), result_type="BIGINT")
    assert rows_of(t_env, t_env.from_path("t").select(subtract(col("id")))) == [(-2,), (-3,), (-4,)]


def test_outside_of_a_job_there_are_no_metrics():
    with pytest.raises(RuntimeError, match="outside of a job"):
        FunctionContext().get_metric_group()


class Extent(AggregateFunction):
    """The number of fields of a row, and the sum of its field v."""

    def create_accumulator(self) -> list[int]:
        return [0, 0]

    def accumulate(self, accumulator: list[int], row: Row) -> None:
        accumulator[0] = len(row)
        accumulator[1] += row.v

    def get_value(self, accumulator: list[int]) -> Row:
        return Row(*accumulator)


def test_aggregates_of_rows_in_windows_get_all_columns_and_select_knows_the_window():
    t_env = TableEnvironment.create()
    t = t_env.sql_query(
        "SELECT CAST(ts AS TIMESTAMP(3)) AS ts, v FROM (VALUES "
        "(TIMESTAMP '2024-01-01 00:00:01', 1), (TIMESTAMP '2024-01-01 00:00:02', 2), "
        "(TIMESTAMP '2024-01-01 00:00:11', 4)) AS t(ts, v)"
    ).with_watermark("ts", "0 seconds")
    w = col("w")
    grouped = t.window(Tumble.over(lit(10).seconds).on(t.ts).alias("w")).group_by(w)
    extent = udaf(Extent(), result_type="ROW<size INT, total INT>")
    found = grouped.aggregate(extent).select(w.start, col("size"), col("total"), w.end.alias("e"))
    start = datetime.datetime(2024, 1, 1)
    seconds = [start + datetime.timedelta(seconds=n) for n in (0, 10, 20)]
    assert rows_of(t_env, found) == [
        (seconds[0], 2, 3, seconds[1]),
        (seconds[1], 2, 4, seconds[2]),
    ]
    assert found.get_schema().get_field_names() == ["EXPR$0", "size", "total", "e"]


def test_distinct_rows_of_a_users_aggregate():
    t_env = environment([(1, "a", 5), (2, "a", 5), (3, "a", 7)])
    t = t_env.from_path("t")
    total = udaf(lambda v: v.sum(), result_type="BIGINT", func_type="pandas")
    assert rows_of(t_env, t.select(total(t.v).distinct, total(t.v))) == [(12, 17)]


def test_a_function_that_cannot_travel_is_refused_where_it_is_used_first():
    lock = threading.Lock()

    @udf(result_type="BIGINT")
    def guarded(i):
        with lock:
            return i

    t_env = environment()
    uses = (
        lambda: guarded(col("id")),
        lambda: t_env.create_temporary_function("guarded", guarded),
        lambda: t_env.create_temporary_system_function("guarded", guarded),
        lambda: t_env.from_path("t").map(guarded),
    )
    for use in uses:
        with pytest.raises(
            MillstreamError, match=r"'guarded' cannot be sent .* lock is a"
        ) as refused:
            use()
        assert "@udf" in str(refused.value)
