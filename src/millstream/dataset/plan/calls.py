"""Functions of the user, however they are written: what is called, and what it wants."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from millstream.common.errors import (
    Location,
    MillstreamError,
    PlanError,
    short_repr,
    user_code_error,
)
from millstream.common.typeinfo import TypeInformation, infer_return_type
from millstream.dataset.functions import Collector
from millstream.dataset.plan.records import PICKLED

__all__ = ["UserFunction", "return_type", "user_function"]


@dataclass(frozen=True, eq=False)
class UserFunction:
    """A function of the user, and how it is called.

    Examples
    --------
    >>> doubled = user_function(lambda n: n * 2, "map", 1, None)
    >>> doubled.call()(21)
    42
    """

    function: Any
    method: str
    arguments: int
    collects: bool
    location: Location | None = None

    def call(self) -> Callable[..., Any]:
        """The function that is called per element."""
        found = getattr(self.function, self.method, None)
        return found if callable(found) else self.function  # type: ignore[no-any-return]

    def open(self, context: Any) -> None:
        """Give the function its place."""
        if _is_class_of_functions(self.function, self.method):
            # The name of Flink's Python API; functions with slots go without.
            with suppress(AttributeError):
                self.function.context = context
            self.function.open(context)

    def close(self) -> None:
        """Let the function tidy up."""
        if _is_class_of_functions(self.function, self.method):
            self.function.close()

    def emitting(self) -> Callable[..., Iterable[Any]]:
        """A call that gives all elements the function returns, yields or collects."""
        call = self.call()
        if not self.collects:

            def returned(*values: Any) -> Iterable[Any]:
                found = call(*values)
                return () if found is None else found

            return returned

        def collected(*values: Any) -> Iterator[Any]:
            out = Collector()
            found = call(*values, out)
            for each in () if found is None else found:
                yield from out.values
                out.values.clear()
                yield each
            yield from out.values

        return collected

    def failed(self, error: Exception, name: str, record: object) -> Exception:
        """The error that names the operator, the line and the element."""
        if isinstance(error, MillstreamError):
            error.location = error.location or self.location
            return error
        return user_code_error(error, name, None, record, self.location)


def _is_class_of_functions(function: Any, method: str) -> bool:
    return callable(getattr(function, method, None)) and hasattr(function, "open")


def user_function(
    function: Any, method: str, arguments: int, location: Location | None
) -> UserFunction:
    """Find out how a function is called.

    A function that takes one argument more than there are elements gets a `Collector`.

    Examples
    --------
    >>> user_function(lambda word, out: out.collect(word), "flat_map", 1, None).collects
    True
    """
    called = getattr(function, method, None)
    if not callable(called):
        called = function
    if not callable(called):
        raise PlanError(
            "DATASET_FUNCTION",
            f"{method}() needs a function, got {short_repr(function)}",
            location=location,
            hint=f"give a function, a lambda, or an object with a method {method}",
        )
    if isinstance(function, type) and _is_class_of_functions(function, method):
        raise PlanError(
            "DATASET_FUNCTION",
            f"{method}() got the class {function.__name__}, and needs an object of it",
            location=location,
            hint=f"write {function.__name__}()",
        )
    least, most = _numbers_of_arguments(called)
    if not least <= arguments <= most and not least <= arguments + 1 <= most:
        raise PlanError(
            "DATASET_ARGUMENTS",
            f"the function of {method}() takes {least} arguments, and is called with {arguments}",
            location=location,
            hint=f"take {arguments} argument{'s' * (arguments > 1)}",
        )
    return UserFunction(function, method, arguments, least > arguments, location)


def _numbers_of_arguments(called: Callable[..., Any]) -> tuple[int, float]:
    """How many arguments a function needs at least, and takes at most."""
    try:
        parameters = inspect.signature(called).parameters.values()
    except (TypeError, ValueError):
        return 0, float("inf")  # of C, without a signature
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    mine = [each for each in parameters if each.kind in places]
    least = sum(each.default is inspect.Parameter.empty for each in mine)
    if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters):
        return least, float("inf")
    return least, len(mine)


def return_type(
    function: UserFunction, declared: TypeInformation | None, *, elements: bool = False
) -> TypeInformation:
    """The type of what a function gives: declared, by its annotations, or unknown.

    Examples
    --------
    >>> def size(word: str) -> int:
    ...     return len(word)
    >>> return_type(user_function(size, "map", 1, None), None)
    LONG
    """
    if declared is not None:
        if not isinstance(declared, TypeInformation):
            raise PlanError(
                "NOT_A_TYPE",
                f"output_type needs a type, got {short_repr(declared)}",
                location=function.location,
                hint="use a type from Types, such as Types.LONG()",
            )
        return declared
    produced = getattr(function.function, "get_produced_type", None)
    if callable(produced):
        return produced()  # type: ignore[no-any-return]
    return infer_return_type(function.call(), elements=elements) or PICKLED
