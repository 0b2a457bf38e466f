"""Options of streams, as Spark writes them."""

from __future__ import annotations

import pytest

from millstream.common.errors import PlanError
from millstream.dstream.inputs.options import is_on, millis_of, number_of


@pytest.mark.parametrize(
    ("text", "expected"), [("200ms", 200), ("2s", 2000), ("1min", 60_000), ("5", 5000)]
)
def test_times_have_units_or_that_of_their_key(text: str, expected: int) -> None:
    assert millis_of({"key": text}, "key", 7, unit_ms=1000) == expected


def test_what_is_not_given_has_its_default() -> None:
    assert (millis_of({}, "a", 7), number_of({}, "a", 1.5), is_on({}, "a")) == (7, 1.5, False)


def test_switches() -> None:
    assert is_on({"a": " True "}, "a")
    assert not is_on({"a": "false"}, "a")


def test_values_that_do_not_fit_are_refused() -> None:
    for ask in (
        lambda: millis_of({"a": "soon"}, "a", 1),
        lambda: number_of({"a": "many"}, "a", 1),
        lambda: is_on({"a": "perhaps"}, "a"),
    ):
        with pytest.raises(PlanError, match=r"STREAMING_OPTION.*a cannot be"):
            ask()
