"""Options of tables."""

from __future__ import annotations

import pytest

from millstream.common.errors import PlanError
from millstream.table.connectors.options import Option, Options

KNOWN = (
    Option("connector", required=True),
    Option("topic", required=True),
    Option("scan.mode", choices=("a", "b")),
    Option("properties.", prefix=True),
)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"connector": "k", "topik": "t"}, "did you mean 'topic'"),
        ({"connector": "k"}, "needs the option 'topic'"),
        ({"connector": "k", "topic": "t", "scan.mode": "c"}, "use one of 'a', 'b'"),
    ],
)
def test_wrong_options_are_refused_with_a_hint(given, message):
    with pytest.raises(PlanError, match=message):
        Options("t", given).check(KNOWN)


def test_right_options_are_read():
    options = Options(
        "t", {"connector": "k", "topic": "x", "properties.a.b": "1", "n": "5", "f": "TRUE"}
    )
    Options("t", {"connector": "k", "topic": "x", "properties.a.b": "1"}).check(KNOWN)
    assert options.below("properties.") == {"a.b": "1"}
    assert options.number("n") == 5 and options.number("m") is None
    assert options.flag("f") and not options.flag("g")
    assert Options("t", {"d": "5 s"}).millis("d") == 5000


def test_values_that_do_not_fit_are_refused():
    with pytest.raises(PlanError, match="whole number"):
        Options("t", {"n": "x"}).number("n")
    with pytest.raises(PlanError, match="'true' or 'false'"):
        Options("t", {"n": "x"}).flag("n")


def test_secrets_are_masked():
    given = {"password": "geheim", "ssl.key": "geheim", "url": "pg://me:geheim@h/d", "topic": "t"}
    options = Options("t", given)
    assert "geheim" not in "".join(map(options.shown, given))
    assert options.shown("topic") == "t"
    with pytest.raises(PlanError) as refused:
        Options("t", {"ssl.key": "geheim"}).number("ssl.key")
    assert "geheim" not in str(refused.value)
