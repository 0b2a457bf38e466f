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
    for name, answers in ask_flink(python, asked).items():
        found = {text: _outcome(*answer) for text, answer in answers.items()}
        assert found == {text: _outcome(*known[name][text]) for text in answers}


def _outcome(kind: str, value: Any) -> tuple[str, Any]:
    """The type and the value; rows come in any order, and words of refusals are cut anywhere."""
    rows = sorted(value, key=repr) if isinstance(value, list) else value
    return "refused" if kind.startswith("!") else kind, rows
