"""Programs of PyFlink's Table API return in memory what they return on Flink, which is recorded."""

from __future__ import annotations

import pytest

from millstream.testing import in_memory
from tests.support.parity.python_tables import answer, program_names, recorded

DIFFERENCES = {
    "conditions_as_values": "a part of a text may be NULL, and its type says so, as in SQL",
    "from_pandas_zones": "instants of a frame as text have the clock of UTC in PyFlink",
    "group_windows": "the start of a window is never NULL, and its type says so, as in SQL",
    "stream_types": "PyFlink says 6 for the digits of instants of streams, which have 9",
    "times_of_expressions": "a date of a text may be NULL, and its type says so, as in SQL",
    "udaf_in_tumbling_windows": "the start of a window is never NULL, and its type says so, as in SQL",
    "udf_async": "two rows at once get the result of one of them in PyFlink",
    "udf_local_timestamps": "PyFlink takes instants without a zone for those of the machine, and its "
    "functions get the clock of UTC with the zone of the session, which is another instant",
    "windows_behind_windows": "the start of a window is never NULL, and its type says so, as in SQL",
}
"""Programs whose results differ, and why."""


@pytest.mark.parametrize("name", recorded())
def test_a_program_returns_what_it_returns_on_flink(name: str) -> None:
    with in_memory():
        found = answer(name)
    if name in DIFFERENCES:
        assert found != recorded()[name], f"{name} does not differ any more"
    else:
        assert found == recorded()[name]


@pytest.mark.parametrize("name", [each for each in program_names() if each not in recorded()])
def test_a_program_that_flink_was_not_asked_about_runs(name: str) -> None:
    with in_memory():
        found = answer(name)
    assert not (isinstance(found, dict) and "error" in found), found
