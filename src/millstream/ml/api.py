"""Stages: what pipelines are made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from millstream.ml.errors import ml_error, ml_value_error
from millstream.ml.param import Param, WithParams

if TYPE_CHECKING:
    from millstream.ml.builder import Pipeline

__all__ = ["AlgoOperator", "Estimator", "Model", "Stage", "Transformer"]

T = TypeVar("T")
E = TypeVar("E")
M = TypeVar("M")


class Stage(WithParams[T], ABC):
    """A step of a pipeline: it has parameters, and can be saved.

    Parameters are given by name to the constructor, set by ``set_x`` or by `set_params`, and read by
    ``get_x``, as an attribute, or by `get_params`.

    Examples
    --------
    >>> from millstream.ml.feature.standardscaler import StandardScaler
    >>> scaler = StandardScaler(with_mean=True).set_output_col("scaled")
    >>> scaler.get_params()["output_col"], scaler.clone().with_mean
    ('scaled', True)
    """

    def __init__(self, **params: Any) -> None:
        self.set_params(**params)

    # -- parameters ------------------------------------------------------------------------------

    def get_param_map(self) -> dict[Param[Any], Any]:
        found: dict[Param[Any], Any] | None = vars(self).get("_param_map")
        if found is None:
            found = {each: each.default_value for each in self._declared()}
            self._param_map = found
        return found

    @classmethod
    def _declared(cls) -> list[Param[Any]]:
        """The parameters of the class; one of a subclass takes the place of one with its name."""
        found: dict[str, Param[Any]] = {}
        for base in reversed(cls.__mro__):
            for value in vars(base).values():
                if isinstance(value, Param):
                    found[value.name] = value
        return list(found.values())

    def set(self, param: Param[Any], value: Any) -> Self:
        super().set(param, value)
        vars(self).setdefault("_chosen", set()).add(param.name)
        return self

    def is_set(self, name: str) -> bool:
        """Whether the program has set a parameter."""
        return name in vars(self).get("_chosen", ())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The values of all parameters by name, as in scikit-learn."""
        return {param.name: value for param, value in self.get_param_map().items()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, as in scikit-learn."""
        for name, value in params.items():
            self.set(self._known(name), value)
        return self

    def _known(self, name: str) -> Param[Any]:
        param = self.get_param(name)
        if param is None:
            known = ", ".join(sorted(each.name for each in self.get_param_map()))
            message = f"{type(self).__name__} has no parameter {name!r}"
            raise ml_value_error("ML_UNKNOWN_PARAM", message, f"it has {known or 'none'}")
        return param

    def _given(self, params: Mapping[Any, Any] | None) -> Self:
        """The stage with other values of some parameters, for one call."""
        if not params:
            return self
        other = self.clone()
        for key, value in params.items():
            other.set(other._known(getattr(key, "name", key)), value)
        return other

    def clone(self) -> Self:
        """A stage with the same parameters; an estimator that has been fitted is not fitted there."""
        other = type(self)()
        other._take_params(self)
        return other

    def __sklearn_clone__(self) -> Self:
        return self.clone()

    def _take_params(self, source: Stage[Any]) -> None:
        """Take the values of the parameters that both have."""
        own = self.get_param_map()
        for param, value in source.get_param_map().items():
            if param in own:
                own[param] = value
        chosen = vars(self).setdefault("_chosen", set())
        chosen |= {each.name for each in own} & vars(source).get("_chosen", set())

    def __repr__(self) -> str:
        defaults = {each.name: each.default_value for each in self._declared()}
        shown = (
            f"{name}={value!r}"
            for name, value in self.get_params(deep=False).items()
            if name not in defaults or not (value is defaults[name] or value == defaults[name])
        )
        return f"{type(self).__name__}({', '.join(shown)})"

    # -- pipelines -------------------------------------------------------------------------------

    def __or__(self, other: Stage[Any]) -> Pipeline:
        """A pipeline of two stages: the second reads what the first makes."""
        if not isinstance(other, Stage):
            return NotImplemented
        from millstream.ml.builder import Pipeline

        return Pipeline.chain(self, other)

    def chain_transformer(self, other: Stage[Any]) -> Pipeline:
        """A pipeline that goes on with a transformer, as in FlinkML."""
        return self | other

    def chain_predictor(self, other: Stage[Any]) -> Pipeline:
        """A pipeline that ends with a predictor, as in FlinkML."""
        return self | other

    # -- saving ----------------------------------------------------------------------------------

    def save(self, path: str) -> None:
        """Write the stage to a new folder; it is there as a whole or not at all."""
        from millstream.ml.util.read_write_utils import save_metadata

        save_metadata(self, path)

    @classmethod
    def load(cls, *args: Any) -> Any:
        """Read a stage that `save` wrote: ``load(path)``, or ``load(t_env, path)`` as in flink-ml."""
        from millstream.ml.util.read_write_utils import load_as

        return load_as(cls, str(args[-1]))


class AlgoOperator(Stage[T], ABC):
    """A stage that makes data of data."""

    @abstractmethod
    def transform(self, *inputs: Any) -> Any:
        """Apply the operator. Tables give a list of tables, other data are returned as they are."""


class Transformer(AlgoOperator[T], ABC):
    """An operator that makes a row of each row."""


class Model(Transformer[T], ABC):
    """A transformer with model data: what an estimator has learned."""

    def set_model_data(self, *inputs: Any) -> Self:
        """Take the model data of tables."""
        raise ml_error("ML_MODEL_DATA", f"{type(self).__name__} takes no model data")

    def get_model_data(self) -> list[Any]:
        """The model data as tables."""
        raise ml_error("ML_MODEL_DATA", f"{type(self).__name__} has no model data")


class Estimator(Stage[E], Generic[E, M]):
    """A stage that learns a model from data."""

    @abstractmethod
    def fit(self, *inputs: Any) -> Any:
        """Learn from data, and return the model."""
