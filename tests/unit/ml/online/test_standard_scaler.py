"""The online standard scaler, with the values of flink-ml's tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from millstream.common import Row, Types, WatermarkStrategy
from millstream.common.errors import MillstreamError
from millstream.common.time import Instant, Time
from millstream.datastream import DataStream, StreamExecutionEnvironment
from millstream.ml.common.window import (
    CountTumblingWindows,
    EventTimeSessionWindows,
    EventTimeTumblingWindows,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    ProcessingTimeTumblingWindows,
    Windows,
)
from millstream.ml.linalg import DenseVectorTypeInfo, SparseVector, Vectors
from millstream.ml.online.standard_scaler import OnlineStandardScaler, OnlineStandardScalerModel
from millstream.table import DataTypes, Schema, StreamTableEnvironment, Table
from millstream.testing import in_memory, run_local
from tests.unit.ml.kernel.test_moments import POINTS

TIMES = [0, 1000, 2000, 6000, 7000, 8000, 9000, 10000, 11000]
EXPECTED = [
    ([0.3, 1, 0], [2.4433583, 7.2111026, 1.7320508], 0, 2999),
    ([0.35, 1.1666667, 0], [1.5630099, 4.6654760, 1.5491933], 1, 8999),
    ([0.3666667, 1.2222222, 0], [1.2369316, 3.7006005, 1.5], 2, 11999),
]
THREE_SECONDS = EventTimeTumblingWindows.of(Time.milliseconds(3000))


def timed(env: StreamExecutionEnvironment) -> DataStream[Any]:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda row, _: row.id
    )
    rows = [Row(id=t, input=Vectors.dense(p)) for t, p in zip(TIMES, POINTS, strict=True)]
    return env.from_collection(rows).assign_timestamps_and_watermarks(strategy)


def check_model_data(rows: list[Any], with_time: bool) -> None:
    assert [row.version for row in rows] == [0, 1, 2]
    for row, (mean, std, _, timestamp) in zip(rows, EXPECTED, strict=True):
        assert np.allclose(row.mean.to_array(), mean, rtol=0, atol=1e-7)
        assert np.allclose(row.std.to_array(), std, rtol=0, atol=1e-7)
        assert row.timestamp == (timestamp if with_time else 2**63 - 1)


def test_parameters_of_flink_ml() -> None:
    scaler = OnlineStandardScaler()
    assert scaler.get_params() == {
        "input_col": "input",
        "output_col": "output",
        "with_mean": False,
        "with_std": True,
        "model_version_col": "version",
        "max_allowed_model_delay_ms": 0,
        "windows": GlobalWindows(),
    }
    scaler.set_windows(THREE_SECONDS).set_max_allowed_model_delay_ms(3000)
    assert scaler.windows == EventTimeTumblingWindows.of(Time.milliseconds(3000))


@pytest.mark.parametrize(
    ("windows", "with_time"), [(THREE_SECONDS, True), (CountTumblingWindows.of(3), False)]
)
def test_model_data_of_flink_ml(windows: Windows, with_time: bool) -> None:
    def program(env: StreamExecutionEnvironment) -> Any:
        return OnlineStandardScaler(windows=windows).fit(timed(env)).get_model_data()[0]

    check_model_data(run_local(program).values(), with_time)


@pytest.mark.parametrize("delay", [0, 3000])
def test_versions_that_are_young_enough(delay: int) -> None:
    """As in flink-ml: a model is at most so much older than the record."""

    def program(env: StreamExecutionEnvironment) -> Any:
        scaler = OnlineStandardScaler(windows=THREE_SECONDS, max_allowed_model_delay_ms=delay)
        stream = timed(env)
        return scaler.fit(stream).transform(stream)

    found = run_local(program).values()
    assert sorted(row.id for row in found) == TIMES
    for row in found:
        assert row.id - EXPECTED[row.version][3] <= delay
    expected = {0: 0, 6000: 1, 9000: 2} if delay == 0 else {0: 0, 6000: 1, 9000: 1}
    assert {row.id: row.version for row in found}.items() >= expected.items()


@pytest.mark.parametrize(
    ("with_mean", "with_std", "expected"),
    [
        (True, False, [[-2.8, 8, 1], [1.1, -6, 1], [1.7, -2, -2]]),
        (
            False,
            True,
            [
                [-1.0231819, 1.2480754, 0.5773502],
                [0.5729819, -0.6933752, 0.5773503],
                [0.8185455, -0.1386750, -1.1547005],
            ],
        ),
        (
            True,
            True,
            [
                [-1.1459637, 1.1094004, 0.5773503],
                [0.45020003, -0.8320503, 0.5773503],
                [0.69576368, -0.2773501, -1.1547005],
            ],
        ),
    ],
)
def test_a_global_window_of_flink_ml(
    with_mean: bool, with_std: bool, expected: list[list[float]]
) -> None:
    def program(env: StreamExecutionEnvironment) -> Any:
        points = env.from_collection([Vectors.dense(point) for point in POINTS[:3]])
        scaler = OnlineStandardScaler(with_mean=with_mean, with_std=with_std)
        return scaler.fit(points).transform(points)

    found = {record[0]: record[1].to_array() for record in run_local(program).values()}
    for point, wanted in zip(POINTS, expected, strict=False):
        assert np.allclose(found[Vectors.dense(point)], wanted, rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    "windows",
    [
        ProcessingTimeTumblingWindows.of(Time.seconds(1)),
        ProcessingTimeSessionWindows.with_gap(Time.seconds(1)),
        EventTimeSessionWindows.with_gap(Time.milliseconds(2500)),
    ],
)
def test_other_windows(windows: Windows) -> None:
    """Every record is predicted, and the last version knows them all."""

    def program(env: StreamExecutionEnvironment) -> Any:
        model = OnlineStandardScaler(windows=windows).fit(timed(env))
        return {"rows": model.transform(timed(env)), "versions": model.get_model_data()[0]}

    results = run_local(program, epochs=2)
    versions = results.values("versions")
    assert np.allclose(versions[-1].mean.to_array(), EXPECTED[2][0], atol=1e-7)
    if isinstance(windows, EventTimeSessionWindows):
        assert [row.timestamp for row in versions] == [4499, 13499]
        assert len(results.values("rows")) == len(TIMES)


def input_table(t_env: StreamTableEnvironment, env: StreamExecutionEnvironment) -> Table:
    """The table of flink-ml's Python tests."""
    kind = "RAW('org.apache.flink.ml.linalg.DenseVector', 'any')"
    schema = (
        Schema.new_builder()
        .column("ts_in_long", DataTypes.BIGINT())
        .column("ts", "TIMESTAMP_LTZ(3)")
        .column("input", kind)
        .watermark("ts", "ts - INTERVAL '1' SECOND")
        .build()
    )
    rows = [
        (time, Instant.of_epoch_milli(time), Vectors.dense(point))
        for time, point in zip(TIMES, POINTS, strict=True)
    ]
    info = Types.ROW_NAMED(
        ["ts_in_long", "ts", "input"], [Types.LONG(), Types.INSTANT(), DenseVectorTypeInfo()]
    )
    return t_env.from_data_stream(env.from_collection(rows, type_info=info), schema)


def test_tables_of_flink_ml() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    table = input_table(t_env, env)
    model = OnlineStandardScaler().set_windows(THREE_SECONDS).fit(table)
    (versions,) = model.get_model_data()
    assert versions.get_schema().get_field_names() == ["mean", "std", "version", "timestamp"]
    other = OnlineStandardScalerModel().set_model_data(versions)
    (result,) = other.transform(table)
    names = ["ts_in_long", "ts", "input", "output", "version"]
    assert result.get_schema().get_field_names() == names
    (without,) = other.set_model_version_col(None).transform(table)
    assert without.get_schema().get_field_names() == names[:-1]
    with in_memory():
        check_model_data(list(t_env.to_data_stream(versions).execute_and_collect()), True)
        found = list(t_env.to_data_stream(result).execute_and_collect())
    assert sorted(row.ts_in_long for row in found) == TIMES
    for row in found:
        assert row.ts_in_long - EXPECTED[row.version][3] <= 0


def test_saved_and_read(tmp_path: Path) -> None:
    OnlineStandardScaler(windows=THREE_SECONDS).save(str(tmp_path / "estimator"))
    scaler = OnlineStandardScaler.load(str(tmp_path / "estimator"))
    assert scaler.windows == THREE_SECONDS

    def program(env: StreamExecutionEnvironment) -> Any:
        return scaler.fit(timed(env)).get_model_data()[0]

    last = run_local(program).values()[-1]
    model = OnlineStandardScalerModel(with_mean=True).set_model_data(last)
    model.save(str(tmp_path / "model"))
    read = OnlineStandardScalerModel.load(None, str(tmp_path / "model"))
    assert np.allclose(read.predict(POINTS), model.predict(POINTS))
    assert np.allclose(read.predict(POINTS).mean(axis=0), 0)


def test_sparse_vectors_stay_sparse_without_the_mean() -> None:
    data = Row(Vectors.dense(1.0, 2.0, 3.0), Vectors.dense(2.0, 0.0, 4.0), 0, 0)
    model = OnlineStandardScalerModel().set_model_data(data)

    def program(env: StreamExecutionEnvironment) -> Any:
        return model.transform(env.from_collection([SparseVector(3, [0, 1], [6.0, 5.0])]))

    ((_, found, version),) = run_local(program).values()
    assert isinstance(found, SparseVector)
    assert found.to_array().tolist() == [3.0, 0.0, 0.0]
    assert version == 0


def test_vectors_of_different_lengths() -> None:
    def program(env: StreamExecutionEnvironment) -> Any:
        points = env.from_collection([[1.0, 2.0], [1.0]])
        return OnlineStandardScaler().fit(points).get_model_data()[0]

    with pytest.raises(MillstreamError, match="a vector has 1 elements, and the model 2"):
        run_local(program)


def test_no_records() -> None:
    def program(env: StreamExecutionEnvironment) -> Any:
        points = env.from_collection([[1.0]]).filter(lambda point: False)
        model = OnlineStandardScaler().fit(points)
        return {"versions": model.get_model_data()[0], "rows": model.transform(points)}

    results = run_local(program)
    assert results.values("versions") == results.values("rows") == []
