"""Joins and crosses, in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from millstream.dataset.kernel.copies import never_changes, own
from millstream.dataset.kernel.evaluate import (
    Evaluator,
    matches_nothing,
    operator_of,
    records_by_key,
)
from millstream.dataset.kernel.places import Parts
from millstream.dataset.kernel.steps import Step
from millstream.dataset.plan.keys import Keys, identity
from millstream.dataset.plan.nodes import Cross, Join, Node
from millstream.dataset.plan.records import field_of

__all__ = ["pair_step", "picked"]

Pair = tuple[Any, Any]


@operator_of(Join)
def _join(run: Evaluator, node: Join) -> Parts:
    left, right = node.inputs
    kept = run.index(node, right, node.right) if node.kind in ("inner", "left") else None
    if kept is not None:
        return _looked_up(run, node, left, node.left, kept, "left")
    # An index of the left set that is kept: read the right one.
    kept = run.index(node, left, node.left) if node.kind in ("inner", "right") else None
    if kept is not None:
        return _looked_up(run, node, right, node.right, kept, "right")
    lefts = run.routed(node, left, node.left)
    rights = run.routed(node, right, node.right)
    pairs = [list(_pairs(node, one, other)) for one, other in zip(lefts, rights, strict=True)]
    return _finished(run, node, pairs)


def _looked_up(
    run: Evaluator,
    node: Join,
    source: Node,
    keys: Keys,
    kept: list[dict[Any, list[Any]]],
    side: str,
) -> Parts:
    """The pairs by an index of the other set."""
    parts = zip(run.routed(node, source, keys), kept, strict=True)
    pairs = [list(_matches(keys, part, table, side, node.kind)) for part, table in parts]
    # The function may change what it gets; the index stays as it is.
    at = 1 if side == "left" else 0
    if node.function is not None and not never_changes(node.inputs[at].type):
        pairs = [[_with_own(pair, at) for pair in part] for part in pairs]
    return _finished(run, node, pairs)


def _with_own(pair: Pair, at: int) -> Pair:
    return (pair[0], own(pair[1])) if at else (own(pair[0]), pair[1])


def _matches(
    keys: Keys, records: list[Any], table: dict[Any, list[Any]], side: str, kind: str
) -> Iterator[Pair]:
    """The pairs of the records of one side, by an index of the other."""
    extract, swap, outer = keys.extractor(), side == "right", kind == side
    for record in records:
        key = extract(record)
        partners = () if matches_nothing(key) else table.get(identity(key), ())
        for partner in partners or ((None,) if outer else ()):
            yield (partner, record) if swap else (record, partner)


def _finished(run: Evaluator, node: Join | Cross, pairs: Parts) -> Parts:
    if node.function is not None:
        return run.steps(node, [pair_step(node)], pairs)
    if node.pick is not None:
        pick = picked(node.pick)
        return [[pick(pair) for pair in part] for part in pairs]
    return pairs


def pair_step(node: Join | Cross) -> Step:
    """The call of the function of a join or cross."""
    assert node.function is not None
    flat = isinstance(node, Join) and (node.flat or node.function.collects)
    return Step("flat_join" if flat else "join", node.function, node.title, node.number)


def picked(pick: tuple[tuple[int, int | str | None], ...]) -> Callable[[Pair], tuple[Any, ...]]:
    """The function that makes the record of a projection from a pair."""

    def make(pair: Pair) -> tuple[Any, ...]:
        return tuple(
            [
                pair[side] if field is None or pair[side] is None else field_of(pair[side], field)
                for side, field in pick
            ]
        )

    return make


def _pairs(node: Join, lefts: list[Any], rights: list[Any]) -> Iterator[Pair]:
    table = records_by_key(rights, node.right)
    extract = node.left.extractor()
    seen: set[Any] = set()
    for record in lefts:
        key = extract(record)
        known = None if matches_nothing(key) else identity(key)
        partners = table.get(known, ()) if known is not None else ()
        if partners:
            seen.add(known)
        for partner in partners:
            yield record, partner
        if not partners and node.kind in ("left", "full"):
            yield record, None
    if node.kind in ("right", "full"):
        extract = node.right.extractor()
        for record in rights:
            key = extract(record)
            if matches_nothing(key) or identity(key) not in seen:
                yield None, record


@operator_of(Cross)
def _cross(run: Evaluator, node: Cross) -> Parts:
    left, right = node.inputs
    others = run.all_of(right)
    pairs = [[(one, other) for one in part for other in others] for part in run.parts(left)]
    return _finished(run, node, pairs)
