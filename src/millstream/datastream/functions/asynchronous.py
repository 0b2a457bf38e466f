"""Functions that wait for something outside the job, and what happens when an answer is bad."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, Generic

from millstream.common.arguments import positive_int
from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.time import positive_millis
from millstream.common.type_aliases import DurationLike
from millstream.common.type_variables import IN, OUT
from millstream.datastream.functions.base import Function, RuntimeContext

__all__ = [
    "NO_RETRY_STRATEGY",
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategies",
    "AsyncRetryStrategy",
    "ExponentialBackoffDelayRetryStrategy",
    "FixedDelayRetryStrategy",
    "NoRetryStrategy",
    "ResultFuture",
    "RetryPredicate",
    "RetryPredicates",
    "empty_result_predicate",
    "exception_type_predicate",
    "has_exception_predicate",
]

ResultPredicate = Callable[[list[Any]], bool]
"""Whether results are to be asked for again."""

ExceptionPredicate = Callable[[Exception], bool]
"""Whether to ask again after an exception."""


class ResultFuture(ABC, Generic[IN]):
    """Takes the results of one record. Any thread may call it; only the first call counts."""

    @abstractmethod
    def complete(self, result: Iterable[IN]) -> None:
        """Give the results."""

    @abstractmethod
    def complete_exceptionally(self, error: BaseException) -> None:
        """Report that there will be no results, and why."""


class AsyncFunction(Function, Generic[IN, OUT]):
    """Emits any number of records per record, after waiting for a service or a database.

    Many records wait at the same time. ``async_invoke`` has one of three forms:

    - ``async def async_invoke(self, value)`` runs on an event loop and returns a list of results;
    - ``def async_invoke(self, value)`` runs in a thread, may block, and returns a list of results;
    - ``def async_invoke(self, value, result_future)`` runs in a thread too, and gives its results, then
      or later, to a `ResultFuture`: for clients that call back.

    An event loop runs in one thread: an ``async def`` that blocks or computes for long holds up all
    other records. Threads share the function: whatever several of them change needs a lock.

    Examples
    --------
    >>> import asyncio
    >>> from millstream.datastream import AsyncDataStream
    >>> from millstream.testing import run_local
    >>> class Lookup(AsyncFunction):
    ...     async def async_invoke(self, value: str) -> list[tuple[str, int]]:
    ...         await asyncio.sleep(0)  # ask a service
    ...         return [(value, len(value))]
    >>> def program(env):
    ...     return AsyncDataStream.unordered_wait(env.from_collection(["a", "bb"]), Lookup(), "5 s")
    >>> run_local(program).values()
    [('a', 1), ('bb', 2)]
    """

    def open(self, runtime_context: RuntimeContext) -> Awaitable[None] | None:
        """Prepare, see `Function.open`. An ``async def`` runs on the loop of ``async_invoke``."""

    def close(self) -> Awaitable[None] | None:
        """Tidy up, see `Function.close`. An ``async def`` runs on the loop of ``async_invoke``."""

    @abstractmethod
    def async_invoke(self, value: IN) -> Awaitable[Iterable[OUT]] | Iterable[OUT]:
        """Return the results of a record, as a list that may be empty."""

    def timeout(self, value: IN) -> Awaitable[Iterable[OUT]] | Iterable[OUT]:
        """Return results for a record whose request timed out; it must not block.

        By default it fails the job with a `TimeoutError`.
        """
        raise TimeoutError(f"no result in time for {short_repr(value)}")


# -- what is tried again ---------------------------------------------------------------------------


def empty_result_predicate(result: list[Any]) -> bool:
    """Ask again if there are no results.

    Examples
    --------
    >>> empty_result_predicate([]), empty_result_predicate([None])
    (True, False)
    """
    return not result


def has_exception_predicate(error: BaseException | None) -> bool:
    """Ask again after every exception."""
    return error is not None


def exception_type_predicate(
    error: BaseException | None,
    expected_error_type: type[BaseException] | tuple[type[BaseException], ...],
) -> bool:
    """Ask again after exceptions of some classes.

    Examples
    --------
    >>> exception_type_predicate(ConnectionResetError(), OSError)
    True
    """
    return isinstance(error, expected_error_type)


class RetryPredicates:
    """The predicates under the names of Flink's Java API."""

    EMPTY_RESULT_PREDICATE = staticmethod(empty_result_predicate)
    HAS_EXCEPTION_PREDICATE = staticmethod(has_exception_predicate)

    @staticmethod
    def create_exception_type_predicate(error_class: type[BaseException]) -> ExceptionPredicate:
        """Return a predicate for the exceptions of a class.

        Examples
        --------
        >>> RetryPredicates.create_exception_type_predicate(OSError)(ValueError())
        False
        """
        return partial(exception_type_predicate, expected_error_type=error_class)


class AsyncRetryPredicate(ABC, Generic[OUT]):
    """Decides which requests are tried again."""

    @abstractmethod
    def result_predicate(self) -> ResultPredicate | None:
        """Return a function of the list of results; None: results are always good."""

    @abstractmethod
    def exception_predicate(self) -> ExceptionPredicate | None:
        """Return a function of the exception; None: an exception fails the job."""


class RetryPredicate(AsyncRetryPredicate[OUT]):
    """Two functions, either of which may be missing."""

    def __init__(
        self,
        result_predicate: ResultPredicate | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> None:
        self._result_predicate = result_predicate
        self._exception_predicate = exception_predicate

    def result_predicate(self) -> ResultPredicate | None:
        return self._result_predicate

    def exception_predicate(self) -> ExceptionPredicate | None:
        return self._exception_predicate


# -- how often, and when ---------------------------------------------------------------------------


class AsyncRetryStrategy(ABC, Generic[OUT]):
    """Decides whether a request is tried again, and after how long.

    It is asked after each attempt whose results or exception its predicate refuses. Make one with the
    static methods, or derive from it. Records share it, so that it should not keep anything.

    Examples
    --------
    >>> strategy = AsyncRetryStrategy.exponential_backoff(
    ...     max_attempts=5,
    ...     initial_delay="100 ms",
    ...     max_retry_delay="1 s",
    ...     multiplier=2,
    ...     exception_predicate=ConnectionError,
    ... )
    >>> [strategy.get_backoff_time_millis(attempt) for attempt in range(1, 6)]
    [100, 200, 400, 800, 1000]
    >>> strategy.can_retry(5), strategy.can_retry(6)
    (True, False)
    """

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Return whether there may be another attempt after so many."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return how long to wait before the next attempt, after so many."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate:
        """Return what is tried again."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy:
        """Try once."""
        return NO_RETRY_STRATEGY

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: DurationLike,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: Any = None,
    ) -> AsyncRetryStrategy:
        """Wait equally long before each new attempt.

        Parameters
        ----------
        max_attempts
            How often to try again: a request is sent once more than that at most, as in Flink.
        backoff_time_millis
            How long to wait, as a number of milliseconds or any other span such as ``"1 s"``.
        result_predicate
            A function of the list of results; if it returns True they are asked for again.
        exception_predicate
            A function of the exception, or the classes of exceptions to try again after.
        """
        return FixedDelayRetryStrategy(
            max_attempts, backoff_time_millis, result_predicate, exception_predicate
        )

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: DurationLike,
        max_retry_delay: DurationLike,
        multiplier: float,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: Any = None,
    ) -> AsyncRetryStrategy:
        """Wait longer each time.

        Parameters
        ----------
        max_attempts, result_predicate, exception_predicate
            As in `fixed_delay`.
        initial_delay
            How long to wait before the second attempt.
        max_retry_delay
            How long to wait at most.
        multiplier
            What a delay is multiplied by to give the next one.
        """
        return ExponentialBackoffDelayRetryStrategy(
            max_attempts,
            initial_delay,
            max_retry_delay,
            multiplier,
            result_predicate,
            exception_predicate,
        )


class NoRetryStrategy(AsyncRetryStrategy[OUT]):
    """One attempt."""

    def can_retry(self, current_attempts: int) -> bool:
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return RetryPredicate(None, None)


NO_RETRY_STRATEGY: AsyncRetryStrategy = NoRetryStrategy()
"""One attempt."""


class _LimitedRetryStrategy(AsyncRetryStrategy[OUT]):
    """A limited number of retries, if one of the predicates asks for them."""

    def __init__(
        self, max_attempts: int, result_predicate: object, exception_predicate: object
    ) -> None:
        self._max_attempts = positive_int("max_attempts", max_attempts)
        self._predicate = _checked_predicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self._max_attempts

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return self._predicate


class FixedDelayRetryStrategy(_LimitedRetryStrategy[OUT]):
    """Equal delays, see `AsyncRetryStrategy.fixed_delay`."""

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: DurationLike,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: Any = None,
    ) -> None:
        super().__init__(max_attempts, result_predicate, exception_predicate)
        self._delay = positive_millis(backoff_time_millis, "backoff_time_millis")

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return self._delay


class ExponentialBackoffDelayRetryStrategy(_LimitedRetryStrategy[OUT]):
    """Growing delays, see `AsyncRetryStrategy.exponential_backoff`."""

    def __init__(
        self,
        max_attempts: int,
        initial_delay: DurationLike,
        max_retry_delay: DurationLike,
        multiplier: float,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: Any = None,
    ) -> None:
        super().__init__(max_attempts, result_predicate, exception_predicate)
        self._first = positive_millis(initial_delay, "initial_delay")
        self._longest = positive_millis(max_retry_delay, "max_retry_delay")
        self._multiplier = _positive_number("multiplier", multiplier)

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        try:
            delay = self._first * self._multiplier ** (current_attempts - 1)
        except OverflowError:
            return self._longest
        return int(min(delay, self._longest))


class AsyncRetryStrategies:
    """The strategies under the name of Flink's Java API; the same as in `AsyncRetryStrategy`.

    Examples
    --------
    >>> strategy = AsyncRetryStrategies.fixed_delay(
    ...     3, 100, exception_predicate=RetryPredicates.HAS_EXCEPTION_PREDICATE
    ... )
    >>> strategy.get_backoff_time_millis(2)
    100
    """

    NO_RETRY_STRATEGY = NO_RETRY_STRATEGY
    no_restart = staticmethod(AsyncRetryStrategy.no_restart)
    fixed_delay = staticmethod(AsyncRetryStrategy.fixed_delay)
    exponential_backoff = staticmethod(AsyncRetryStrategy.exponential_backoff)


# -- checks ----------------------------------------------------------------------------------------


def _positive_number(what: str, number: object) -> float:
    if isinstance(number, bool) or not isinstance(number, int | float) or not number > 0:
        raise PlanError(
            "BAD_NUMBER",
            f"{what} must be a number above 0, got {short_repr(number)}",
            location=user_location(),
        )
    return float(number)


def _checked_predicate(result: Any, exception: Any) -> AsyncRetryPredicate:
    if result is None and exception is None:
        raise PlanError(
            "NO_RETRY_PREDICATE",
            "the strategy names neither results nor exceptions: nothing would be tried again",
            location=user_location(),
            hint="give exception_predicate=RetryPredicates.HAS_EXCEPTION_PREDICATE, for example",
        )
    if _is_exception_class(exception) or isinstance(exception, tuple):
        if not all(map(_is_exception_class, _as_tuple(exception))):
            raise _not_a_predicate("exception_predicate", exception)
        # A class could be called, too: it would make an exception, which counts as True.
        exception = partial(exception_type_predicate, expected_error_type=exception)
    for what, predicate in (("result_predicate", result), ("exception_predicate", exception)):
        if predicate is not None and not callable(predicate):
            raise _not_a_predicate(what, predicate)
    return RetryPredicate(result, exception)


def _as_tuple(classes: Any) -> tuple[Any, ...]:
    return classes if isinstance(classes, tuple) else (classes,)


def _is_exception_class(thing: object) -> bool:
    return isinstance(thing, type) and issubclass(thing, BaseException)


def _not_a_predicate(what: str, predicate: object) -> PlanError:
    return PlanError(
        "NOT_A_PREDICATE",
        f"{what} must be a function that returns whether to try again, got {short_repr(predicate)}",
        location=user_location(),
        hint="see RetryPredicates; exception_predicate also takes classes of exceptions",
    )
