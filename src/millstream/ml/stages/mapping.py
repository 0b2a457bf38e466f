"""Stages that make columns of one kind, row by row: most transformers and models of features."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from millstream.ml.frames.base import Frame, Step, is_planning
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.stages.base import ColumnModel, ColumnStage, ColumnTransformer

__all__ = ["FeatureModel", "FeatureTransformer", "Work"]

Work = Callable[[Batch], Made]


class _Mapping(ColumnStage):
    """The kind of the columns, and the work on a batch."""

    KIND: ClassVar[str] = "vector"

    @abstractmethod
    def work(self) -> Work:
        """The work on each batch. It is pickled, so that it should hold no more than it needs."""

    def kinds(self, frame: Frame) -> dict[str, str]:
        """The columns that are added to some data, and their kinds."""
        return dict.fromkeys(self.output_columns(), self.KIND)

    def drops(self) -> bool:
        """Whether rows may be left out."""
        param = self.get_param("handle_invalid")
        return param is not None and self.get(param) == "skip"


class FeatureTransformer(_Mapping, ColumnTransformer):
    """A transformer of features: it learns nothing."""

    def step(self, frame: Frame) -> Step:
        return Step(self.work(), self.kinds(frame), self.drops())


class FeatureModel(_Mapping, ColumnModel):
    """A model of features. Nothing is learned before its work is needed."""

    def step(self, frame: Frame) -> Step:
        work = _LaterWork(self) if self.pending else self.work()
        return Step(work, self.kinds(frame), self.drops())


class _LaterWork:
    """The work of a model that learns when the first batch comes, or when the work is pickled."""

    def __init__(self, model: FeatureModel) -> None:
        self._model = model
        self._work: Work | None = None

    @property
    def work(self) -> Work:
        if self._work is None:
            self._work = self._model.work()
        return self._work

    def __call__(self, batch: Batch) -> Made:
        return self.work(batch)

    def __reduce__(self) -> tuple[Any, ...]:
        return _same, (None if is_planning() else self.work,)


def _same(work: Work | None) -> Work | None:
    return work
