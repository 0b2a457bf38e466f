"""Operations on whole bounded streams: distinct, first, and what has no end."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.common import Row, Types, WatermarkStrategy
from millstream.common.errors import MillstreamError, PlanError
from millstream.datastream import DataStream, KeySelector, StreamExecutionEnvironment
from millstream.datastream.connectors.file_system import FileSource
from millstream.datastream.windowing.bounded_operations import Earliest
from millstream.testing import LocalJob, TestSource, rebatch, run_local
from tests.support.datastream_support import check_error
from tests.support.strategies import schedules, thinned

Env = StreamExecutionEnvironment
FEW = schedules(cuts=(1, "random"), slots=(1, 3), parallelism=(2,))
PAIRS = [("b", 1), ("a", 2), ("b", 3), ("c", 4), ("a", 5), ("b", 6)]
NO_TIME = WatermarkStrategy.no_watermarks()


def two_channels(env: Env) -> DataStream:
    return env.from_source(TestSource(PAIRS[:3], PAIRS[3:]), NO_TIME, "pairs")


class First(KeySelector):
    def get_key(self, value: tuple[str, int]) -> str:
        return value[0]


# -- distinct --------------------------------------------------------------------------------------


def test_equal_records_are_one() -> None:
    def program(env: Env) -> DataStream:
        return env.from_collection([3, 1, 3, 2, 1]).distinct()

    assert sorted(rebatch(program, **FEW).results.values()) == [1, 2, 3]


@pytest.mark.parametrize("selector", [0, "f0", First(), lambda pair: pair[0]])
def test_of_equal_keys_the_first_record_is_kept(env: Env, selector: Any) -> None:
    found = run_local(env.from_collection(PAIRS).distinct(selector)).values()
    assert sorted(found) == [("a", 2), ("b", 1), ("c", 4)]


def test_the_first_of_several_channels_does_not_depend_on_the_schedule() -> None:
    found = rebatch(lambda env: two_channels(env).distinct(0), **FEW).results.values()
    assert sorted(found) == [("a", 2), ("b", 1), ("c", 4)]


def test_distinct_keeps_the_type(env: Env) -> None:
    assert env.from_collection(PAIRS).distinct(0).get_type() == Types.TUPLE(
        [Types.STRING(), Types.LONG()]
    )
    rows = env.from_collection([Row(n=1), Row(n=1)]).distinct()
    assert run_local(rows).values() == [Row(n=1)]


def test_records_that_are_no_keys_need_a_selector(env: Env) -> None:
    sets = env.from_collection([{1}, {1}])
    with pytest.raises(MillstreamError, match="UNSUPPORTED_KEY"):
        run_local(sets.distinct())
    assert run_local(sets.distinct(tuple)).values() == [{1}]


def test_lists_are_told_apart_by_their_elements(env: Env) -> None:
    lists = env.from_collection([[1], [1.0], [2]])
    assert run_local(lists.distinct()).values() == [[1], [2]]


# -- first -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", thinned([1, 4, 100], "first"))
def test_the_first_records_come_in_order(n: int) -> None:
    found = rebatch(lambda env: env.from_collection(range(60)).first(n), **FEW).results.values()
    assert found == list(range(60))[:n]


def test_the_first_records_of_several_channels() -> None:
    found = rebatch(lambda env: two_channels(env).first(4), **FEW).results.values()
    assert found == PAIRS[:4]


def test_the_first_records_in_event_time() -> None:
    """Without keys the order is that of the watermarks, then of the channels."""

    def program(env: Env) -> DataStream:
        source = TestSource([("a", 10), ("b", 30), ("c", 40)], [("d", 20)], timestamped=True)
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        return env.from_source(source, strategy, "letters").first(3)

    assert rebatch(program, **FEW).results.values() == ["a", "d", "b"]


def test_the_first_records_of_each_key() -> None:
    found = rebatch(lambda env: two_channels(env).key_by(0).first(2), **FEW).results.values()
    by_key: dict[str, list[Any]] = {}
    for pair in found:
        by_key.setdefault(pair[0], []).append(pair)
    assert by_key == {"a": [("a", 2), ("a", 5)], "b": [("b", 1), ("b", 3)], "c": [("c", 4)]}


def test_first_keeps_few_records_in_state(env: Env) -> None:
    env.from_collection(["x" * 1_000] * 2_000).first(2).print()
    job = LocalJob(env._job_graph())
    job.epoch(1_000)
    size = sum(len(page) for store in job.committed.stores.values() for page in store.values())
    assert size < 50_000
    job.run_all()
    assert job.state_entries() == 0
    assert len(job.outputs["Print"]) == 2


@pytest.mark.parametrize("n", [0, -1, True, "2"])
def test_first_needs_a_number(env: Env, n: Any) -> None:
    with pytest.raises(PlanError) as caught:
        env.from_collection([1]).first(n)
    check_error(caught.value, "BAD_NUMBER", here=__file__, hint="")


def test_the_earliest_of_windows_that_merge() -> None:
    fold = Earliest(2)
    one = fold.add(fold.add(None, "c", 0, (3,)), "a", 0, (1,))
    other = fold.add(fold.add(None, "d", 0, (4,)), "b", 0, (2,))
    assert fold.elements(fold.merge([one, other])) == ["a", "b"]


# -- inputs without end ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "hint"),
    [
        (lambda stream: stream.distinct(), "time to live"),
        (lambda stream: stream.first(1), "count_window"),
        (lambda stream: stream.key_by(str).first(1), "count_window"),
        (lambda stream: stream.full_window_partition(), "a window that ends"),
        (lambda stream: stream.key_by(str).full_window_partition(), "a window that ends"),
        (lambda stream: stream.map_partition(list), "a window that ends"),
    ],
)
def test_an_unbounded_source_anywhere_behind_is_refused(
    env: Env, operation: Any, hint: str
) -> None:
    socket = env.socket_text_stream("localhost", 9999).uid("lines")
    behind_all = env.from_collection(["a"]).union(socket.key_by(str).reduce(max)).map(str)
    with pytest.raises(PlanError, match="source 'Socket' has none") as caught:
        operation(behind_all)
    check_error(caught.value, "UNBOUNDED_INPUT", here=__file__, hint=hint)


def test_files_that_are_watched_never_end(env: Env) -> None:
    def first_line(source: FileSource) -> DataStream:
        return env.from_source(source, NO_TIME, "files").first(1)

    first_line(FileSource.text("/data"))
    with pytest.raises(PlanError, match="'files' has none"):
        first_line(FileSource.text("/data", watch=True))
