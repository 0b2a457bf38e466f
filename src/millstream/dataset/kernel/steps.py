"""Functions of the user that are called element by element, one after another in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from millstream.dataset.plan.calls import UserFunction

__all__ = ["Elements", "Step", "run_steps"]


@dataclass(frozen=True)
class Step:
    """A function in a pass.

    Parameters
    ----------
    kind
        map, flat_map, filter, map_partition, combine (our own, of a partition), group (of iterators),
        join (of pairs), flat_join.
    function
        The function.
    name
        What errors call it.
    broadcasts
        Its broadcast sets.
    number
        Which operator it belongs to.
    """

    kind: str
    function: UserFunction
    name: str
    number: int = 0
    broadcasts: dict[str, list[Any]] = field(default_factory=dict)


Opener = Callable[[Step], Any]
"""Gives the context for a step."""


class Elements:
    """The elements of a partition or group, read once.

    Examples
    --------
    >>> elements = Elements(iter([1, 2, 3]))
    >>> elements.has_next(), elements.next(), list(elements)
    (True, 1, [2, 3])
    """

    def __init__(self, source: Iterator[Any]) -> None:
        self._source = source
        self._ahead: list[Any] = []

    def __iter__(self) -> Elements:
        return self

    def __next__(self) -> Any:
        if self._ahead:
            return self._ahead.pop()
        return next(self._source)

    def has_next(self) -> bool:
        """Whether there is another one."""
        if not self._ahead:
            for found in self._source:
                self._ahead.append(found)
                break
        return bool(self._ahead)

    def next(self) -> Any:
        """The next one."""
        return next(self)

    def all(self) -> list[Any]:
        """All that are left."""
        return list(self)


def run_steps(steps: Sequence[Step], records: Iterable[Any], context_of: Opener) -> Iterator[Any]:
    """The records after all steps. Functions are opened before the first one and closed at the end."""
    opened: list[Step] = []
    try:
        stream = iter(records)
        for step in steps:
            try:
                step.function.open(context_of(step))
            except Exception as error:
                raise step.function.failed(error, step.name, "(open)") from error
            opened.append(step)
            stream = _KINDS[step.kind](step, stream)
        yield from stream
    finally:
        for step in opened:
            step.function.close()


def _map(step: Step, records: Iterator[Any]) -> Iterator[Any]:
    call = step.function.call()
    for record in records:
        try:
            result = call(record)
        except Exception as error:
            raise step.function.failed(error, step.name, record) from error
        yield result


def _join(step: Step, records: Iterator[Any]) -> Iterator[Any]:
    call = step.function.call()
    for record in records:
        try:
            result = call(record[0], record[1])
        except Exception as error:
            raise step.function.failed(error, step.name, record) from error
        yield result


def _filter(step: Step, records: Iterator[Any]) -> Iterator[Any]:
    call = step.function.call()
    for record in records:
        try:
            keep = call(record)
        except Exception as error:
            raise step.function.failed(error, step.name, record) from error
        if keep:
            yield record


def _flat_map(step: Step, records: Iterator[Any]) -> Iterator[Any]:
    call = step.function.emitting()
    for record in records:
        yield from guarded(step, record, partial(call, record))


def _flat_join(step: Step, records: Iterator[Any]) -> Iterator[Any]:
    call = step.function.emitting()
    for record in records:
        yield from guarded(step, record, partial(call, record[0], record[1]))


def _map_partition(step: Step, records: Iterator[Any]) -> Iterator[Any]:
    # Spark leaves out partitions of which it sees that they are empty: nothing may depend on them.
    elements = Elements(records)
    if elements.has_next():
        call = step.function.emitting()
        yield from guarded(step, "(a partition)", lambda: call(elements))


def _combine(step: Step, records: Iterator[Any]) -> Iterator[Any]:
    yield from step.function.emitting()(records)


def _group(step: Step, groups: Iterator[Any]) -> Iterator[Any]:
    call = step.function.emitting()
    for lists in groups:
        elements = [Elements(each) for each in lists]
        yield from guarded(step, "(a group)", partial(call, *elements))


def guarded(step: Step, record: Any, call: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    """The results of a call; an exception of the function names the operator and the element."""
    try:
        results = iter(call())
    except Exception as error:
        raise step.function.failed(error, step.name, record) from error
    while True:
        try:
            result = next(results)
        except StopIteration:
            return
        except Exception as error:
            raise step.function.failed(error, step.name, record) from error
        yield result


_KINDS: dict[str, Callable[[Step, Iterator[Any]], Iterator[Any]]] = {
    "map": _map,
    "filter": _filter,
    "flat_map": _flat_map,
    "map_partition": _map_partition,
    "combine": _combine,
    "group": _group,
    "join": _join,
    "flat_join": _flat_join,
}
