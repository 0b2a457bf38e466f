"""Operators of connected streams: the records of two inputs in one order, one state for both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.common.errors import MillstreamError
from millstream.kernel.operators.channel import ChannelOperator
from millstream.kernel.operators.keyed import KeyedOperator

Pair = tuple[int, Any]
"""The number of an input, 0 or 1, and a record of it."""


class PairKey:
    """The key of a record of either input.

    Examples
    --------
    >>> key = PairKey(str.lower, len)
    >>> key((0, "AB")), key((1, "AB"))
    ('ab', 2)
    """

    def __init__(self, first: Callable[[Any], Any], second: Callable[[Any], Any]) -> None:
        self._selectors = (first, second)

    def __call__(self, pair: Pair) -> Any:
        return self._selectors[pair[0]](pair[1])


class CoProcessOperator(KeyedOperator):
    """Runs a `KeyedCoProcessFunction`; its selector is a `PairKey`."""

    has_two_inputs = True

    def element_call(self) -> Callable[[Any, Any], Any]:
        calls = (self.function.process_element1, self.function.process_element2)

        def call(pair: Pair, context: Any) -> Any:
            return calls[pair[0]](pair[1], context)

        return call

    def _failure(self, error: BaseException, record: Any) -> MillstreamError:
        # What is no pair is what the base says of timers, or nothing.
        return super()._failure(error, record[1] if record.__class__ is tuple else record)


class CoChannelOperator(CoProcessOperator, ChannelOperator):
    """A function of two inputs without keys that reads the watermark; its key is the channel."""
