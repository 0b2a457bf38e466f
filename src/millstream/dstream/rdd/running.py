"""The place where jobs run: the driver process, or what a context is given instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from millstream.common.errors import Location, MillstreamError, user_code_error

if TYPE_CHECKING:
    from millstream.dstream.rdd.rdd import RDD

__all__ = ["Action", "DriverRunner", "Runner", "named_errors"]

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class Action:
    """A function of the values of each partition, and what errors of it say."""

    function: Callable[[Iterator[Any]], Any]
    label: str
    place: Location | None

    def __call__(self, values: Iterator[Any]) -> Any:
        with named_errors(self.label, self.place):
            return self.function(values)


@contextmanager
def named_errors(label: str, place: Location | None) -> Iterator[None]:
    """Let an error of a function of the user name its line, or the one of the call."""
    try:
        yield
    except MillstreamError:
        raise
    except Exception as error:
        described = user_code_error(error, label)
        if described.location is None:
            described.location = place
        raise described from error


class Runner(Protocol):
    """The place where the partitions of RDDs are computed."""

    name: str
    growth: int
    """How many times as many partitions `take` computes in its next job."""

    def run(self, rdd: RDD[Any], action: Action, partitions: Sequence[int]) -> list[Any]:
        """Compute some partitions, and an action of each: the results."""

    def kept(self, rdd: RDD[T]) -> RDD[T]:
        """An RDD of the same values that stands on no other one."""

    def forget(self, rdd: RDD[Any]) -> None:
        """Forget what `persist` has kept."""


class DriverRunner:
    """Jobs in the driver process, one partition after another.

    Examples
    --------
    >>> from millstream.dstream.rdd import SparkContext
    >>> SparkContext("local[2]").runner.name
    'driver'
    """

    name = "driver"
    growth = 1

    def run(self, rdd: RDD[Any], action: Action, partitions: Sequence[int]) -> list[Any]:
        """Compute some partitions, and an action of each: the results."""
        return [action(rdd._values(number)) for number in partitions]

    def kept(self, rdd: RDD[T]) -> RDD[T]:
        """An RDD of the same values that stands on no other one."""
        made: RDD[Any] = rdd.context.from_partitions(rdd.glom().collect())
        made.partitioner = rdd.partitioner
        return made

    def forget(self, rdd: RDD[Any]) -> None:
        """Forget what `persist` has kept."""
        rdd._blocks.clear()
