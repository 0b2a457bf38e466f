"""Functions that train models in a stream. There is one key: each model is made of the one before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from millstream.common.state import ListStateDescriptor, ValueStateDescriptor
from millstream.common.typeinfo import Types
from millstream.common.types import Row
from millstream.datastream.functions import (
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessAllWindowFunction,
)
from millstream.ml.online.learners import FOREVER, State, StreamLearner, check_sizes

__all__ = ["CountTrainer", "CountTrainerWithModel", "WindowTrainer"]

EXAMPLES = ListStateDescriptor("examples", Types.PICKLED_BYTE_ARRAY())
COUNT = ValueStateDescriptor("count", Types.LONG())
MODEL = ValueStateDescriptor("model", Types.PICKLED_BYTE_ARRAY())


class _Training:
    """Examples are collected into batches of ``size``; each full batch makes the next version."""

    learner: StreamLearner
    size: int

    def open(self, runtime_context: Any) -> None:
        self.examples = runtime_context.get_list_state(EXAMPLES)
        self.count = runtime_context.get_state(COUNT)
        self.model = runtime_context.get_state(MODEL)

    def begin(self, initial: Any) -> Iterator[Row]:
        """Take the initial model, and train with what has waited for it."""
        state = self.learner.start(initial)
        self.model.update((0, state))
        if self.learner.emits_initial:
            yield self.learner.row(state, 0, FOREVER)
        waiting = list(self.examples.get())
        check_sizes(self.learner, state, waiting)
        yield from self.train()

    def add(self, record: Any) -> Iterator[Row]:
        """Take an example."""
        example = self.learner.read(record)
        known = self.model.value()
        if known is not None:
            check_sizes(self.learner, known[1], [example])
        self.examples.add(example)
        self.count.update((self.count.value() or 0) + 1)
        if known is not None and self.count.value() >= self.size:
            yield from self.train()

    def train(self) -> Iterator[Row]:
        version, state = self.model.value()
        if (self.count.value() or 0) < self.size:
            return
        waiting = list(self.examples.get())
        while len(waiting) >= self.size:
            batch, waiting = waiting[: self.size], waiting[self.size :]
            state = self.learner.step(state, batch)
            version += 1
            yield self.learner.row(state, version, FOREVER)
        self.model.update((version, state))
        self.examples.update(waiting)
        self.count.update(len(waiting))


class CountTrainer(_Training, KeyedProcessFunction[int, Any, Row]):
    """Trains from a model that is known when the job is built."""

    def __init__(self, learner: StreamLearner, size: int, initial: Any) -> None:
        self.learner = learner
        self.size = size
        self.initial = initial

    def process_element(self, value: Any, ctx: Any) -> Iterable[Row]:
        if self.model.value() is None:
            yield from self.begin(self.initial)
        yield from self.add(value)


class CountTrainerWithModel(_Training, KeyedCoProcessFunction[int, Any, Any, Row]):
    """Trains from a model that comes as a stream: examples wait for its first record."""

    def __init__(self, learner: StreamLearner, size: int) -> None:
        self.learner = learner
        self.size = size

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Row]:
        yield from self.add(value)

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Row]:
        if self.model.value() is None:
            yield from self.begin(value)


class WindowTrainer(ProcessAllWindowFunction[Any, Row, Any]):
    """Trains with the records of a window; each window that has records makes the next version."""

    def __init__(self, learner: StreamLearner, with_time: bool) -> None:
        self.learner = learner
        self.with_time = with_time

    def process(self, context: Any, elements: Iterable[Any]) -> Iterable[Row]:
        model = context.global_state().get_state(MODEL)
        known = model.value()
        version, state = (0, None) if known is None else known
        examples = [self.learner.read(each) for each in elements]
        if examples:
            check_sizes(self.learner, state, examples)
            after: State = self.learner.step(state, examples)
            model.update((version + 1, after))
            timestamp = context.window().max_timestamp() if self.with_time else FOREVER
            yield self.learner.row(after, version, timestamp)
