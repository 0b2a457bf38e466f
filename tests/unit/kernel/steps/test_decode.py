"""Decoding in the source's own operator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from millstream.common import Types, WatermarkStrategy
from millstream.common.errors import PlanError, UserCodeError
from millstream.connectors import ChannelSource, Chunk, Source
from millstream.datastream import OutputTag
from millstream.datastream.window import TumblingEventTimeWindows
from millstream.kernel.records.columns import Values, as_list
from millstream.kernel.records.order import Ints
from millstream.kernel.steps.decode import Decoded, Undecoded
from millstream.testing import run_local

BAD = OutputTag("bad")
TEXTS = [("1", 1_000), ("x", 2_000), ("-", 3_000), ("4", 12_000), ("y", 13_000), ("6", 14_000)]


class Texts(ChannelSource):
    bounded = True

    def latest(self) -> Any:
        return {"texts": len(TEXTS)}

    def read(self, channel: Any, start: int, stop: int) -> Iterator[Chunk]:
        found = TEXTS[start:stop]
        yield Chunk([text for text, _ in found], [ts for _, ts in found])


class Numbers:
    """Whole numbers; a dash is nothing."""

    def open(self) -> None:
        pass

    def decode(self, values: Values, timestamps: Ints) -> Decoded:
        made, places, failed = [], [], []
        for place, text in enumerate(as_list(values)):
            try:
                if text != "-":
                    made.append(int(text))
                    places.append(place)
            except ValueError as error:
                failed.append(Undecoded(place, error, text))
        return Decoded(made, places, failed)


class NumberSource(Source):
    def parts(self) -> tuple[Texts]:
        return (Texts(),)

    def decoder(self) -> Numbers:
        return Numbers()

    def get_produced_type(self) -> Any:
        return Types.LONG()


def numbers(env: Any, strategy: WatermarkStrategy | None = None) -> Any:
    return env.from_source(
        NumberSource(), strategy or WatermarkStrategy.for_monotonous_timestamps(), "numbers"
    )


def test_what_cannot_be_decoded_fails_the_job() -> None:
    with pytest.raises(UserCodeError, match=r"source 'numbers': decoding.*ValueError") as error:
        run_local(numbers)
    assert error.value.record == "'x'"
    assert "on_error" in (error.value.hint or "")


@pytest.mark.parametrize("epochs", ["all", 1, 2, 4])
@pytest.mark.parametrize("timed", [True, False])
def test_it_goes_to_the_side_output_of_the_source(epochs: Any, timed: bool) -> None:
    def program(env: Any) -> dict[str, Any]:
        strategy = None if timed else WatermarkStrategy.no_watermarks()
        found = numbers(env, strategy).on_error("skip", BAD)
        return {"numbers": found, "bad": found.get_side_output(BAD)}

    results = run_local(program, epochs=epochs)
    assert results.values("numbers") == [1, 4, 6]
    letters = results.values("bad")
    assert [(one.value, one.timestamp) for one in letters] == [("x", 2_000), ("y", 13_000)]
    assert letters[0].operator == "numbers"
    assert results.metrics.sources[letters[0].uid].skipped == 2


@pytest.mark.parametrize("epochs", ["all", 1, 2, 3, 4])
def test_dead_letters_have_the_place_of_their_record_in_event_time(epochs: Any) -> None:
    """They can be windowed: none is late, and windows fire at the same places, however input is cut."""

    def program(env: Any) -> Any:
        found = numbers(env).on_error("skip", BAD).get_side_output(BAD)
        letters = found.map(lambda letter: letter.value, Types.STRING())
        windows = letters.key_by(lambda _: 0).window(TumblingEventTimeWindows.of("10 s"))
        return windows.reduce(lambda a, b: a + b)

    assert run_local(program, epochs=epochs).values() == ["x", "y"]


def test_an_assigner_that_fails_skips_to_the_same_side_output() -> None:
    def time_of(value: int, ts: int) -> int:
        return ts // (value - 4)

    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(time_of)

    def program(env: Any) -> dict[str, Any]:
        found = numbers(env, strategy).on_error("skip", BAD)
        return {"numbers": found, "bad": found.get_side_output(BAD)}

    results = run_local(program)
    assert results.values("numbers") == [1, 6]
    assert {str(letter.value) for letter in results.values("bad")} == {"x", "4", "y"}


def test_a_source_without_a_decoder_has_nothing_to_skip() -> None:
    with pytest.raises(PlanError, match="NO_ERROR_POLICY"):
        run_local(
            lambda env: env.from_source(
                Texts(), WatermarkStrategy.no_watermarks(), "texts"
            ).on_error("skip")
        )


def test_other_elements_in_the_place_of_the_source_are_records_already() -> None:
    untimed = WatermarkStrategy.no_watermarks()
    results = run_local(lambda env: numbers(env, untimed), sources={"numbers": [7, 8]})
    assert results.values() == [7, 8]
