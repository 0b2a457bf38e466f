"""What differs from Flink differs as we say it does, and nothing else of it does."""

from __future__ import annotations

from collections import Counter

import pytest

from millstream.common.errors import MillstreamError
from tests.support.parity.catalogue import DIFFERING, Results, program_names, recorded
from tests.support.parity.known_differences import DIFFERING_NAMES, KNOWN_DIFFERENCES, Difference
from tests.support.parity.millstream_side import run


def only_in(one: Results, other: Results) -> Results:
    """The records of one side that the other does not have, for streams with such records."""
    found = {
        stream: sorted((Counter(records) - Counter(other.get(stream, []))).elements())
        for stream, records in one.items()
    }
    return {stream: records for stream, records in found.items() if records}


@pytest.mark.parametrize("difference", KNOWN_DIFFERENCES, ids=lambda difference: difference.name)
def test_differs_as_said(difference: Difference) -> None:
    on_flink = recorded()[difference.name]
    if difference.error is not None:
        with pytest.raises(MillstreamError) as raised:
            run(difference.name, batch=False)
        assert raised.value.code == difference.error
        assert on_flink == difference.flink
        return
    for schedule in ({"batch": False}, {"batch": False, "epochs": 1}, {"batch": True}):
        ours = run(difference.name, **schedule)
        assert only_in(on_flink, ours) == difference.flink, schedule
        assert only_in(ours, on_flink) == difference.millstream, schedule


def test_every_program_that_differs_is_explained() -> None:
    programs = {name for name, module in program_names().items() if module == DIFFERING}
    assert programs <= DIFFERING_NAMES
