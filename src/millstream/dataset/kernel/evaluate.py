"""Runs a program in plain Python: on all tasks in this process, or on one task of a loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from millstream.common.accumulators import Accumulator
from millstream.dataset.functions import RuntimeContext
from millstream.dataset.kernel.copies import copied, never_changes
from millstream.dataset.kernel.places import Parts, Places
from millstream.dataset.kernel.steps import Step, run_steps
from millstream.dataset.plan.keys import Keys, identity, slot_of
from millstream.dataset.plan.nodes import Node
from millstream.dataset.plan.records import coerced
from millstream.iteration import LoopOptions

__all__ = ["Constants", "Evaluator", "matches_nothing", "operator_of", "records_by_key"]

Operator = Callable[["Evaluator", Any], Parts]
OPERATORS: dict[type[Node], Operator] = {}
F = TypeVar("F", bound=Callable[..., Any])


def operator_of(kind: type[Node]) -> Callable[[F], F]:
    """Register what computes a kind of node."""

    def register(function: F) -> F:
        OPERATORS[kind] = function
        return function

    return register


class Constants:
    """The sets of an iteration that do not change, or that have an index of their own.

    Parameters
    ----------
    nodes
        The static sets.
    solution
        The solution set, its keys, and its records by key.
    """

    def __init__(
        self,
        nodes: Iterable[Node] = (),
        solution: tuple[Node, Keys, dict[Any, list[Any]]] | None = None,
    ) -> None:
        self.nodes = frozenset(nodes)
        self.solution = solution
        self.routed: dict[Any, Parts] = {}
        self.indexed: dict[Any, list[dict[Any, list[Any]]]] = {}
        self.everywhere: dict[Node, list[Any]] = {}


class Evaluator:
    """The results of nodes, each computed once.

    Parameters
    ----------
    places
        The tasks.
    bound
        Results that are there already, such as the partial solution of an iteration.
    accumulators
        The totals of the job, per task that is here.
    context
        Makes contexts of functions; in an iteration it knows the superstep.
    constants
        In an iteration, what stays the same from superstep to superstep.
    loop_options
        How iterations run.
    """

    def __init__(
        self,
        places: Places,
        bound: Mapping[Node, Parts] | None = None,
        accumulators: list[dict[str, Accumulator[Any, Any]]] | None = None,
        context: Callable[..., RuntimeContext] = RuntimeContext,
        constants: Constants | None = None,
        loop_options: LoopOptions | None = None,
    ) -> None:
        self.loop_options = loop_options
        self.shared: set[Node] = set()
        self.places = places
        self.constants = constants
        self.accumulators = accumulators or [{} for _ in places.own]
        self.make_context = context
        self._results: dict[Node, Parts] = dict(bound or {})
        self._everywhere: dict[Node, list[Any]] = {}

    def parts(self, node: Node) -> Parts:
        """The records of a node, per task that is here; each reader has its own."""
        if node not in self._results:
            self._results[node] = OPERATORS[type(node)](self, node)
            return self._results[node] if node not in self.shared else self._copies(node)
        return self._copies(node)

    def _copies(self, node: Node) -> Parts:
        parts = self._results[node]
        if never_changes(node.type):
            return parts
        return [copied(node.type, part) for part in parts]

    def steps(self, node: Node, steps: list[Step], parts: Iterable[Iterable[Any]]) -> Parts:
        """Run functions over each part."""
        broadcasts = {name: self.all_of(other) for name, other in node.broadcasts.items()}
        found = []
        for at, part in enumerate(parts):
            found.append(list(run_steps(steps, part, self.opener(node, at, broadcasts))))
        return [coerced(node.type, part) for part in found]

    def opener(
        self, node: Node, at: int, broadcasts: Mapping[str, list[Any]]
    ) -> Callable[[Step], RuntimeContext]:
        """The giver of contexts to functions, in one of the tasks that are here."""

        def context_of(step: Step) -> RuntimeContext:
            return self.make_context(
                node.title,
                self.places.own[at],
                self.width(node),
                {
                    name: list(copied(node.broadcasts[name].type, values))
                    for name, values in broadcasts.items()
                },
                self.accumulators[at],
            )

        return context_of

    def all_of(self, node: Node) -> list[Any]:
        """All records of a node, in every task."""
        static = self.constants is not None and node in self.constants.nodes
        known = self.constants.everywhere if static and self.constants else self._everywhere
        if node not in known:
            known[node] = self.places.everywhere(self.parts(node))[0]
        return known[node]

    def width(self, node: Node) -> int:
        """How many tasks an operator uses; in an iteration all."""
        if self.constants is not None:
            return self.places.count
        return min(node.parallelism or self.places.count, self.places.count)

    def by_key(self, node: Node, parts: Parts, keys: Keys | None) -> Parts:
        """Bring records with equal keys to one task; without keys, all records to the first."""
        if keys is None:
            return self.places.gathered(parts)
        extract, width = keys.extractor(), self.width(node)
        return self.places.route(parts, lambda record: slot_of(extract(record), width))

    def routed(self, node: Node, source: Node, keys: Keys) -> Parts:
        """The records of a source, by key; those of a static set are moved once."""
        if self.constants is None:
            return self.by_key(node, self.parts(source), keys)
        if self._is_solution(source, keys):
            return self.parts(source)  # it is where its keys are
        if source not in self.constants.nodes:
            return self.by_key(node, self.parts(source), keys)
        known = self.constants.routed
        if (source, keys) not in known:
            known[source, keys] = self.by_key(node, self.parts(source), keys)
        return known[source, keys]

    def index(self, node: Node, source: Node, keys: Keys) -> list[dict[Any, list[Any]]] | None:
        """The records of a set by key, if it is kept from superstep to superstep."""
        if self.constants is None:
            return None
        if self._is_solution(source, keys):
            assert self.constants.solution is not None
            return [self.constants.solution[2]]
        if source not in self.constants.nodes:
            return None
        known = self.constants.indexed
        if (source, keys) not in known:
            known[source, keys] = [
                records_by_key(part, keys) for part in self.routed(node, source, keys)
            ]
        return known[source, keys]

    def _is_solution(self, source: Node, keys: Keys) -> bool:
        assert self.constants is not None
        if self.constants.solution is None:
            return False
        node, own, _ = self.constants.solution
        return source is node and keys.same_as(own)

    def groups(self, part: list[Any], keys: Keys | None) -> dict[Any, list[Any]]:
        """The records of each key, keys in order of their first record."""
        if keys is None:
            return {None: part} if part else {}
        extract = keys.extractor()
        found: dict[Any, list[Any]] = {}
        for record in part:
            found.setdefault(identity(extract(record)), []).append(record)
        return found


def records_by_key(records: list[Any], keys: Keys) -> dict[Any, list[Any]]:
    """The records of each key, without those whose key equals no other."""
    extract = keys.extractor()
    found: dict[Any, list[Any]] = {}
    for record in records:
        key = extract(record)
        if not matches_nothing(key):
            found.setdefault(identity(key), []).append(record)
    return found


def matches_nothing(key: Any) -> bool:
    """Whether a key is None or has a None: in a join it equals no other key."""
    return key is None or (key.__class__ is tuple and None in key)
