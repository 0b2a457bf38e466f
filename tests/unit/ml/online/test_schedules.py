"""Online learning does not depend on the schedule: with one channel, or in the order of watermarks."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.common import Row
from millstream.common.time import Time
from millstream.datastream import StreamExecutionEnvironment
from millstream.ml.classification.logisticregression import OnlineLogisticRegression
from millstream.ml.clustering.kmeans import OnlineKMeans
from millstream.ml.common.window import CountTumblingWindows, EventTimeTumblingWindows
from millstream.ml.feature.onlinestandardscaler import OnlineStandardScaler
from millstream.ml.linalg import Vectors
from millstream.testing import rebatch
from tests.support.online import at_times
from tests.support.strategies import schedules

TRAIN = [((Vectors.dense(at % 5 - 2.0, at % 3), float(at % 5 > 2)), at * 100) for at in range(40)]
POINTS = [(vector, time) for (vector, _), time in TRAIN]
QUERIES = [(Vectors.dense(at - 10.0, 1.0), at * 200 + 50) for at in range(20)]
COEFFICIENT = Row(coefficient=Vectors.dense(0.0, 0.0), modelVersion=0)
CENTROIDS = Row(
    centroids=[Vectors.dense(-2.0, 0.0), Vectors.dense(2.0, 2.0)], weights=Vectors.dense(1.0, 1.0)
)


def regression() -> tuple[Any, Any]:
    learner = OnlineLogisticRegression(global_batch_size=7, reg=0.1)
    return learner.set_initial_model_data(COEFFICIENT), TRAIN


def groups() -> tuple[Any, Any]:
    learner = OnlineKMeans(global_batch_size=6, decay_factor=0.5, model_version_col="v")
    return learner.set_initial_model_data(CENTROIDS), POINTS


def counted() -> tuple[Any, Any]:
    return OnlineStandardScaler(windows=CountTumblingWindows.of(9)), POINTS


def timed() -> tuple[Any, Any]:
    windows = EventTimeTumblingWindows.of(Time.seconds(1))
    return OnlineStandardScaler(windows=windows, max_allowed_model_delay_ms=2000), POINTS


SCHEDULES = schedules(slots=(1, 4), parallelism=(2,), seeds=(0,))
WAYS = [regression, groups, counted, timed]


@pytest.mark.parametrize("way", WAYS[:3])
def test_one_channel(way: Any) -> None:
    """The stream that trains is the one that is predicted for."""

    def program(env: StreamExecutionEnvironment) -> Any:
        learner, rows = way()
        stream = env.from_collection([row for row, _ in rows])
        model = learner.fit(stream)
        return {"versions": model.get_model_data()[0], "found": model.transform(stream)}

    rebatch(program, compare="unordered", **SCHEDULES)


@pytest.mark.parametrize("way", WAYS)
def test_two_channels_in_the_order_of_watermarks(way: Any) -> None:
    def program(env: StreamExecutionEnvironment) -> Any:
        learner, rows = way()
        model = learner.fit(at_times(env, rows, "train"))
        return model.transform(at_times(env, QUERIES, "queries"))

    report = rebatch(
        program,
        channel_order="watermark",
        compare="unordered",
        **SCHEDULES,
    )
    assert report is not None
