"""Joins and crosses, in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from millstream.dataset.kernel.evaluate import Evaluator, operator_of
from millstream.dataset.kernel.places import Parts
from millstream.dataset.kernel.steps import Step
from millstream.dataset.plan.keys import Keys, identity
from millstream.dataset.plan.nodes import Cross, Join
from millstream.dataset.plan.records import field_of

__all__ = ["matches_nothing", "pair_step", "picked"]

Pair = tuple[Any, Any]


@operator_of(Join)
def _join(run: Evaluator, node: Join) -> Parts:
    left, right = node.inputs
    lefts = run.by_key(node, run.parts(left), node.left)
    rights = run.by_key(node, run.parts(right), node.right)
    pairs = [list(_pairs(node, one, other)) for one, other in zip(lefts, rights, strict=True)]
    return _finished(run, node, pairs)


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


def matches_nothing(key: Any) -> bool:
    """Whether a key is None or has a None: in a join it equals no other key."""
    return key is None or (key.__class__ is tuple and None in key)


def _by_key(records: list[Any], keys: Keys) -> dict[Any, list[Any]]:
    extract = keys.extractor()
    found: dict[Any, list[Any]] = {}
    for record in records:
        key = extract(record)
        if not matches_nothing(key):
            found.setdefault(identity(key), []).append(record)
    return found


def _pairs(node: Join, lefts: list[Any], rights: list[Any]) -> Iterator[Pair]:
    table = _by_key(rights, node.right)
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
