"""Data sets on Spark: the results of memory, of plain Python, and of Spark's own DataFrames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from millstream.common import Row, Types
from millstream.common.errors import MillstreamError
from millstream.dataset import (
    Aggregation,
    ConvergenceCriterion,
    DataSet,
    ExecutionEnvironment,
    JoinHint,
    LongSumAggregator,
    MapFunction,
    Order,
    RichFunction,
    WriteMode,
)
from millstream.iteration import LoopMode, LoopOptions
from millstream.table.expressions import col
from millstream.testing import in_memory
from tests.support.dataset.programs import counted, random_program
from tests.support.strategies import scaled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def env(spark: SparkSession) -> ExecutionEnvironment:
    return ExecutionEnvironment.get_execution_environment(spark)


def test_random_programs_are_right(env: ExecutionEnvironment) -> None:
    wrong = []
    for seed in range(scaled(9, fewest=3)):
        program = random_program(env, seed, 5)
        found = program.data.collect()
        if not program.same(found):
            wrong.append(f"{seed}: {program.text}\n  {found}\n  {program.expected}")
    assert not wrong, "\n".join(wrong)


class Weighted(RichFunction, MapFunction):
    def open(self, runtime_context: Any) -> None:
        self.calls = runtime_context.get_int_counter("calls")

    def map(self, value: Any) -> Any:
        self.calls.add(1)
        return value[0], value[1] * sum(self.context.get_broadcast_variable("weights"))


def programs(env: ExecutionEnvironment) -> Iterator[DataSet]:
    ages = env.from_elements(("Ada", 36), ("Bob", 41), ("Cy", 1), ("Bob", 2))
    towns = env.from_elements(("Ada", "London"), ("Ada", "Paris"), ("Eve", "Rome"))
    rows = env.from_elements(Row(a=1, b="x"), Row(a=2, b="y"), Row(a=None, b="x"))
    numbers = env.generate_sequence(-3, 9)
    for kind in ("join", "left_outer_join", "right_outer_join", "full_outer_join"):
        yield getattr(ages, kind)(towns).where(0).equal_to(0)
        untyped = ages.map(lambda age: age)
        yield getattr(untyped, kind)(towns).where(lambda r: r[0]).equal_to(0).project_second()
    for hint in JoinHint:
        yield ages.join(towns, hint).where(0).equal_to(0).project_second(1).project_first(1)
    yield ages.cross(towns).project_first(0).project_second(1)
    yield numbers.cross_with_tiny(ages).using(lambda n, age: n * age[1])
    yield rows.group_by("b").max("a")
    yield rows.group_by("b").aggregate(Aggregation.SUM, "a").and_agg(Aggregation.MIN, "b")
    yield rows.group_by("a").reduce_group(lambda group: [len(list(group))])
    yield env.from_elements(1, "a", None, (2,), {3}).distinct(repr)
    yield ages.map(Weighted()).with_broadcast_set("weights", env.from_elements(2, 3))
    yield numbers.sample_with_size(False, 50)
    yield numbers.map(lambda n: n / 2, Types.DOUBLE()).distinct(lambda x: x > 0).map(lambda x: 1)
    yield ages.group_by(0).sort_group(1, Order.DESCENDING).first(1)
    yield ages.map(lambda a: (2**70, a[1])).group_by(0).sum(1)
    nothing = env.from_collection([], Types.TUPLE([Types.LONG()]))
    yield nothing.sum(0)
    yield nothing.map_partition(lambda part: [len(list(part))])
    yield ages.map(lambda age: age).map_partition(lambda part: [1] * len(list(part)))
    mixed = [(1, 1), (1.0, 2), (True, 4), (None, 8), (b"n", 16), ("1", 32)]
    yield env.from_collection(mixed).group_by(0).sum(1).map(lambda pair: pair[1])
    yield env.generate_sequence((1 << 63) - 2, (1 << 63) - 1)
    yield env.generate_sequence(-3, -1).map(lambda n: n)
    shuffled = env.from_collection([(n * 7 % 10, n) for n in range(10)])
    ordered = shuffled.sort_partition(0).set_parallelism(1)
    yield ordered.map_partition(lambda part: [[n for n, _ in part]]).set_parallelism(1)
    yield env.from_elements((2**53 + 1, 1)).filter(col("f0") == float(2**53))
    yield ages.filter((col("f1") > 1) & ~col("f0").in_("Cy", "Ada"))
    yield rows.filter(col("a").is_null | (col("a") >= 2))
    yield rows.map(lambda row: row, rows.get_type()).filter(~(col("a") == 1)).group_by("b").min("a")


def test_programs_give_what_they_give_in_memory(env: ExecutionEnvironment) -> None:
    with in_memory(parallelism=2):
        expected = [counted(data.collect()) for data in programs(env)]
    found = [counted(data.collect()) for data in programs(env)]
    for number, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert one == other, number


def test_aggregates_and_joins_are_those_of_dataframes(
    spark: SparkSession, env: ExecutionEnvironment
) -> None:
    frame = spark.range(200).selectExpr("id % 7 AS k", "id * id AS v", "id % 3 = 0 AS even")
    data = env.from_dataframe(frame)
    ours = data.group_by("k").sum("v").project("k", "v").to_dataframe()
    theirs = frame.groupBy("k").sum("v")
    assert sorted(map(tuple, ours.collect())) == sorted(map(tuple, theirs.collect()))
    assert ours.columns == ["f0", "f1"]
    joined = data.join(data).where("k").equal_to("k").project_first("v").project_second("v")
    expected = frame.alias("l").join(frame.alias("r"), "k").selectExpr("l.v", "r.v")
    assert sorted(joined.collect()) == sorted(map(tuple, expected.collect()))


def test_accumulators_count_each_task_once(env: ExecutionEnvironment) -> None:
    data = env.from_elements(("a", 1), ("b", 2), ("c", 3)).map(Weighted())
    data = data.with_broadcast_set("weights", env.from_elements(1))
    assert len(data.union(data).collect()) == 6
    result = env.get_last_job_execution_result()
    assert result is not None
    assert result.get_accumulator_result("calls") == 3


def test_an_error_names_the_line_and_the_element(env: ExecutionEnvironment) -> None:
    with pytest.raises(MillstreamError) as caught:
        env.from_elements(1, 0).map(lambda n: 1 // n).name("Divide").collect()
    text = str(caught.value)
    assert "Divide" in text
    assert "record: 0" in text
    assert "test_dataset_programs.py" in text


def test_results_of_a_wrong_type_are_told(env: ExecutionEnvironment) -> None:
    with pytest.raises(MillstreamError, match="expected int") as caught:
        env.from_elements("a").map(lambda word: word, Types.LONG()).collect()
    assert "test_dataset_programs.py" in str(caught.value)


def test_columns_of_untyped_elements(env: ExecutionEnvironment) -> None:
    frame = env.from_elements("a", "bb").map(lambda word: (word, len(word))).to_dataframe()
    assert [tuple(row) for row in frame.orderBy("f1").collect()] == [("a", 1), ("bb", 2)]


def test_files_come_back(env: ExecutionEnvironment, tmp_path: Any) -> None:
    data = env.from_elements(("a,b", 1), ('say "x"', 2))
    kinds = [Types.STRING(), Types.LONG()]
    data.write_csv(str(tmp_path / "csv"))
    data.write_csv(str(tmp_path / "one.csv")).set_parallelism(1)
    data.write_json(str(tmp_path / "json"))
    data.write_parquet(str(tmp_path / "parquet"))
    data.write_text(str(tmp_path / "text"))
    env.execute()
    for name in ("csv", "one.csv"):
        for found in (
            env.read_csv(str(tmp_path / name), kinds),
            env.read_text(str(tmp_path / name)),
        ):
            assert found.count() == 2
        assert counted(env.read_csv(str(tmp_path / name), kinds).collect()) == counted(
            data.collect()
        )
    assert sorted(env.read_text(str(tmp_path / "text")).collect()) == ["(a,b, 1)", '(say "x", 2)']
    rows = [Row(f0="a,b", f1=1), Row(f0='say "x"', f1=2)]
    assert counted(env.read_parquet(str(tmp_path / "parquet")).collect()) == counted(rows)
    kind = Types.ROW_NAMED(["f0", "f1"], kinds)
    assert counted(env.read_json(str(tmp_path / "json"), kind).collect()) == counted(rows)
    with pytest.raises(MillstreamError, match="DATASET_EXISTS"):
        data.write_text(str(tmp_path / "text"))
        env.execute()


# -- iterations ------------------------------------------------------------------------------------


class Add(RichFunction, MapFunction):
    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_iteration_aggregator("sum")
        self.before = runtime_context.get_previous_iteration_aggregate("sum")
        self.calls = runtime_context.get_int_counter("calls")

    def map(self, value: int) -> int:
        self.total.aggregate(value)
        self.calls.add(1)
        return value * 2 + (0 if self.before is None else 1)


class Beyond(ConvergenceCriterion):
    def is_converged(self, iteration: int, value: Any) -> bool:
        return bool(value > 200)


def iterations(env: ExecutionEnvironment) -> Iterator[DataSet]:
    bulk = env.generate_sequence(1, 5).iterate(10)
    doubled = bulk.map(lambda n: n * 4)
    yield bulk.close_with(doubled, doubled.filter(lambda n: n < 50))
    bulk = env.generate_sequence(1, 5).iterate(10)
    bulk.register_aggregation_convergence_criterion("sum", LongSumAggregator(), Beyond())
    yield bulk.close_with(bulk.map(Add()))
    links = [(0, 5), (1, 5), (2, 6), (6, 7), (8, 8)]
    edges = env.from_collection(links + [(b, a) for a, b in links])
    start = env.generate_sequence(0, 9).map(lambda n: (n, n))
    loop = start.iterate_delta(start, 30, 0)
    joined = loop.get_workset().join(edges).where(0).equal_to(0)
    near = joined.using(lambda known, edge: (edge[1], known[1])).group_by(0).min(1)
    met = near.join(loop.get_solution_set()).where(0).equal_to(0)
    better = met.using(lambda new, old: [new] if new[1] < old[1] else [], flat=True)
    yield loop.close_with(better, better)


@pytest.mark.parametrize("way", ["resident", "driver"])
def test_iterations_give_what_they_give_in_memory(env: ExecutionEnvironment, way: LoopMode) -> None:
    def results() -> list[Any]:
        found = []
        for data in iterations(env):
            records = sorted(data.collect())
            result = env.get_last_job_execution_result()
            assert result is not None
            found.append((records, result.get_accumulator_result("calls")))
        return found

    with in_memory(parallelism=2):
        expected = results()
    assert expected[0][0] == [64, 128, 192, 256, 320]
    env.set_iteration_options(LoopOptions(mode=way))
    assert results() == expected


def test_explain_says_how_an_iteration_will_run(env: ExecutionEnvironment) -> None:
    def plan(options: LoopOptions) -> str:
        loop = env.set_iteration_options(options).generate_sequence(1, 3).iterate(3)
        return str(loop.close_with(loop.map(lambda n: n + 1)).explain())

    text = plan(LoopOptions())
    assert "at most 3 supersteps; resident loop: " in text
    assert "tasks run at once" in text
    text = plan(LoopOptions(mode="driver"))
    assert "at most 3 supersteps; a job per superstep: asked for by the options]" in text


def test_an_iteration_in_the_memory_of_the_driver(env: ExecutionEnvironment) -> None:
    env.set_iteration_options(LoopOptions(mode="memory"))
    loop = env.generate_sequence(1, 3).map(lambda n: (n, n)).iterate(3)
    closed = loop.close_with(loop.map(lambda pair: (pair[0], pair[1] * 2)))
    assert "memory loop: asked for by the options" in closed.explain()
    assert sorted(closed.filter(lambda pair: pair[0] > 1).collect()) == [(2, 16), (3, 24)]


def test_a_file_may_replace_what_it_is_made_of(env: ExecutionEnvironment, tmp_path: Any) -> None:
    place = tmp_path / "lines"
    place.write_text("a\n", encoding="utf-8-sig")
    lines = env.read_text(str(place)).map(str.upper)
    lines.write_text(str(place), WriteMode.OVERWRITE).set_parallelism(1)
    env.execute()
    assert place.read_text() == "A\n"
