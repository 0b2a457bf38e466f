"""Regular expressions over whole columns: the same as the functions of one value."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.table.expressions import Literal, kinds
from millstream.table.functions import bind
from millstream.table.functions.quick_regexps import same_in_re2
from tests.unit.table.functions.test_quick_texts import check_column, literal

TEXTS = st.lists(st.none() | st.text("aAb1&=_ \n\r\0éß\u2028\U0001f600", max_size=8), max_size=6)
ATOMS = st.sampled_from(
    ["a", "b", "A", "1", "&", "=", "_", " ", "[^&]", "[ab]", "[^a-z]", r"\d", r"\W", r"\.", r"\w"]
)
REPEATED = st.builds("{}{}".format, ATOMS, st.sampled_from(["", "", "*", "+", "?", "*?", "+?"]))
RUNS = st.lists(REPEATED, max_size=3).map("".join)
CHOICES = st.lists(RUNS | st.just("^"), min_size=1, max_size=3).map("|".join)
GROUPS = st.builds("({})".format, CHOICES | st.builds("{}({})".format, RUNS, CHOICES))
PATTERNS = st.one_of(
    st.lists(GROUPS | RUNS, max_size=4).map("".join),
    CHOICES,
    st.builds("{}|{}".format, GROUPS, GROUPS),
    # Whatever comes, also what is no pattern.
    st.text(r"ab1.*+?|()[]{}^$\d-&", max_size=6),
)


@pytest.mark.parametrize("name", ["REGEXP", "REGEXP_SUBSTR", "REGEXP_EXTRACT"])
@settings(deadline=None)
@given(TEXTS, PATTERNS)
def test_patterns(name: str, column: list[object], pattern: str) -> None:
    check_column(lambda text: bind(name, [text, literal(pattern)]), column, kinds.STRING)


@settings(deadline=None)
@given(TEXTS, PATTERNS, st.integers(-1, 3))
def test_groups(column: list[object], pattern: str, group: int) -> None:
    check_column(
        lambda text: bind("REGEXP_EXTRACT", [text, literal(pattern), literal(group)]),
        column,
        kinds.STRING,
    )


def test_what_both_read_alike() -> None:
    channel = "(&|^)channel_id=([^&]*)"
    assert same_in_re2(channel, 2) == "(?:&|^)channel_id=(?P<found>[^&]*)"
    assert same_in_re2(channel, 1) == "(?P<found>&|^)channel_id=(?:[^&]*)"
    assert same_in_re2(channel) == "(?P<found>(?:&|^)channel_id=(?:[^&]*))"


@pytest.mark.parametrize(
    ("pattern", "group"),
    [
        ("a.", 0),  # other ends of lines
        ("a$", 0),
        (r"\s", 0),
        ("(a|b)*", 0),  # the last round counts, and RE2 knows others
        ("a{2}", 0),
        ("a*+", 0),
        ("(?i)a", 0),
        ("[a&&b]", 0),
        ("a(b", 0),
        ("a)", 0),
        ("(a)|b", 1),  # no part of each match
        ("((a)|b)", 2),
        ("(a)", 2),
        ("(a)", -1),
    ],
)
def test_what_may_differ(pattern: str, group: int) -> None:
    assert same_in_re2(pattern, group) is None


def test_a_pattern_that_is_null() -> None:
    nothing = Literal(kinds.STRING, None)
    check_column(lambda text: bind("REGEXP", [text, nothing]), ["a", None], kinds.STRING)
