"""Queries about time give what Flink gives: its results are recorded, and some are asked for again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from millstream.common.errors import PlanError
from tests.parity.record_timed import ask_flink
from tests.support.parity.flink_env import NoFlinkError, flink_python
from tests.support.parity.millstream_sql import on_millstream
from tests.support.parity.timed_programs import PROGRAMS, RECORDED

ANSWERS: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))
REFUSED = {
    "order by value": "SORT_NEEDS_TIME",
    "order by time descending": "SORT_NEEDS_TIME",
    "offset": "OFFSET_NEEDS_LIMIT",
    "offset by value": "OFFSET_NEEDS_LIMIT",
    "offset only": "OFFSET_NEEDS_LIMIT",
}
"""What both refuse. Millstream runs the other queries that Flink refuses."""
GIVEN = [name for name in PROGRAMS if "rows" in ANSWERS[name]]


def rounded(rows: list[list[Any]]) -> list[list[Any]]:
    """Rows whose fractions have 12 digits: sums of fractions depend on the order of adding."""
    return [[float(f"{v:.12g}") if isinstance(v, float) else v for v in row] for row in rows]


@pytest.mark.parametrize("name", GIVEN)
def test_rows_are_those_of_flink(name: str) -> None:
    assert rounded(on_millstream(PROGRAMS[name])) == rounded(ANSWERS[name]["rows"])


@pytest.mark.parametrize("name", [name for name in PROGRAMS if "error" in ANSWERS[name]])
def test_queries_that_flink_refuses(name: str) -> None:
    if name not in REFUSED:
        on_millstream(PROGRAMS[name])
        return
    with pytest.raises(PlanError) as error:
        on_millstream(PROGRAMS[name])
    assert error.value.code == REFUSED[name]


@pytest.mark.parametrize("epochs", [1, 5])
@pytest.mark.parametrize("name", [name for name in GIVEN if not PROGRAMS[name].batch])
def test_the_cut_into_epochs_does_not_matter(name: str, epochs: int) -> None:
    found = on_millstream(PROGRAMS[name], epochs=epochs)
    assert rounded(found) == rounded(ANSWERS[name]["rows"])


@pytest.mark.parity
def test_flink_still_gives_the_recorded_results(request: pytest.FixtureRequest) -> None:
    if "parity" not in request.config.getoption("-m"):
        pytest.skip("runs Flink, and may install it: ask for it with -m parity")
    try:
        flink_python()
    except NoFlinkError as error:
        pytest.skip(str(error))
    names = GIVEN[::8]
    assert ask_flink(names) == {name: ANSWERS[name] for name in names}
