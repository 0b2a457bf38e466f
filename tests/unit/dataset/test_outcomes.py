"""Results of data sets in memory: bridges, summaries, samples, partitions, iterations, what is kept."""

from __future__ import annotations

import statistics
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from millstream.common import Row, Types
from millstream.common.errors import MillstreamError
from millstream.dataset import (
    ExecutionEnvironment,
    GroupCombineFunction,
    GroupReduceFunction,
    Order,
    WriteMode,
)
from millstream.datastream import StreamExecutionEnvironment
from millstream.table import EnvironmentSettings, StreamTableEnvironment
from millstream.table.expressions import col
from millstream.testing import in_memory


@pytest.fixture
def env() -> ExecutionEnvironment:
    return ExecutionEnvironment.get_execution_environment()


def test_streams_become_sets_and_come_back(env: ExecutionEnvironment) -> None:
    streams = StreamExecutionEnvironment.get_execution_environment()
    with in_memory():
        data = env.from_data_stream(streams.from_collection([("a", 1), ("b", 2)]))
        assert data.get_type() == Types.TUPLE([Types.STRING(), Types.LONG()])
        back = data.map(lambda p: (p[0], p[1] + 1)).to_data_stream(streams)
        with back.execute_and_collect() as found:
            assert sorted(found) == [("a", 2), ("b", 3)]


def test_tables_become_sets_and_come_back(env: ExecutionEnvironment) -> None:
    streams = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(streams, EnvironmentSettings.in_batch_mode())
    with in_memory():
        table = env.from_elements(Row(k="a", n=1), Row(k="b", n=2), Row(k="a", n=3)).to_table(t_env)
        t_env.create_temporary_view("t", table)
        sums = env.from_table(t_env.sql_query("SELECT k, SUM(n) AS s FROM t GROUP BY k"))
        assert sorted(sums.collect(), key=lambda row: row.k) == [Row(k="a", s=4), Row(k="b", s=2)]


def test_summaries_are_those_of_the_values(env: ExecutionEnvironment) -> None:
    values = [3, 1, 4, 1, 5, 9, 2, 6]
    with in_memory(parallelism=3):
        number, text = env.from_elements(*[(n, "x" * n) for n in values]).summarize()
    assert number.get_mean() == statistics.mean(values)
    assert number.get_variance() == pytest.approx(statistics.variance(values))
    assert (number.get_min(), number.get_max(), number.get_sum()) == (1, 9, 31)
    assert (text.get_min_length(), text.get_max_length()) == (1, 9)


def test_samples_have_their_size(env: ExecutionEnvironment) -> None:
    numbers = env.generate_sequence(1, 400)
    with in_memory(parallelism=3):
        some = numbers.sample(False, 0.5, seed=1).collect()
        assert 140 < len(some) == len(set(some)) < 260
        assert numbers.sample(False, 0.5, seed=1).collect() == some
        assert 140 < len(numbers.sample(True, 0.5, seed=1).collect()) < 260
        assert len(set(numbers.sample_with_size(False, 7, seed=1).collect())) == 7
        assert numbers.sample_with_size(True, 500, seed=1).count() == 500


def test_ranges_are_in_order_over_partitions(env: ExecutionEnvironment) -> None:
    mixed = env.from_collection([(n * 37 % 100, n) for n in range(100)])
    with in_memory(parallelism=4):
        found = mixed.partition_by_range(0).sort_partition(0).map(lambda p: p[0]).collect()
        sizes = mixed.partition_by_range(0).count_elements_per_partition().collect()
    assert found == list(range(100))
    assert all(size > 10 for _, size in sizes)


def test_numbers_of_elements_differ_and_are_consecutive(env: ExecutionEnvironment) -> None:
    letters = env.from_collection(list("abcdefg"))
    with in_memory(parallelism=3):
        assert [n for n, _ in letters.zip_with_index().collect()] == list(range(7))
        assert len({n for n, _ in letters.zip_with_unique_id().collect()}) == 7


class Sums(GroupReduceFunction, GroupCombineFunction):
    def combine(self, iterator: Any, collector: Any) -> None:
        self.reduce(iterator, collector)

    def reduce(self, iterator: Any, collector: Any) -> None:
        first = iterator.next()
        assert isinstance(iterator.has_next(), bool)
        collector.collect((first[0], first[1] + sum(n for _, n in iterator)))


def test_combinable_groups(env: ExecutionEnvironment) -> None:
    pairs = env.from_collection([("ab"[n % 2], n) for n in range(10)])
    with in_memory(parallelism=3):
        assert sorted(pairs.group_by(0).reduce_group(Sums(), True).collect()) == [
            ("a", 20),
            ("b", 25),
        ]


def test_sorts_go_by_several_fields(env: ExecutionEnvironment) -> None:
    rows = [("a", 1, 2), ("a", 2, 1), ("a", 1, 3), ("b", None, 1), ("b", 1, 1)]
    for data in (env.from_collection(rows), env.from_collection(rows).map(lambda row: row)):
        grouped = data.group_by(0).sort_group(1).sort_group(2, Order.DESCENDING)
        with in_memory(parallelism=2):
            found = grouped.reduce_group(lambda group: [list(group)]).collect()
        assert sorted(found, key=repr) == [
            [("a", 1, 3), ("a", 1, 2), ("a", 2, 1)],
            [("b", None, 1), ("b", 1, 1)],
        ]


def test_sinks_wait_and_write(env: ExecutionEnvironment, tmp_path: Path) -> None:
    data = env.from_elements(("a", 1.5), (None, 2.0))
    file = tmp_path / "out.csv"
    data.write_csv(str(file), field_delimiter=";").set_parallelism(1)
    assert not file.exists()
    with in_memory():
        env.execute()
    assert file.read_text() == "a;1.5\n;2.0\n"
    data.write_text(str(file), WriteMode.OVERWRITE).set_parallelism(1)
    with in_memory():
        assert data.count() == 2  # sinks that wait run along
        assert file.read_text() == "(a, 1.5)\n(None, 2.0)\n"


def test_headers_are_left_out(env: ExecutionEnvironment, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('name,age\n"Lovelace, Ada",36\nBob,\n')
    people = env.read_csv(
        str(tmp_path), [Types.STRING(), Types.LONG()], names=["name", "age"], ignore_first_line=True
    )
    with in_memory():
        assert people.collect() == [Row(name="Lovelace, Ada", age=36), Row(name="Bob", age=None)]


class Handle:
    def __init__(self, number: int) -> None:
        self.number, self.lock = number, threading.Lock()


def test_registered_types_travel(env: ExecutionEnvironment) -> None:
    env.register_type(Handle, lambda handle: bytes([handle.number]), lambda data: Handle(data[0]))
    handles = env.from_collection([Handle(1), Handle(2)]).iterate(2)
    with in_memory(parallelism=2):
        found = handles.close_with(handles.map(lambda h: Handle(h.number * 2))).collect()
    assert sorted(handle.number for handle in found) == [4, 8]


@pytest.mark.parametrize("tasks", [1, 3])
def test_a_static_set_of_a_step_is_moved_once(env: ExecutionEnvironment, tasks: int) -> None:
    """The calls of a static set's function do not grow with the supersteps."""
    calls: list[int] = []
    static = env.generate_sequence(0, 9).map(lambda n: calls.append(n) or (n, (n + 1) % 10))
    start = env.generate_sequence(0, 9).map(lambda n: (n, n))
    loop = start.iterate(5)
    joined = loop.join(static).where(1).equal_to(0)
    moved = joined.using(lambda mine, link: (mine[0], link[1]))
    with in_memory(parallelism=tasks):
        found = loop.close_with(moved).collect()
    assert sorted(found) == [(n, (n + 5) % 10) for n in range(10)]
    assert len(calls) == 10


def test_functions_may_change_what_they_get(env: ExecutionEnvironment) -> None:
    """Sources and other readers see nothing of it, as on Spark."""
    sets = env.from_collection([{1}, {2}, {3}])
    grown = sets.map(lambda found: found | {0})
    together = grown.reduce(lambda x, y: x.update(y) or x)
    changed = grown.map(lambda found: found.clear() or len(found))
    with in_memory(parallelism=1):
        assert together.collect() == together.collect() == [{0, 1, 2, 3}]
        assert sets.collect() == [{1}, {2}, {3}]
        assert together.union(changed).union(grown).collect() == [
            {0, 1, 2, 3},
            0,
            0,
            0,
            {0, 1},
            {0, 2},
            {0, 3},
        ]


def test_explain_says_what_is_kept_and_shared(env: ExecutionEnvironment) -> None:
    pairs = env.from_elements(("a", 1)).map(lambda pair: pair).name("pairs")
    text = pairs.union(pairs.filter(lambda pair: True)).explain()
    assert "#1 pairs: PICKLED_BYTE_ARRAY  [Python: map, kept for several readers]" in text
    assert "(the same as #1)" in text
    loop = env.from_elements(1).iterate(3)
    closed = loop.close_with(loop.map(lambda n: n + 1))
    assert "at most 3 supersteps; in tasks that stay if" in closed.explain()
    with in_memory():
        text = closed.explain()
    assert "[at most 3 supersteps; memory loop: inside of in_memory()]" in text
    assert "the partial solution: LONG  [of this superstep]" in text


def test_functions_of_partitions_are_not_called_without_elements(env: ExecutionEnvironment) -> None:
    nothing = env.generate_sequence(1, 4).filter(lambda n: n > 3)
    with in_memory(parallelism=3):
        assert nothing.map_partition(lambda part: [len(list(part))]).collect() == [1]
        assert nothing.count_elements_per_partition().map(lambda pair: pair[1]).collect() == [1]


@pytest.mark.parametrize("tasks", [1, 2])
def test_functions_of_a_step_may_change_what_they_get(
    env: ExecutionEnvironment, tasks: int
) -> None:
    """Static sets, the solution set, broadcast sets and other readers see nothing of it."""

    def grow(mine: Any, other: Any) -> Any:
        other[1].append(7)
        return mine[0], [*mine[1], len(other[1])]

    static = env.from_collection([(key, [0]) for key in range(3)])
    solution = env.from_collection([(key, []) for key in range(3)])
    loop = solution.iterate_delta(static, 3, 0)
    near = loop.get_workset().join(static).where(0).equal_to(0).using(grow)
    met = near.join(loop.get_solution_set()).where(0).equal_to(0).using(grow)
    shared = met.map(lambda pair: (pair[0], pair[1] + [pair[1].clear() or "x"]))
    with in_memory(parallelism=tasks):
        kept = loop.close_with(met, met.union(shared.filter(lambda pair: False))).collect()
    assert sorted(kept) == [(key, [0, 2, 1, 2, 4, 2, 6]) for key in range(3)]


@pytest.mark.parametrize("typed", [True, False])
def test_keys_are_those_of_python(env: ExecutionEnvironment, typed: bool) -> None:
    """1 and 1.0 are one key, None and bytes are two: as on Spark, where keys travel as bytes."""

    class Place(NamedTuple):
        x: Any
        y: Any

    def sums(*keys: Any) -> list[int]:
        data = env.from_collection(
            [(key, 10**at) for at, key in enumerate(keys)],
            None if typed else Types.PICKLED_BYTE_ARRAY(),
        )
        return sorted(n for _, n in data.group_by(0).sum(1).collect())

    with in_memory(parallelism=2):
        assert sums(1, 1.0, True, Decimal(1), "1", b"1") == [1111, 10_000, 100_000]
        assert sums(None, b"n", "n", b"f", b"i\x01", 1) == [1, 10, 100, 1000, 10_000, 100_000]
        assert sums((1, "a"), (1.0, "a"), (Decimal(1), "a"), (None, "a")) == [111, 1000]
        assert sums(Place(1, 2), (1, 2.0), (2, 1)) == [11, 100]
        assert sums(float("nan"), float("nan"), 0.0, -0.0, 0) == [11, 11100]
        left, right = env.from_elements((1, "l")), env.from_elements((1.0, "r"))
        joined = left.join(right).where(0).equal_to(0)
        assert joined.project_first(1).project_second(1).collect() == [("l", "r")]


def test_names_of_methods_are_no_fields(env: ExecutionEnvironment) -> None:
    loose = env.from_elements(("a", 1)).map(lambda pair: pair)
    with in_memory(), pytest.raises(MillstreamError, match="has no field count"):
        loose.distinct("count").collect()


def test_the_largest_numbers(env: ExecutionEnvironment) -> None:
    most = (1 << 63) - 1
    with in_memory():
        assert env.generate_sequence(most - 1, most).collect() == [most - 1, most]
        # As Spark compares them: as floats.
        odd = env.from_elements((2**53 + 1, 1))
        assert odd.filter(col("f0") == float(2**53)).count() == 1


@pytest.mark.parametrize("width", [1, 2])
def test_partitions_stay_where_the_next_operator_has_as_many(
    env: ExecutionEnvironment, width: int
) -> None:
    mixed = env.from_collection([(n * 7 % 10, n) for n in range(10)])
    ranges = mixed.partition_by_range(0).set_parallelism(width)
    parts = ranges.sort_partition(0).set_parallelism(width)
    lists = parts.map_partition(lambda part: [[n for n, _ in part]]).set_parallelism(width)
    with in_memory(parallelism=4):
        found = lists.collect()
    assert len(found) == width
    assert [n for part in found for n in part] == list(range(10))


def test_what_is_overwritten_stays_until_all_is_written(
    env: ExecutionEnvironment, tmp_path: Path
) -> None:
    place = tmp_path / "out"
    place.write_text("before\n", encoding="utf-8-sig")
    env.from_elements(1, "a").write_parquet(str(place), WriteMode.OVERWRITE)
    with in_memory():
        with pytest.raises(MillstreamError, match="DATASET_NO_COLUMNS"):
            env.execute()
        assert [each.name for each in tmp_path.iterdir()] == ["out"]
        lines = env.read_text(str(place))
        lines.map(str.upper).write_text(str(place), WriteMode.OVERWRITE).set_parallelism(1)
        env.execute()
        assert env.read_text(str(place)).collect() == ["BEFORE"]


def test_elements_without_fields_have_a_summary(env: ExecutionEnvironment) -> None:
    with in_memory():
        (found,) = env.from_elements(None, 1, 2.5).summarize()
        (texts,) = env.from_elements("ab", "").summarize()
    assert (found.get_total_count(), found.get_null_count(), found.get_mean()) == (3, 1, 1.75)
    assert (texts.get_max_length(), texts.get_empty_count()) == (2, 1)


def test_partitioners_may_give_what_counts_as_a_number(env: ExecutionEnvironment) -> None:
    pairs = env.generate_sequence(0, 3).partition_custom(lambda key, parts: key % 2 == 0, "*")
    with in_memory(parallelism=2):
        assert pairs.map_partition(lambda part: [sorted(part)]).collect() == [[1, 3], [0, 2]]
