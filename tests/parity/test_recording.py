"""What is recorded of Flink is what Flink gives.

One process of PyFlink's environment runs everything; the tests look at its results.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.parity.record import names_of_flink, run_on_flink
from tests.support.parity.catalogue import NAMES, Results, recorded
from tests.support.parity.flink_env import NoFlinkError, flink_python

pytestmark = pytest.mark.parity


@pytest.fixture(scope="module")
def python(request: pytest.FixtureRequest) -> Path:
    """PyFlink's interpreter."""
    if "parity" not in request.config.getoption("-m"):
        pytest.skip("runs Flink for minutes, and may install it: ask for it with -m parity")
    try:
        return flink_python()
    except NoFlinkError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def fresh(python: Path) -> dict[str, Results]:
    """What Flink gives now."""
    return run_on_flink(python)


@pytest.mark.parametrize("name", sorted(recorded()))
def test_flink_still_gives_what_is_recorded(name: str, fresh: dict[str, Results]) -> None:
    assert fresh[name] == recorded()[name]


def test_the_names_of_the_api_are_flinks(python: Path) -> None:
    assert names_of_flink(python) == json.loads(NAMES.read_text(encoding="utf-8"))
