"""Programs with upserts, sinks, zones and options: Flink's tables, with a savepoint at any place too."""

from __future__ import annotations

import pytest

from millstream.common.errors import MillstreamError
from tests.support.parity.recorded_programs import SINK_DIFFERENCES, recorded_sinks
from tests.support.parity.sink_programs import SINK_PROGRAMS
from tests.support.parity.sql_programs import through_sink

COMPARED = [name for name, found in recorded_sinks().items() if "error" not in found]
REFUSED = [name for name in recorded_sinks() if name not in COMPARED]
FAILING = {
    "sink_char": "TYPE_MISMATCH",
    "sink_char_trim": "TYPE_MISMATCH",
    "sink_not_null_fails": "NOT_NULL_COLUMN",
    "sink_not_null_nested_fails": "NOT_NULL_COLUMN",
    "twice_join": "TABLE_CONNECTOR",
    "z_j_objdup": "USER_CODE",
    "z_j_objnull": "USER_CODE",
    "z_s_corr_many": "SUBQUERY_ROWS",
    "z_s_many": "SUBQUERY_ROWS",
    "z_s_retract2": "SUBQUERY_ROWS",
    "z_s_where_many": "SUBQUERY_ROWS",
}
"""Programs that break a rule, and the code of the error."""
RUNNING = [name for name in SINK_PROGRAMS if name not in FAILING]


@pytest.mark.parametrize("name", COMPARED)
def test_the_table_is_that_of_flink(name: str) -> None:
    run, wanted = through_sink(SINK_PROGRAMS[name]), recorded_sinks()[name]
    assert run.columns == wanted["columns"]
    assert (run.printed == wanted["rows"]) is (name not in SINK_DIFFERENCES), wanted["rows"]


@pytest.mark.parametrize("name", RUNNING)
def test_the_table_is_the_same_with_a_savepoint_anywhere(name: str) -> None:
    program = SINK_PROGRAMS[name]
    whole = through_sink(program).printed
    for at in (2, 6):
        assert through_sink(program, at, epochs=2).printed == whole, at


@pytest.mark.parametrize("name", FAILING)
def test_what_breaks_a_rule_fails(name: str) -> None:
    with pytest.raises(MillstreamError) as caught:
        through_sink(SINK_PROGRAMS[name])
    assert caught.value.code == FAILING[name]


def test_what_flink_refuses_fails_here_too() -> None:
    assert [name for name in REFUSED if name not in SINK_DIFFERENCES] == [
        name for name in REFUSED if name in FAILING
    ]
