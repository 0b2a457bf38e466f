"""The methods of data, whatever kind it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ClassVar

from millstream.ml.errors import ml_value_error
from millstream.ml.kernel.batch import Batch, Made

__all__ = ["Frame", "Step", "is_planning", "planning"]

_PLANNING: ContextVar[bool] = ContextVar("planning", default=False)


@contextmanager
def planning() -> Iterator[None]:
    """A time in which functions are pickled only to see whether they can be: nothing is learned."""
    token = _PLANNING.set(True)
    try:
        yield
    finally:
        _PLANNING.reset(token)


def is_planning() -> bool:
    """Whether it is such a time."""
    return _PLANNING.get()


@dataclass(frozen=True)
class Step:
    """A transformation of rows: what it makes of a batch, and the kinds of the columns it adds.

    ``drops``: it may leave rows out. A row's result depends on the row alone.
    """

    function: Callable[[Batch], Made]
    outputs: Mapping[str, str]
    drops: bool = False

    def applied(self, batch: Batch) -> Batch:
        """The batch with the columns that the step makes."""
        if not len(batch):
            return batch.with_columns({name: [] for name in self.outputs})
        made = self.function(batch)
        whole = batch.with_columns(made.columns)
        return whole if made.kept is None else whole.take(made.kept)


class Frame(ABC):
    """Data with named columns."""

    later: ClassVar[bool] = False
    """Whether the data are a query that runs when its result is needed."""

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The names of the columns."""

    @abstractmethod
    def kind(self, name: str) -> str:
        """The kind of a column; see `millstream.ml.kernel.kinds`."""

    @abstractmethod
    def batch(self, names: Sequence[str] | None = None) -> Batch:
        """All rows, in this process."""

    @property
    def dataframe(self) -> Any:
        """The DataFrame of Spark, None if the data are no such thing."""
        return None

    def head(self, rows: int, names: Sequence[str]) -> Batch:
        """The first rows, or more of them."""
        return self.batch(names)

    def reduce(self, partial: Callable[[Batch], Any], names: Sequence[str]) -> list[Any]:
        """Return the results of a function for each part of the data."""
        batch = self.batch(names)
        return [partial(batch)] if len(batch) else []

    @abstractmethod
    def mapped(self, step: Step) -> Frame:
        """The data with further columns."""

    @abstractmethod
    def only(self, names: Sequence[str]) -> Frame:
        """Some of the columns."""

    @abstractmethod
    def made(self, batch: Batch, kinds: Mapping[str, str]) -> Frame:
        """Other rows, as data of the same kind."""

    @abstractmethod
    def given(self, outputs: Sequence[str]) -> Any:
        """The data as the program gets it; ``outputs`` are the columns that a stage has made."""

    @abstractmethod
    def split(self, weights: Sequence[float], seed: int) -> list[Frame]:
        """The data in random parts; the weights add up to 1."""

    @abstractmethod
    def smallest(self, name: str, count: int) -> Frame:
        """The rows with the smallest numbers of a column, in their order."""

    def transformed(self, step: Step) -> Frame:
        """`mapped`, but columns that are there already are not overwritten."""
        both = [name for name in step.outputs if name in self.names]
        if both:
            message = f"the data have a column {both[0]!r} already"
            hint = "give the stage another output column"
            raise ml_value_error("ML_COLUMN_EXISTS", message, hint)
        return self.mapped(step)

    def require(self, names: Sequence[str]) -> None:
        """Refuse columns that are not there."""
        for name in names:
            if name not in self.names:
                hint = f"there are {', '.join(self.names) or 'no columns'}"
                raise ml_value_error("ML_UNKNOWN_COLUMN", f"the data have no column {name!r}", hint)
