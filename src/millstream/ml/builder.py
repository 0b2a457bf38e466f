"""Pipelines: stages one after another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from millstream.ml.api import AlgoOperator, Estimator, Model, Stage
from millstream.ml.errors import ml_error, ml_type_error, ml_value_error
from millstream.ml.stages.base import ColumnStage, split_arguments
from millstream.ml.stages.entry import is_array_like
from millstream.ml.util.sklearn_tags import tags_of

__all__ = ["Pipeline", "PipelineModel"]

_Steps = Sequence[Any]


class _Stages(Stage[Any]):
    """Stages with names: what pipelines and their models share."""

    _stages: list[Stage[Any]]
    _names: list[str]
    _wired: bool

    def __init__(self, stages: _Steps = (), **params: Any) -> None:
        self._names, self._stages = _named_stages(params.pop("steps", None) or stages)
        self._wired = False
        self.set_params(**params)

    @property
    def stages(self) -> list[Stage[Any]]:
        """The stages in their order."""
        return list(self._stages)

    @property
    def steps(self) -> list[tuple[str, Stage[Any]]]:
        """The stages with their names, as in scikit-learn."""
        return list(zip(self._names, self._stages, strict=True))

    @property
    def named_steps(self) -> dict[str, Stage[Any]]:
        """The stages by their names."""
        return dict(self.steps)

    def __len__(self) -> int:
        return len(self._stages)

    def __iter__(self) -> Iterator[Stage[Any]]:
        return iter(self._stages)

    def __getitem__(self, key: int | str) -> Stage[Any]:
        return self.named_steps[key] if isinstance(key, str) else self._stages[key]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        found: dict[str, Any] = {"steps": self.steps}
        if deep:
            for name, stage in self.steps:
                found[name] = stage
                inner = stage.get_params()
                found |= {f"{name}__{key}": value for key, value in inner.items()}
        return found

    def set_params(self, **params: Any) -> Self:
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if key == "steps":
                self._names, self._stages = _named_stages(value)
            elif name not in self._names:
                hint = f"it has {', '.join(self._names)}"
                message = f"the pipeline has no stage {name!r}"
                raise ml_value_error("ML_UNKNOWN_PARAM", message, hint)
            elif rest:
                self._stages[self._names.index(name)].set_params(**{rest: value})
            else:
                self._stages[self._names.index(name)] = value
        return self

    def _take_params(self, source: Stage[Any]) -> None:
        """Pipelines have no parameters of their own."""

    def clone(self) -> Self:
        pairs = [(name, stage.clone()) for name, stage in self.steps]
        found = type(self)(pairs)
        found._wired = self._wired
        return found

    def __repr__(self) -> str:
        return f"{type(self).__name__}([{', '.join(map(repr, self._stages))}])"

    def save(self, path: str) -> None:
        from millstream.ml.util.read_write_utils import save_pipeline

        save_pipeline(self, self._stages, path)

    @classmethod
    def load(cls, *args: Any) -> Any:
        from millstream.ml.util.read_write_utils import load_metadata, load_pipeline

        path = str(args[-1])
        metadata = load_metadata(path)
        if metadata["class_name"] != cls.__name__:
            message = f"{path} has a {metadata['class_name']}, no {cls.__name__}"
            raise ml_error("ML_SAVE_FORMAT", message)
        stages = load_pipeline(args[0] if len(args) > 1 else None, path)
        found = cls(list(zip(metadata["names"], stages, strict=True)))
        found._wired = metadata["wired"]
        return found


def _named_stages(given: _Steps) -> tuple[list[str], list[Stage[Any]]]:
    """Names and stages; a stage without a name has that of its class in small letters."""
    names: list[str] = []
    stages: list[Stage[Any]] = []
    for each in given:
        name, stage = each if isinstance(each, tuple) else (type(each).__name__.lower(), each)
        if not isinstance(stage, Stage):
            message = f"The stage {stage!r:.60} must be a stage, got {type(stage).__name__}."
            raise ml_type_error("ML_NOT_A_STAGE", message, "give estimators and transformers")
        own, count = name, 1
        while name in names:
            count += 1
            name = f"{own}-{count}"
        names.append(name)
        stages.append(stage)
    return names, stages


class PipelineModel(_Stages, Model[Any]):
    """Models and transformers that are applied one after another.

    Examples
    --------
    >>> from millstream.ml.feature.standardscaler import StandardScaler
    >>> PipelineModel([StandardScaler().fit([[1.0], [3.0]])]).transform([[2.0]]).round(3)
    array([[1.414]])
    """

    def transform(self, *inputs: Any) -> Any:
        data, _, _ = split_arguments(inputs, None)
        return self._through(data, self._stages)

    def _through(self, data: Sequence[Any], stages: Sequence[Stage[Any]]) -> Any:
        """Return what stages make of data, one after another."""
        for stage in stages:
            if not isinstance(stage, AlgoOperator):
                message = f"The stage {stage!r} must be an AlgoOperator."
                raise ml_type_error("ML_NOT_A_STAGE", message, "fit the pipeline first")
        if all(isinstance(each, ColumnStage) for each in stages) and stages and len(data) == 1:
            return _applied(data, stages)
        found: Any = list(data)
        for stage in stages:
            found = _listed(stage.transform(*found))
        bare = bool(data) and not _tables(data) and len(found) == 1
        return found[0] if bare else found

    def predict(self, *inputs: Any) -> Any:
        """The predictions of the last stage."""
        data, _, _ = split_arguments(inputs, None)
        if not is_array_like(data[0]):
            return self.transform(*data)
        *before, last = self._stages
        frame = _frame_after(data, before, last)
        return last.predict(frame) if before else last.predict(*data)

    def score(self, *inputs: Any, y: Any = None) -> float:
        """How good the predictions of the last stage are: see there."""
        found: float = self._last_with(inputs, y, "score")
        return found

    def evaluate(self, *inputs: Any, y: Any = None) -> Any:
        """Labels and predictions of the last stage: see there."""
        return self._last_with(inputs, y, "evaluate")

    def _last_with(self, inputs: Sequence[Any], y: Any, method: str) -> Any:
        data, labels, _ = split_arguments(inputs, y)
        *before, last = self._stages
        if not hasattr(last, method):
            message = f"the last stage, {type(last).__name__}, has no {method}(...)"
            raise ml_error("ML_NOT_A_STAGE", message, "end the pipeline with a predictor")
        if not before:
            return getattr(last, method)(*data, y=labels)
        frame = _frame_after(data, before, last, labels)
        return getattr(last, method)(frame)


def _listed(found: Any) -> list[Any]:
    """The result of a stage, as the inputs of the next one."""
    return list(found) if isinstance(found, (list, tuple)) else [found]


def _tables(data: Sequence[Any]) -> bool:
    return type(data[0]).__module__.startswith("millstream.table")


def _frame_after(
    data: Sequence[Any], stages: Sequence[Any], last: Any = None, labels: Any = None
) -> Any:
    """The frame that stages make of data; labels go into the column that the last one reads."""
    from millstream.ml.stages.entry import frame_of

    first = (stages or [last])[0]
    label = last.label_column() if isinstance(last, ColumnStage) else None
    frame = frame_of(data[0], first.feature_columns(), labels, label, first.reads_numbers)
    for stage in stages:
        frame = stage.applied(frame)
    return frame


def _applied(data: Sequence[Any], stages: Sequence[Any]) -> Any:
    from millstream.ml.stages.base import given_outputs

    before = stages[:-1]
    last = stages[-1]
    if not all(hasattr(each, "applied") for each in before):
        found: Any = list(data)
        for stage in stages:
            found = _listed(stage.transform(*found))
        return found if _tables(data) else found[0]
    if not hasattr(last, "applied"):
        return last.transform(_frame_after(data, before, last)) if before else last.transform(*data)
    frame = _frame_after(data, stages)
    return given_outputs(frame, last._shown(frame), data)


class Pipeline(_Stages, Estimator[Any, PipelineModel]):
    """Stages that are fitted one after another, each on what those before make.

    Made of stages, of pairs of names and stages, or by ``a | b``, `chain_transformer` and
    `chain_predictor`. In a chain, and wherever arrays are given, a stage whose input column was not set
    reads what the stage before it makes.

    Examples
    --------
    >>> from millstream.ml.feature.standardscaler import StandardScaler
    >>> chain = StandardScaler(with_mean=True) | StandardScaler().set_mean(5.0).set_std(2.0)
    >>> chain.fit([[1.0], [2.0], [3.0]]).transform([[1.0], [3.0]])
    array([[3.],
           [7.]])
    """

    @staticmethod
    def chain(first: Stage[Any], second: Stage[Any]) -> Pipeline:
        """The stages of two pipelines, or stages, where each reads what the one before makes."""
        parts = [each.stages if isinstance(each, Pipeline) else [each] for each in (first, second)]
        found = Pipeline([*parts[0], *parts[1]])
        found._wired = True
        return found

    def __sklearn_tags__(self) -> Any:
        last: Any = self._stages[-1] if self._stages else None
        return last.__sklearn_tags__() if hasattr(last, "__sklearn_tags__") else tags_of(None)

    def fit(self, *inputs: Any, y: Any = None) -> PipelineModel:
        """Fit the estimators in their order and return a pipeline of their models."""
        data, labels, params = split_arguments(inputs, y)
        pipeline: Pipeline = self if params is None else self._given(params)
        stages = _wired_stages(pipeline, data)
        if all(isinstance(each, ColumnStage) for each in stages) and stages and len(data) == 1:
            models = _fitted_frames(stages, data, labels)
        else:
            models = _fitted(stages, data)
        found = PipelineModel(list(zip(self._names, models, strict=True)))
        found._wired = pipeline._wired
        self._fitted = found
        return found

    def _given(self, params: Mapping[Any, Any] | None) -> Self:
        """The pipeline with other parameters: by name, or for all stages that have them."""
        other = self.clone()
        for key, value in (params or {}).items():
            if isinstance(key, str):
                other.set_params(**{key: value})
                continue
            stages = [each for each in other._stages if each.get_param(key.name) is not None]
            if not stages:
                message = f"no stage of the pipeline has a parameter {key.name!r}"
                raise ml_value_error("ML_UNKNOWN_PARAM", message)
            for stage in stages:
                stage.set(key, value)
        return other

    @property
    def model(self) -> PipelineModel:
        """The model that was fitted last."""
        found: PipelineModel | None = vars(self).get("_fitted")
        if found is None:
            message = "the pipeline has not been fitted"
            raise ml_error("ML_NOT_FITTED", message, "call fit(...) first")
        return found

    def transform(self, *inputs: Any) -> Any:
        """Apply the model that was fitted last."""
        return self.model.transform(*inputs)

    def predict(self, *inputs: Any) -> Any:
        """The predictions of the model that was fitted last."""
        return self.model.predict(*inputs)

    def score(self, *inputs: Any, y: Any = None) -> float:
        """How good the predictions of the last stage are."""
        return self.model.score(*inputs, y=y)

    def evaluate(self, *inputs: Any, y: Any = None) -> Any:
        """Labels and predictions of the last stage."""
        return self.model.evaluate(*inputs, y=y)

    def fit_transform(self, *inputs: Any, y: Any = None) -> Any:
        """Fit the pipeline and apply it to the same data."""
        data, _, _ = split_arguments(inputs, y)
        return self.fit(*inputs, y=y).transform(*data)

    def fit_predict(self, *inputs: Any, y: Any = None) -> Any:
        """Fit the pipeline and predict for the same data."""
        data, _, _ = split_arguments(inputs, y)
        return self.fit(*inputs, y=y).predict(*data)


def _fitted_frames(stages: Sequence[Any], data: Sequence[Any], labels: Any) -> list[Any]:
    """Models of stages, of which each sees the columns that those before it have made."""
    label = next((each.label_column() for each in reversed(stages) if each.label_column()), None)
    from millstream.ml.stages.entry import frame_of

    first = stages[0]
    frame: Any = frame_of(data[0], first.feature_columns(), labels, label, first.reads_numbers)
    last = max((at for at, each in enumerate(stages) if isinstance(each, Estimator)), default=-1)
    models = []
    for at, stage in enumerate(stages):
        model = stage.fit(frame) if isinstance(stage, Estimator) else stage
        models.append(model)
        if at < last:
            frame = model.applied(frame)
    return models


def _fitted(stages: Sequence[Any], data: Sequence[Any]) -> list[Any]:
    last = max((at for at, each in enumerate(stages) if isinstance(each, Estimator)), default=-1)
    found: Any = list(data)
    models = []
    for at, stage in enumerate(stages):
        model = stage.fit(*found) if isinstance(stage, Estimator) else stage
        models.append(model)
        if at < last:
            found = _listed(model.transform(*found))
    return models


def _wired_stages(pipeline: _Stages, data: Sequence[Any]) -> list[Any]:
    """The stages as they run: columns that nobody has named lead from one to the next."""
    stages = pipeline._stages
    columns = all(isinstance(each, ColumnStage) for each in stages)
    if not columns or not (pipeline._wired or (data and is_array_like(data[0]))):
        return stages
    used: set[str] = set()
    found: list[Any] = []
    for stage in stages:
        wired = stage.clone()
        source = wired.get_param("input_col") or wired.get_param("features_col")
        if found and source is not None and not stage.is_set(source.name):
            made = found[-1].output_columns()
            if len(made) == 1:
                wired.get_param_map()[source] = made[0]
        target = wired.get_param("output_col")
        if target is not None and not stage.is_set("output_col"):
            name, count = wired.get(target), 1
            while wired.get(target) in used:
                count += 1
                wired.get_param_map()[target] = f"{name}_{count}"
        used.update(wired.output_columns())
        found.append(wired)
    return found
