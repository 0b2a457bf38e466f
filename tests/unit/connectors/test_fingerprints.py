"""Fingerprints of parts, with and without the number of parts."""

from __future__ import annotations

import pytest

from millstream.connectors import PartContext, PartMarker
from millstream.connectors.fingerprints import parts_of, same_records, with_parts


def test_a_fingerprint_keeps_the_number_of_parts() -> None:
    assert parts_of(with_parts("8-1a", 12)) == 12
    assert with_parts("8-1a", 0) == "8-1a", "the number is not known"
    assert parts_of("8-1a") == 0


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("8-1a of 4", "8-1a of 4", True),
        ("8-1a", "8-1a of 4", True),
        ("8-1a of 4", "8-1a", True),
        ("8-1a of 4", "8-1a of 3", False),
        ("8-1a of 4", "8-1b of 4", False),
        ("8-1a", "8-1b of 4", False),
    ],
)
def test_old_fingerprints_have_no_number(one: str, other: str, same: bool) -> None:
    assert same_records(one, other) is same
    context = PartContext(job_id="job", sink="sink", epoch=1, part=0, fingerprint=other)
    assert PartMarker(1, one).has_records_of(context) is same
