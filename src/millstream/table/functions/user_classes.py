"""Base classes of the functions that users write; `millstream.table.udf` has them for programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "FunctionContext",
    "ImperativeAggregateFunction",
    "ScalarFunction",
    "TableAggregateFunction",
    "TableFunction",
    "UserDefinedFunction",
]


class FunctionContext:
    """The surroundings of a function, given to its ``open``."""

    def __init__(
        self,
        base_metric_group: Any = None,
        job_parameters: Mapping[str, str] | None = None,
        task_name: str = "table",
        parallelism: int = 1,
        index: int = 0,
    ) -> None:
        self._metrics = base_metric_group
        self._job_parameters = dict(job_parameters or {})
        self._task_name = task_name
        self._parallelism = parallelism
        self._index = index

    def get_metric_group(self) -> Any:
        """Return the group in which the function makes its metrics."""
        if self._metrics is None:
            raise RuntimeError("there are no metrics outside of a job")
        return self._metrics

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """Return a global job parameter.

        Examples
        --------
        >>> context = FunctionContext(job_parameters={"limit": "5"})
        >>> context.get_job_parameter("limit", "1")
        '5'
        """
        return self._job_parameters.get(key, default_value)

    def get_task_name(self) -> str:
        """Return the name of the task."""
        return self._task_name

    def get_task_name_with_subtasks(self) -> str:
        """Return the name of the task with its number, such as ``table (1/1)``."""
        return f"{self._task_name} ({self._index + 1}/{self._parallelism})"

    def get_number_of_parallel_subtasks(self) -> int:
        """Return the number of tasks."""
        return self._parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        """Return the highest number of tasks."""
        return self._parallelism

    def get_index_of_this_subtask(self) -> int:
        """Return the number of this task, from 0."""
        return self._index

    def get_attempt_number(self) -> int:
        """Return how often this task has failed."""
        return 0


class UserDefinedFunction:
    """A function that a user has written."""

    def open(self, function_context: FunctionContext) -> None:
        """Prepare: it is called once in each process, before the first call."""

    def close(self) -> None:
        """Tidy up: it is called once behind the last call."""

    def is_deterministic(self) -> bool:
        """Whether equal arguments always give equal results."""
        return True


class ScalarFunction(UserDefinedFunction, ABC):
    """A function of the values of a row that gives one value."""

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """Return the value of one row."""


class AsyncScalarFunction(UserDefinedFunction, ABC):
    """A scalar function whose ``eval`` waits: the rows of a batch wait together."""

    @abstractmethod
    async def eval(self, *args: Any) -> Any:
        """Return the value of one row."""


class TableFunction(UserDefinedFunction, ABC):
    """A function that makes any number of rows of a row."""

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """Return or yield rows: tuples or `Row`; of one column the values alone do."""


class ImperativeAggregateFunction(UserDefinedFunction, ABC):
    """A function of the rows of a group, with an accumulator that is changed row by row."""

    @abstractmethod
    def create_accumulator(self) -> Any:
        """Return the accumulator of a group without rows."""

    @abstractmethod
    def accumulate(self, accumulator: Any, *args: Any) -> None:
        """Add a row."""

    def retract(self, accumulator: Any, *args: Any) -> None:
        """Take a row back that was added before; needed where rows are taken back."""
        raise RuntimeError("Method retract is not implemented")

    def merge(self, accumulator: Any, accumulators: Iterable[Any]) -> None:
        """Add the rows of other accumulators; needed for windows that merge."""
        raise RuntimeError("Method merge is not implemented")

    def get_result_type(self) -> Any:
        """Return the type of the result, if `udaf` was given none."""
        raise RuntimeError("Method get_result_type is not implemented")

    def get_accumulator_type(self) -> Any:
        """Return the type of the accumulator; Millstream does not need it."""
        raise RuntimeError("Method get_accumulator_type is not implemented")


class AggregateFunction(ImperativeAggregateFunction):
    """An aggregate with one value for each group."""

    @abstractmethod
    def get_value(self, accumulator: Any) -> Any:
        """Return the value of a group."""


class TableAggregateFunction(ImperativeAggregateFunction):
    """An aggregate with any number of rows for each group."""

    @abstractmethod
    def emit_value(self, accumulator: Any) -> Iterable[Any]:
        """Return or yield the rows of a group."""
