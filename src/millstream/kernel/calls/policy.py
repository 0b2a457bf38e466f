"""The policy of an operator for failures of its functions: the job fails, or what has failed is skipped.

Each step and each operator has a ``policy``. `Failing` has one handler around many calls, so it costs
nothing. `Skipping` has one around each call, and a call counts as a whole or not at all: state, timers
and output are put back if it fails. An operator says what a call can change (``saved``). To copy that
before each call costs time, so only operators that are told to skip do it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

from millstream.common.dead_letter import DeadLetter
from millstream.common.errors import MillstreamError
from millstream.kernel.calls.dead_letters import DeadLetters
from millstream.kernel.calls.invoke import apply_each, select_each
from millstream.kernel.calls.reports import OperatorCounts
from millstream.kernel.keys.identity import identities, identity
from millstream.kernel.records.order import Ints
from millstream.kernel.records.selected import NotSelected, Selected

Failure = Callable[[BaseException, Any], MillstreamError]
"""Makes the error of a job of an exception and the record that caused it."""


class Outcome(NamedTuple):
    """Results of a function for many values.

    ``places``: those of the values that it did not fail on, None: all of them. ``failed``: those of the
    others, with their ``letters``; these are None where there is no side output for them.
    """

    results: list[Any]
    places: list[int] | None = None
    failed: list[int] = []
    letters: list[DeadLetter | None] = []


class Unkeyed:
    """Stands for the key of a record on which the key selector failed."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class Saved(Protocol):
    """All that a call can change, as it was before the call."""

    def keep(self) -> None: ...

    def undo(self) -> None: ...


class Emissions(Protocol):
    """Emissions of an operator, as far as a policy has to know them. They belong to a current row."""

    def begin(self, row: int) -> None: ...

    def mark(self) -> Any: ...

    def undo(self, mark: Any) -> None: ...

    def extend(self, results: Iterable[Any]) -> None: ...

    def time(self) -> int: ...

    def dead_letter(self, tag: str, letter: Any) -> None: ...


class Failing:
    """A failure fails the job."""

    skips = False
    tag: str | None = None

    def open(self, counts: Callable[[], OperatorCounts]) -> None:
        """Find out where the operator counts."""

    def original(self, value: Any) -> Any:
        """A record before a function has it, as a dead letter would show it."""
        return value

    def each(
        self,
        function: Callable[[Any], Any],
        values: list[Any],
        failure: Failure,
        times: Callable[[], Ints] | None = None,
    ) -> Outcome:
        """Call a function with each of some values.

        ``times``: their event times; None if others skip and count the values that it fails on.
        """
        return Outcome(apply_each(function, values, failure))

    def keys(
        self,
        given: Selected | None,
        selector: Callable[[Any], Any],
        values: list[Any],
        failure: Failure,
    ) -> list[Any]:
        """The identities of the keys of records, `Unkeyed` where there is none.

        ``given``: the keys that have come with the records.
        """
        return _keys_given(given, selector, values, failure)

    def attempt(
        self,
        call: Callable[[], Any],
        value: Any,
        outputs: Emissions,
        saved: Callable[[], Saved],
    ) -> bool:
        """Run a callback of the current row, and say whether it has succeeded.

        ``value``: what is skipped if it has not.
        """
        results = call()
        if results is not None:
            outputs.extend(results)
        return True

    def skip(self, error: Exception, value: Any, outputs: Emissions) -> None:
        """Skip what the current row stands for."""
        raise error


class Skipping:
    """A record or timer that a function fails on is skipped, and becomes a dead letter."""

    skips = True

    def __init__(self, letters: DeadLetters) -> None:
        self.letters = letters
        self.tag = letters.tag

    def open(self, counts: Callable[[], OperatorCounts]) -> None:
        self.letters.counts = counts()

    def original(self, value: Any) -> Any:
        return self.letters.original(value)

    def each(
        self,
        function: Callable[[Any], Any],
        values: list[Any],
        failure: Failure,
        times: Callable[[], Ints] | None = None,
    ) -> Outcome:
        results, places, failed, letters = list[Any](), list[int](), list[int](), list[Any]()
        for place, value in enumerate(values):
            original = None if times is None else self.letters.original(value)
            try:
                result = function(value)
            except MillstreamError:
                raise
            except Exception as error:
                failed.append(place)
                if times is not None:
                    letter = self.letters.take(error, original, int(times()[place]))
                    letters.append(letter)
            else:
                results.append(result)
                places.append(place)
        return Outcome(results, places, failed, letters) if failed else Outcome(results)

    def keys(
        self,
        given: Selected | None,
        selector: Callable[[Any], Any],
        values: list[Any],
        failure: Failure,
    ) -> list[Any]:
        if given is None:
            return [_key_or_error(selector, value) for value in values]
        keys = given.tolist()
        if given.is_whole:
            return keys
        each = zip(values, keys, strict=True)
        return [_key_or_error(selector, value, key) for value, key in each]

    def attempt(
        self,
        call: Callable[[], Any],
        value: Any,
        outputs: Emissions,
        saved: Callable[[], Saved],
    ) -> bool:
        before, mark, number = saved(), outputs.mark(), self.letters.number
        try:
            results = call()
            if results is not None:
                outputs.extend(results)
        except MillstreamError:
            raise
        except Exception as error:
            before.undo()
            outputs.undo(mark)
            # What was skipped within the callback has not happened either.
            self.letters.forget(number)
            self.skip(error, value, outputs)
            return False
        before.keep()
        return True

    def skip(self, error: Exception, value: Any, outputs: Emissions) -> None:
        letter = self.letters.take(error, value, outputs.time())
        if letter is not None and self.tag is not None:
            outputs.dead_letter(self.tag, letter)


def _keys_given(
    found: Selected | None,
    selector: Callable[[Any], Any],
    values: list[Any],
    failure: Callable[[BaseException, Any], MillstreamError],
) -> list[Any]:
    """The identities of keys that have come with values; the selector is asked for the others."""
    if found is None:
        return identities(select_each(selector, values, failure))
    keys = found.tolist()
    if found.is_whole:
        return keys
    places = [place for place, key in enumerate(keys) if key is NotSelected.UNASKED]
    asked = apply_each(selector, [values[place] for place in places], failure)
    for place, key in zip(places, asked, strict=True):
        keys[place] = key
    return identities(keys)


def _key_or_error(
    selector: Callable[[Any], Any], value: Any, given: Any = NotSelected.UNASKED
) -> Any:
    if given.__class__ is not NotSelected:
        return identity(given)
    try:
        asked = selector(value)
    except MillstreamError:
        raise
    except Exception as error:
        return Unkeyed(error)
    if given is NotSelected.FAILED:
        # The record is where no key has sent it: it must not get into the state of another key.
        again = f"the key selector failed for this record, and gave {asked!r:.200} the second time"
        return Unkeyed(RuntimeError(again))
    return identity(asked)


Policy = Failing | Skipping
FAILING = Failing()
