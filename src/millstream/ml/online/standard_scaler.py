"""A standard scaler that learns from a stream."""

from __future__ import annotations

from typing import Any

from millstream.common.errors import user_location
from millstream.ml.api import Estimator
from millstream.ml.common.param import (
    HasInputCol,
    HasMaxAllowedModelDelayMs,
    HasModelVersionCol,
    HasOutputCol,
    HasWindows,
)
from millstream.ml.common.window import EventTimeSessionWindows, EventTimeTumblingWindows
from millstream.ml.online.learners import MomentsLearner, MomentsScorer, Scorer
from millstream.ml.online.models import OnlineModel
from millstream.ml.online.records import Fields
from millstream.ml.online.streams import input_of
from millstream.ml.online.training import WindowTrainer
from millstream.ml.online.windows import windowed
from millstream.ml.param import BooleanParam

__all__ = ["OnlineStandardScaler", "OnlineStandardScalerModel"]


class _ModelParams(HasInputCol, HasOutputCol, HasModelVersionCol, HasMaxAllowedModelDelayMs):
    WITH_MEAN = BooleanParam("with_mean", "Whether centers the data with mean.", False)
    WITH_STD = BooleanParam("with_std", "Whether scales the data with standard deviation.", True)


class OnlineStandardScalerModel(_ModelParams, OnlineModel):
    """A scaler that uses the newest means and deviations.

    Adds the scaled vector, and the number of the version if ``model_version_col`` is not None. A record
    waits for a version that is at most ``max_allowed_model_delay_ms`` older than its event time.

    Examples
    --------
    >>> from millstream.common import Row
    >>> from millstream.ml.linalg import Vectors
    >>> model = OnlineStandardScalerModel(with_mean=True, model_version_col=None)
    >>> data = Row(mean=Vectors.dense(1.0), std=Vectors.dense(2.0), version=0, timestamp=0)
    >>> model.set_model_data(data).transform([[5.0]]).tolist()
    [[2.0]]
    """

    def _scorer(self) -> Scorer:
        with_version = self.model_version_col is not None
        return MomentsScorer(self._fields(), self.with_mean, self.with_std, with_version)

    def _fields(self) -> Fields:
        return Fields(self.input_col, location=user_location())

    def _outputs(self) -> dict[str, str]:
        version = self.model_version_col
        return {self.output_col: "vector", **({version: "long"} if version else {})}

    def _max_delay_ms(self) -> int:
        return int(self.max_allowed_model_delay_ms)


class OnlineStandardScaler(_ModelParams, HasWindows, Estimator[Any, OnlineStandardScalerModel]):
    """Means and deviations of all that has come: each window of ``windows`` makes a version, from 0.

    The window ``GlobalWindows``, the default, ends with the input, so it is for input that ends. The
    last records of `CountTumblingWindows` wait until their window is full.

    Examples
    --------
    >>> from millstream.datastream import StreamExecutionEnvironment
    >>> from millstream.ml.common.window import CountTumblingWindows
    >>> from millstream.testing import in_memory
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> points = env.from_collection([[1.0], [3.0], [5.0], [7.0]])
    >>> scaler = OnlineStandardScaler().set_windows(CountTumblingWindows.of(2))
    >>> (versions,) = scaler.fit(points).get_model_data()
    >>> with in_memory():
    ...     print([(row.mean, row.version) for row in versions.execute_and_collect()])
    [(DenseVector([2.0]), 0), (DenseVector([4.0]), 1)]
    """

    def fit(self, *inputs: Any) -> OnlineStandardScalerModel:
        """Return the model whose versions a table or stream trains."""
        (given,) = inputs
        source = input_of(given)
        fields = Fields(self.input_col, location=user_location())
        source.require(fields.names)
        learner = MomentsLearner(fields)
        windows = self.windows
        with_time = isinstance(windows, EventTimeTumblingWindows | EventTimeSessionWindows)
        trainer = WindowTrainer(learner, with_time)
        versions = windowed(source.stream, windows).process(trainer, learner.model_type)
        named = versions.name(f"Train {type(self).__name__}")
        model = OnlineStandardScalerModel().set_model_data(source.given(named))
        model._take_params(self)
        return model
