"""The evaluator gives what Flink has given, for all recorded expressions."""

from __future__ import annotations

import json

import pytest

from tests.support.functions.comparing import DIFFERENCES, disagreements, recorded


@pytest.mark.parametrize("group", sorted(recorded()))
def test_values_and_types_are_those_of_flink(group: str) -> None:
    known = json.loads(DIFFERENCES.read_text(encoding="utf-8")).get(group, {})
    found = dict(disagreements(group, recorded()[group]))
    assert {text: found[text] for text in found if text not in known} == {}
    # What agrees now is no difference any more.
    assert [text for text in known if text not in found] == []


def test_nearly_all_recorded_answers_agree() -> None:
    answers = recorded()
    known = json.loads(DIFFERENCES.read_text(encoding="utf-8"))
    total = sum(map(len, answers.values()))
    assert sum(map(len, known.values())) < total * 0.02
