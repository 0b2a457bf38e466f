"""A sample of the recorded results of functions is what Flink gives now."""

from __future__ import annotations

from typing import Any

import pytest

from tests.parity.record_functions import ask_flink
from tests.support.functions.comparing import recorded
from tests.support.functions.questions import questions
from tests.support.parity.flink_env import NoFlinkError, flink_python

pytestmark = pytest.mark.parity


def test_flink_still_gives_the_recorded_results(request: pytest.FixtureRequest) -> None:
    if "parity" not in request.config.getoption("-m"):
        pytest.skip("runs Flink, and may install it: ask for it with -m parity")
    try:
        python = flink_python()
    except NoFlinkError as error:
        pytest.skip(str(error))
    known = recorded()
    asked = {name: group for name, group in questions().items() if name in known}
    for group in asked.values():
        group["expressions"] = group["expressions"][::40]
    changed = {
        (name, text): (answer, known[name][text])
        for name, answers in ask_flink(python, asked).items()
        for text, answer in answers.items()
        if _outcome(*answer) != _outcome(*known[name][text])
    }
    assert changed == {}


def _outcome(kind: str, value: Any) -> tuple[str, Any]:
    """The type and the value; rows come in any order, and words of errors are cut anywhere."""
    if isinstance(value, dict) and "error" in value:
        return "refused" if kind.startswith("!") else kind, value["error"]
    return kind, sorted(value, key=repr) if isinstance(value, list) else value
