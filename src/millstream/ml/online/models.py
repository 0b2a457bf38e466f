"""Models whose data are a stream of versions: what all online models share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

from millstream.common.typeinfo import Types
from millstream.datastream.data_stream import DataStream, DataStreamSink
from millstream.ml.api import Model
from millstream.ml.errors import ml_error
from millstream.ml.kernel.kinds import type_info_of
from millstream.ml.online.learners import Scorer, StreamLearner
from millstream.ml.online.predicting import MODELS, GroupOf, Predictor
from millstream.ml.online.records import Fields
from millstream.ml.online.saving import NewestSink, load_row, save_row
from millstream.ml.online.static import predicted_frame, predicted_stream
from millstream.ml.online.streams import Input, ModelData, input_of
from millstream.ml.online.training import CountTrainer, CountTrainerWithModel
from millstream.ml.stages.entry import is_array_like
from millstream.table.table import Table

__all__ = ["OnlineModel", "trained"]


def trained(source: Input, learner: StreamLearner, size: int, initial: Any, name: str) -> Any:
    """Return the versions that a stream trains in batches of so many records, as table or stream."""
    if initial is None:
        hint = "call set_initial_model_data(...) with the model data of a fitted model"
        raise ml_error("ML_NO_INITIAL_MODEL", f"{name} has no initial model", hint)
    data = ModelData.of(initial).before(source.stream)
    keyed = source.stream.key_by(_one_key, Types.INT())
    if isinstance(data, DataStream):
        trainer = CountTrainerWithModel(learner, size)
        both = keyed.connect(data.key_by(_one_key, Types.INT()))
        versions = both.process(trainer, learner.model_type)
    else:
        learner.start(data)  # A model that does not fit is told of here, not by the job.
        versions = keyed.process(CountTrainer(learner, size, data), learner.model_type)
    return source.given(versions.name(f"Train {name}"))


def _one_key(record: Any) -> int:
    return 0


class OnlineModel(Model[Any]):
    """A model whose data are the versions that an online algorithm makes.

    It predicts with the newest version. With model data that are one row it is an ordinary model, for
    data of all kinds.
    """

    _model_data: ModelData | None = None

    @abstractmethod
    def _scorer(self) -> Scorer:
        """Return how the model predicts."""

    @abstractmethod
    def _fields(self) -> Fields:
        """Return what the model reads of a record."""

    @abstractmethod
    def _outputs(self) -> dict[str, str]:
        """Return the fields that records get, and the kinds of their values."""

    def _max_delay_ms(self) -> int:
        return 0

    def set_model_data(self, *inputs: Any) -> Self:
        """Take a table or stream of versions, or a row: one version."""
        (given,) = inputs
        self._model_data = ModelData.of(given)
        row = self._model_data.row
        if row is not None:
            self._scorer().model(row, 0)
        return self

    def get_model_data(self) -> list[Any]:
        """Return the versions, as a table or stream; each is a row."""
        return [self._data().data]

    def _data(self) -> ModelData:
        if self._model_data is None:
            hint = "call set_model_data(...), or fit the estimator"
            raise ml_error("ML_NOT_FITTED", f"{type(self).__name__} has no model data", hint)
        return self._model_data

    def transform(self, *inputs: Any) -> Any:
        """Add the prediction to each record of a table or stream.

        A record is predicted with the newest version before it in the order of the job. One that comes
        before the first version waits.
        """
        (given,) = inputs
        data = self._data()
        if not isinstance(given, Table | DataStream):
            if data.row is None:
                input_of(given)  # An error that says what can be read.
            scorer, column = self._scorer(), self._fields().features_col
            outputs = self._outputs()
            return predicted_frame(given, column, scorer, data.row, outputs, list(outputs))
        source = input_of(given)
        source.require([self._fields().features_col])
        return source.given(self._predictions(source, data))

    def predict(self, *inputs: Any) -> Any:
        """Return the predictions: an array for arrays, for other data the same as `transform`."""
        (given,) = inputs
        if self._data().row is None or not is_array_like(given):
            return self.transform(given)
        scorer, column = self._scorer(), self._fields().features_col
        outputs = self._outputs()
        shown = list(outputs)[:1]
        return predicted_frame(given, column, scorer, self._data().row, outputs, shown)

    def _predictions(self, source: Input, data: ModelData) -> DataStream[Any]:
        names, scorer = list(self._outputs()), self._scorer()
        info = source.with_fields(names, [*map(type_info_of, self._outputs().values())])
        if data.row is not None:
            return predicted_stream(source.stream, scorer, data.row, names, info)
        function = Predictor(scorer, names, None, self._max_delay_ms())
        keyed = source.stream.key_by(GroupOf(self._fields()), Types.INT())
        found = keyed.connect(data.stream().broadcast(MODELS)).process(function, info)
        return found.name(f"Predict {type(self).__name__}")

    def save(self, path: str) -> None:
        """Write the parameters, and the model data if they are one row.

        Versions that a stream makes are not written, as in flink-ml: `save_newest` does that.
        """
        if self._model_data is None or self._model_data.row is None:
            super().save(path)
        else:
            save_row(self, self._model_data.row, path)

    def save_newest(self, path: str) -> DataStreamSink:
        """Let the job write each version to a folder, so that it has the newest one.

        The folder must be one that all tasks reach. `load` reads it at any time.
        """
        stream = self._data().stream()
        return stream.add_sink(NewestSink(self, path)).name(f"Save {type(self).__name__}")

    @classmethod
    def load(cls, *args: Any) -> Any:
        """Read a model that `save` or `save_newest` wrote: ``load(path)`` or ``load(t_env, path)``."""
        model = super().load(*args)
        row = load_row(str(args[-1]))
        return model if row is None else model.set_model_data(row)

    def clone(self) -> Self:
        other = super().clone()
        other._model_data = self._model_data
        return other
