"""Programs of loops that tests run in memory and on Spark."""

from __future__ import annotations

import os
import signal
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.iteration import (
    Aggregator,
    LoopInput,
    LoopJob,
    LoopOptions,
    LoopProgram,
    MeshProgram,
    Outbox,
    Task,
)

IN_MEMORY = LoopOptions(mode="memory")


class SmallestLabel(LoopProgram):
    """Connected components: each vertex takes the smallest label of its neighbours.

    The adjacency holds the edges by source, so that labels travel once per edge and superstep.
    """

    def load(self, task: Task, inputs: Mapping[str, pa.Table]) -> None:
        vertices = inputs["vertices"]["id"].to_numpy()
        self.ids = np.unique(vertices)
        self.labels = self.ids.copy()
        order = np.argsort(inputs["edges"]["source"].to_numpy(), kind="stable")
        self.sources = inputs["edges"]["source"].to_numpy()[order]
        self.targets = inputs["edges"]["target"].to_numpy()[order]
        self.changed = np.ones(len(self.ids), bool)

    def superstep(self, task: Task, inbox: Sequence[Any]) -> Outbox:
        for part in inbox:
            if part is not None:
                at = np.searchsorted(self.ids, part["id"])
                better = part["label"] < self.labels[at]
                np.minimum.at(self.labels, at[better], part["label"][better])
                self.changed[at[better]] = True
        of_source = np.searchsorted(self.ids, self.sources)
        sent = self.changed[of_source]
        ids, labels = self.targets[sent], self.labels[of_source[sent]]
        changed, self.changed = int(self.changed.sum()), np.zeros(len(self.ids), bool)
        owner = task.owner_of(ids)
        parts = [{"id": ids[owner == t], "label": labels[owner == t]} for t in range(task.count)]
        return Outbox(parts, {"messages": len(ids)}, active=changed)

    def aggregators(self) -> Mapping[str, Aggregator]:
        return {"messages": Aggregator.sum()}

    def state(self) -> Any:
        return {"labels": self.labels, "changed": self.changed}

    def restore(self, task: Task, state: Any) -> None:
        self.labels, self.changed = state["labels"], state["changed"]

    def result(self) -> pa.Table:
        return pa.table({"id": self.ids, "label": self.labels})


LABELS = pa.schema({"id": pa.int64(), "label": pa.int64()})


def both_ways(edges: Sequence[tuple[int, int]]) -> pa.Table:
    """Edges of an undirected graph, each in both directions."""
    pairs = [*edges, *((b, a) for a, b in edges)]
    return pa.table(
        {
            "source": pa.array([a for a, _ in pairs], pa.int64()),
            "target": pa.array([b for _, b in pairs], pa.int64()),
        }
    )


def components_job(
    ids: Sequence[int],
    edges: Sequence[tuple[int, int]],
    tasks: int,
    options: LoopOptions = IN_MEMORY,
    max_supersteps: int = 1_000,
) -> LoopJob:
    """Connected components of a graph."""
    inputs = {
        "vertices": LoopInput(pa.table({"id": pa.array(ids, pa.int64())}), key="id"),
        "edges": LoopInput(both_ways(edges), key="source"),
    }
    return LoopJob("components", SmallestLabel(), inputs, LABELS, max_supersteps, tasks, options)


def components_of(table: pa.Table) -> dict[int, int]:
    """The label of each vertex."""
    return dict(zip(table["id"].to_pylist(), table["label"].to_pylist(), strict=True))


class Counting(LoopProgram):
    """Counts supersteps, and sends what it has counted to the next task. Subclasses misbehave."""

    def __init__(self, until: int = 5) -> None:
        self.until = until

    def load(self, task: Task, inputs: Mapping[str, pa.Table]) -> None:
        self.seen: list[Any] = []
        self.index = task.index

    def superstep(self, task: Task, inbox: Sequence[Any]) -> Outbox:
        self.seen.append(list(inbox))
        parts: list[Any] = [(task.index, task.superstep, to) for to in range(task.count)]
        return Outbox(parts, {"steps": 1}, active=task.superstep < self.until)

    def aggregators(self) -> Mapping[str, Aggregator]:
        return {"steps": Aggregator.sum()}

    def state(self) -> Any:
        return self.seen

    def restore(self, task: Task, state: Any) -> None:
        self.seen = state

    def result(self) -> pa.Table:
        return pa.table({"task": [self.index], "seen": [repr(self.seen)]})


class Failing(Counting):
    """Fails in one task and superstep."""

    def superstep(self, task: Task, inbox: Sequence[Any]) -> Outbox:
        if (task.index, task.superstep) == (1, 3):
            raise ValueError("a bad day")
        return super().superstep(task, inbox)


class Crashing(Counting):
    """Notes each superstep in a folder, and kills a process in one of them, once."""

    def __init__(self, folder: str, task: int, step: int, victim: int | None = None) -> None:
        super().__init__(until=7)
        self.folder = folder
        self.where = (task, step)
        self.victim = victim

    def superstep(self, task: Task, inbox: Sequence[Any]) -> Outbox:
        with open(f"{self.folder}/task-{task.index}", "a") as file:
            file.write(f"{task.superstep}\n")
        marker = Path(self.folder, "killed")
        if (task.index, task.superstep) == self.where and not marker.exists():
            marker.touch()
            if self.victim is not None:
                os.kill(self.victim, signal.SIGKILL)
            # Also without its driver a task may go on for a moment.
            os.kill(os.getpid(), signal.SIGKILL)
        return super().superstep(task, inbox)


def noted(folder: Path, task: int) -> list[int]:
    """The supersteps that a task of `Crashing` has begun."""
    return [int(line) for line in (folder / f"task-{task}").read_text().split()]


class Disagreeing(Counting):
    """Ends in one task only."""

    def finished(self, step: int, aggregates: Mapping[str, Any], active: int) -> bool:
        return self.index == 1


COUNTS = pa.schema({"task": pa.int64(), "seen": pa.string()})


def counting_job(
    program: LoopProgram,
    tasks: int = 2,
    options: LoopOptions = IN_MEMORY,
    max_supersteps: int = 20,
) -> LoopJob:
    """A loop without inputs."""
    return LoopJob("counting", program, {}, COUNTS, max_supersteps, tasks, options)


class SeveralExchanges(MeshProgram):
    """The sum over all tasks, by two exchanges in each superstep: all to task 0, and back."""

    def load(self, task: Task, inputs: Mapping[str, pa.Table]) -> None:
        self.total: Any = task.index + 1

    def superstep(self, task: Task, inbox: Sequence[Any]) -> Outbox:
        own: list[Any] = [self.total]
        received = task.exchange(own + [None] * (task.count - 1))
        total = sum(each for each in received if each is not None)
        self.total = task.exchange([total] * task.count if task.index == 0 else [])[0]
        return Outbox(active=task.superstep < 3)

    def state(self) -> Any:
        return self.total

    def restore(self, task: Task, state: Any) -> None:
        self.total = state

    def result(self) -> pa.Table:
        return pa.table({"total": [self.total]})


class Unequal(SeveralExchanges):
    """Exchanges more often in some tasks."""

    def superstep(self, task: Task, inbox: Sequence[Any]) -> Outbox:
        for _ in range(task.index + 1):
            task.exchange([])
        return Outbox()


TOTALS = pa.schema({"total": pa.int64()})


def totals_job(program: LoopProgram, tasks: int, options: LoopOptions = IN_MEMORY) -> LoopJob:
    """A loop of a program with several exchanges."""
    return LoopJob("totals", program, {}, TOTALS, 20, tasks, options)


class Wandering(LoopProgram):
    """A random program: messages and aggregates of many types, by a rule that only the seed decides.

    The state is a checksum of all that a task has seen, so that nothing may differ or be missing.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def load(self, task: Task, inputs: Mapping[str, pa.Table]) -> None:
        self.index = task.index
        own = sorted(inputs["numbers"]["n"].to_pylist())
        self.seen = zlib.crc32(repr((own, task.broadcast("all").to_pydict())).encode())

    def superstep(self, task: Task, inbox: Sequence[Any]) -> Outbox:
        known = (
            [_plain(part) for part in inbox],
            sorted((n, _plain(v)) for n, v in task.aggregates.items()),
        )
        self.seen = zlib.crc32(repr((self.seen, known)).encode())
        random = Random(f"{self.seed} {self.seen} {task.superstep} {task.index}")
        parts = [self._message(random) for _ in range(task.count)] if random.random() < 0.9 else []
        values: dict[str, Any] = {
            "sum": random.randrange(100),
            "max": random.random(),
            "names": [str(task.index)],
            "array": np.full(2, random.randrange(9)),
        }
        chosen = {name: value for name, value in values.items() if random.random() < 0.7}
        return Outbox(parts, chosen, active=random.randrange(5) + 1)

    def _message(self, random: Random) -> Any:
        number = random.randrange(50)
        return random.choice(
            [
                None,
                number,
                f"text {number}",
                {"id": np.arange(number), "weight": np.linspace(0, 1, number)},
                {"names": pa.array([None, f"n{number}"]), "deep": {"x": np.ones((2, 2)) * number}},
                pa.table({"n": [number] * 3}),
                [(number, {"k": {number}})],
            ]
        )

    def aggregators(self) -> Mapping[str, Aggregator]:
        return {
            "sum": Aggregator.sum(),
            "max": Aggregator.max(),
            "names": Aggregator([], lambda left, right: left + right),
            "array": Aggregator.sum(np.zeros(2, np.int64)),
        }

    def state(self) -> Any:
        return {"seen": np.array([self.seen])}

    def restore(self, task: Task, state: Any) -> None:
        self.seen = int(state["seen"][0])

    def result(self) -> pa.Table:
        return pa.table({"task": [self.index], "seen": [str(self.seen)]})


def _plain(value: Any) -> Any:
    """A value as lists and texts, with its types: equal texts mean equal values."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return ["numpy", str(value.dtype), value.tolist()]
    if isinstance(value, pa.Array):
        return ["arrow", str(value.type), value.to_pylist()]
    return value.to_pydict() if isinstance(value, pa.Table) else value


def wandering_job(
    program: Wandering, tasks: int, steps: int, options: LoopOptions = IN_MEMORY
) -> LoopJob:
    """A loop of a random program."""
    inputs = {
        "numbers": LoopInput(pa.table({"n": pa.array(range(20), pa.int64())}), key="n"),
        "all": LoopInput(pa.table({"x": ["a", None]}), broadcast=True),
    }
    return LoopJob("wandering", program, inputs, COUNTS, steps, tasks, options)
