"""Calls of services and databases for the records of a stream, many at a time."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, overload

from millstream.common.arguments import positive_int
from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.time import positive_millis
from millstream.common.type_aliases import DurationLike
from millstream.common.type_variables import IN, OUT
from millstream.common.typeinfo import TypeInformation, infer_return_type
from millstream.common.typesystem.certainty import inferred
from millstream.datastream.building.stream_types import declared_type
from millstream.datastream.functions import Function
from millstream.datastream.functions.asynchronous import (
    NO_RETRY_STRATEGY,
    AsyncFunction,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
)
from millstream.datastream.streams.data_stream import DataStream
from millstream.plan.graph import StatelessNode

if TYPE_CHECKING:
    from millstream.common.type_aliases import TypeLike
    from millstream.common.type_variables import V1, V

    AsyncLike: TypeAlias = AsyncFunction[IN, OUT] | Callable[[IN], OUT]

    class _Wait(Protocol):
        """The methods of `AsyncDataStream` without retries, as a type checker sees them."""

        @overload
        def __call__(
            self,
            data_stream: DataStream[V1],
            async_function: Callable[[V1], Awaitable[V]],
            timeout: DurationLike,
            capacity: int = 100,
        ) -> DataStream[V]: ...

        @overload
        def __call__(
            self,
            data_stream: DataStream[V1],
            async_function: AsyncLike[V1, V],
            timeout: DurationLike,
            capacity: int = 100,
        ) -> DataStream[V]: ...

        @overload
        def __call__(
            self,
            data_stream: DataStream[V1],
            async_function: AsyncLike[V1, object],
            timeout: DurationLike,
            capacity: int = 100,
            output_type: TypeLike[V] | None = None,
        ) -> DataStream[V]: ...

    class _WaitWithRetry(Protocol):
        """The methods of `AsyncDataStream` with retries, as a type checker sees them."""

        @overload
        def __call__(
            self,
            data_stream: DataStream[V1],
            async_function: Callable[[V1], Awaitable[V]],
            timeout: DurationLike,
            async_retry_strategy: AsyncRetryStrategy,
            capacity: int = 100,
        ) -> DataStream[V]: ...

        @overload
        def __call__(
            self,
            data_stream: DataStream[V1],
            async_function: AsyncLike[V1, V],
            timeout: DurationLike,
            async_retry_strategy: AsyncRetryStrategy,
            capacity: int = 100,
        ) -> DataStream[V]: ...

        @overload
        def __call__(
            self,
            data_stream: DataStream[V1],
            async_function: AsyncLike[V1, object],
            timeout: DurationLike,
            async_retry_strategy: AsyncRetryStrategy,
            capacity: int = 100,
            output_type: TypeLike[V] | None = None,
        ) -> DataStream[V]: ...


__all__ = ["AsyncDataStream"]

_WANTED = "an AsyncFunction or a function of (value)"


def _wait_type(function: Any) -> _Wait:
    return function  # type: ignore[no-any-return]


def _retry_type(function: Any) -> _WaitWithRetry:
    return function  # type: ignore[no-any-return]


class AsyncDataStream:
    """Applies functions that wait for something outside the job.

    The records of a batch wait at the same time, at most ``capacity`` of them. Results take the place
    of their record in the order of the stream, regardless of which came first: ``ordered_wait`` and
    ``unordered_wait`` therefore give the same stream, and exist for Flink's programs.

    Examples
    --------
    >>> import asyncio
    >>> from millstream.testing import run_local
    >>> async def price(item: str) -> tuple[str, int]:
    ...     await asyncio.sleep(0)  # ask a service
    ...     return item, len(item)
    >>> def program(env):
    ...     items = env.from_collection(["tea", "coffee"])
    ...     return AsyncDataStream.ordered_wait(items, price, timeout="5 s", capacity=20)
    >>> run_local(program).values()
    [('tea', 3), ('coffee', 6)]
    """

    @staticmethod
    @_wait_type
    def unordered_wait(
        data_stream: DataStream,
        async_function: AsyncLike,
        timeout: DurationLike,
        capacity: int = 100,
        output_type: TypeLike | None = None,
    ) -> DataStream:
        """Replace each record with the results of an asynchronous function.

        Parameters
        ----------
        data_stream
            The stream.
        async_function
            An `AsyncFunction`, which gives any number of results; or a plain function, ``async def``
            or not, which gives one. Functions that are not ``async def`` run in threads.
        timeout
            How long a record may take, with all its attempts, from the start of the first one.
        capacity
            How many records may be on their way at the same time, in each task.
        output_type
            The type of one result, see `DataStream.map`. By default the return annotation says it.
        """
        return _wait(
            data_stream, async_function, timeout, NO_RETRY_STRATEGY, capacity, output_type, False
        )

    @staticmethod
    @_retry_type
    def unordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncLike,
        timeout: DurationLike,
        async_retry_strategy: AsyncRetryStrategy,
        capacity: int = 100,
        output_type: TypeLike | None = None,
    ) -> DataStream:
        """Do what `unordered_wait` does, and try again as a strategy says."""
        return _wait(
            data_stream, async_function, timeout, async_retry_strategy, capacity, output_type, False
        )

    @staticmethod
    @_wait_type
    def ordered_wait(
        data_stream: DataStream,
        async_function: AsyncLike,
        timeout: DurationLike,
        capacity: int = 100,
        output_type: TypeLike | None = None,
    ) -> DataStream:
        """Do what `unordered_wait` does: here that keeps the order too."""
        return _wait(
            data_stream, async_function, timeout, NO_RETRY_STRATEGY, capacity, output_type, True
        )

    @staticmethod
    @_retry_type
    def ordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncLike,
        timeout: DurationLike,
        async_retry_strategy: AsyncRetryStrategy,
        capacity: int = 100,
        output_type: TypeLike | None = None,
    ) -> DataStream:
        """Do what `unordered_wait_with_retry` does: here that keeps the order too."""
        return _wait(
            data_stream, async_function, timeout, async_retry_strategy, capacity, output_type, True
        )


def _wait(
    data_stream: DataStream,
    async_function: Any,
    timeout: DurationLike,
    retry: AsyncRetryStrategy,
    capacity: int,
    output_type: Any,
    ordered: bool,
) -> DataStream:
    # It loads numpy, which importing the API must not.
    from millstream.kernel.steps.async_io import AsyncSpec

    if not isinstance(data_stream, DataStream):
        raise _error(
            "NOT_A_STREAM",
            f"a DataStream is needed, got {short_repr(data_stream)}",
            "give the stream first, then the function",
        )
    _check_function(async_function)
    spec = AsyncSpec(
        async_function,
        positive_millis(timeout, "timeout"),
        positive_int("capacity", capacity),
        ordered,
        _checked_retry(retry),
    )
    return data_stream._then(
        StatelessNode,
        name=f"{'Ordered' if ordered else 'Unordered'} Wait",
        kind="async",
        function=spec,
        output_type=_output_type(output_type, async_function),
    )


def _output_type(declared: Any, function: Any) -> TypeInformation | None:
    if declared is not None:
        return declared_type(declared)
    if isinstance(function, AsyncFunction):
        return inferred(infer_return_type(function.async_invoke, elements=True))
    return inferred(infer_return_type(function))


def _check_function(function: Any) -> None:
    from millstream.kernel.steps.async_io import takes

    if isinstance(function, type) and issubclass(function, Function):
        raise _error(
            "FUNCTION_CLASS",
            f"this is the class {function.__name__}, not an object of it",
            f"write {function.__name__}(...)",
        )
    gives_many = isinstance(function, AsyncFunction)
    if not gives_many and (isinstance(function, Function) or not callable(function)):
        raise _error(
            "WRONG_FUNCTION_KIND",
            f"{_WANTED} is needed, got {short_repr(function)}",
            f"give {_WANTED}",
        )
    call = function.async_invoke if gives_many else function
    name = getattr(call, "__qualname__", type(call).__name__).replace("<locals>.", "")
    if inspect.isasyncgenfunction(call) or (inspect.isgeneratorfunction(call) and not gives_many):
        raise _error(
            "GENERATOR_FUNCTION",
            f"results are taken when all of them are there, and {name} yields",
            "return the result of a function, or a list from AsyncFunction.async_invoke",
        )
    if not takes(call, 1) and not (gives_many and takes(call, 2)):
        raise _error(
            "WRONG_ARITY",
            f"a record is the argument of {name}, which takes {inspect.signature(call)}",
            f"give {_WANTED}; async_invoke may also take (value, result_future)",
        )


def _checked_retry(retry: object) -> AsyncRetryStrategy:
    if not isinstance(retry, AsyncRetryStrategy):
        raise _error(
            "NOT_A_RETRY_STRATEGY",
            f"an AsyncRetryStrategy is needed, got {short_repr(retry)}",
            "for example AsyncRetryStrategy.fixed_delay(3, 100, exception_predicate=OSError)",
        )
    predicate = retry.get_retry_predicate()
    if not isinstance(predicate, AsyncRetryPredicate):
        raise _error(
            "NOT_A_RETRY_STRATEGY",
            f"get_retry_predicate of {type(retry).__name__} returns {short_repr(predicate)}",
            "return an AsyncRetryPredicate from it",
        )
    return retry


def _error(code: str, message: str, hint: str) -> PlanError:
    return PlanError(code, message, location=user_location(), hint=hint)
