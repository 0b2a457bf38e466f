"""Messages that cannot be decoded: the error shows them, and `on_error("skip")` skips them."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from millstream.common import Types
from millstream.common.errors import FormatError, MillstreamError, UserCodeError
from millstream.common.serialization import SimpleStringSchema, beginning
from millstream.datastream import OutputTag, StreamExecutionEnvironment
from millstream.datastream.formats.csv import CsvRowDeserializationSchema
from millstream.datastream.formats.json import JsonRowDeserializationSchema
from millstream.testing import run_local

ROW = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])
JSON = JsonRowDeserializationSchema.builder().type_info(ROW)
BAD = OutputTag("bad")


@pytest.mark.parametrize(
    ("schema", "good", "bad", "code"),
    [
        (JSON.build(), b'{"n": 1}', b'{"n": "one"}', "BAD_JSON"),
        (JSON.fail_on_missing_field().build(), b'{"word": "", "n": 1}', b"{}", "MISSING_FIELD"),
        (CsvRowDeserializationSchema.Builder(ROW).build(), b"a,1", b"a,b", "BAD_CSV"),
        (SimpleStringSchema(), b"a", b"\xff", "BAD_TEXT"),
    ],
)
def test_a_message_that_cannot_be_decoded_is_a_dead_letter(
    schema: Any, good: bytes, bad: bytes, code: str
) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    decoded = env.from_collection([good, bad, good]).map(schema.deserialize).on_error("skip", BAD)
    decoded.print()
    decoded.get_side_output(BAD).map(lambda letter: (letter.value, letter.error)).print()
    results = run_local(env)
    assert len(results.values("Print")) == 2
    ((value, error),) = results.values("Print 2")
    assert value == bad and code in error


def test_without_a_policy_the_job_fails_and_names_the_message() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([b"\xff"]).map(SimpleStringSchema().deserialize).print()
    with pytest.raises(UserCodeError, match=r"BAD_TEXT.*b'\\xff'"):
        run_local(env)


def test_the_error_names_the_field_and_shows_the_beginning() -> None:
    long = b'{"word": "' + b"a" * 300 + b'", "n": "one"}'
    with pytest.raises(FormatError) as info:
        JSON.build().deserialize(long)
    assert "field 'n'" in str(info.value) and f"({len(long)} bytes)" in str(info.value)
    assert len(str(info.value)) < 500
    assert not isinstance(info.value, MillstreamError)


def test_the_error_travels() -> None:
    error = pickle.loads(pickle.dumps(FormatError("BAD_JSON", "why", "do this")))
    assert (error.code, error.message, error.hint) == ("BAD_JSON", "why", "do this")
    assert str(error) == "[BAD_JSON] why; do this"


def test_a_short_message_is_shown_as_it_is() -> None:
    assert beginning("abc") == "'abc'"
    assert beginning("a" * 300).endswith("... (300 characters)")
