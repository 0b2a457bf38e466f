"""The state of rolling aggregates in savepoints: typed rows, from and to any number of slots."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from millstream.common import Types, WatermarkStrategy
from millstream.common.errors import CheckpointError
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import DiscardingSink
from millstream.kernel.snapshot import build
from millstream.kernel.tables import arrangement
from millstream.kernel.tables.rolling import IN_COLUMNS
from millstream.plan.graph import JobGraph
from millstream.plan.options import JobOptions
from millstream.testing import LocalJob, TestSource

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
HALF = 2**62


def graph(records: list[Any], key: Any = 0, type_info: Any = PAIR) -> JobGraph:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.no_watermarks()
    stream = env.from_source(TestSource(records), strategy, "in", type_info).uid("in")
    # The sums may be wider than the type of the records: nobody looks at them.
    sums = stream.key_by(key).sum(1).uid("total").filter(lambda record: record[0] == "seen")
    sums.map(lambda record: (record[0], str(record[1]))).sink_to(DiscardingSink()).name("out")
    return env._job_graph()


def job_of(records: list[Any], slots: int = 2, **options: Any) -> LocalJob:
    found = {"savepoint": options.pop("savepoint", None)}
    return LocalJob(graph(records, **options), JobOptions(parallelism=1, slots=slots), **found)


def state_of(job: LocalJob) -> dict[str, Any]:
    tables = job.savepoint().state.tables["total", "reduced"]
    return {row["key"]: row["value"] for row in pa.concat_tables(tables).to_pylist()}


def test_the_state_is_a_row_of_the_records_type_for_each_key() -> None:
    job = job_of([("a", 1), ("b", 5), ("a", 2)])
    job.epoch(3)
    assert state_of(job) == {"a": {"f0": "a", "f1": 3}, "b": {"f0": "b", "f1": 5}}
    (state,) = job.savepoint().state.operators["total"].states.values()
    assert (state.name, state.value, state.layout) == ("reduced", PAIR, IN_COLUMNS)


def test_many_rows_go_to_other_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if they come shelf by shelf, and fill several pages."""
    monkeypatch.setattr(build, "SHELF_ROWS", 200)
    monkeypatch.setattr(arrangement, "PAGE_BYTES", 1_024)
    records = [(f"key {i % 900}", i) for i in range(2_000)]
    job = job_of(records, slots=3)
    job.epoch(1_500)
    for slots in (1, 2, 4):
        later = job_of(records, slots, savepoint=job.savepoint())
        assert state_of(later) == state_of(job)
        later.epoch(500)
        expected: dict[str, int] = {}
        for key, number in records:
            expected[key] = expected.get(key, 0) + number
        assert {key: row["f1"] for key, row in state_of(later).items()} == expected


def test_a_sum_beyond_64_bits_is_stored_and_goes_on() -> None:
    records = [("seen", HALF)] * 3 + [("seen", -HALF)] * 3
    job = job_of(records)
    job.epoch(3)
    assert state_of(job) == {"seen": None}  # no column holds it: it is pickled beside them
    later = job_of(records, savepoint=job.savepoint())
    found = later.run_all(1)["out"]
    assert [value for value, _ in found] == [("seen", str(n * HALF)) for n in (2, 1, 0)]
    assert state_of(later) == {"seen": {"f0": "seen", "f1": 0}}


def test_records_of_another_type_go_on() -> None:
    wide = Types.TUPLE([Types.STRING(), Types.INT()])
    job = job_of([("a", 1), ("seen", 5)], type_info=wide)
    job.epoch(2)
    later = job_of([("a", 1), ("seen", 5), ("seen", HALF)], savepoint=job.savepoint())
    found = later.run_all(3)["out"]
    assert [value for value, _ in found] == [("seen", str(HALF + 5))]


def test_a_savepoint_by_another_key_is_refused() -> None:
    two = Types.TUPLE([Types.STRING(), Types.LONG(), Types.STRING()])
    records = [("a", 1, "x"), ("b", 2, "y")]
    job = job_of(records, type_info=two)
    job.epoch(2)
    with pytest.raises(CheckpointError, match="KEYS_CHANGED") as raised:
        job_of(records, key=2, type_info=two, savepoint=job.savepoint())
    assert "has a value of key" in raised.value.message
