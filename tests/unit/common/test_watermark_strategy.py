"""Timestamps and watermarks."""

from __future__ import annotations

import dataclasses
import logging
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common import _logging
from millstream.common.errors import PlanError, TypeMismatchError
from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP, Duration
from millstream.common.watermark_strategy import (
    AssignerWatermarks,
    TimestampAssigner,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from tests.support.strategies import examples


class Recorder:
    """A `WatermarkOutput` that remembers."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def emit_watermark(self, watermark: Watermark) -> None:
        self.seen.append(watermark.timestamp)

    def mark_idle(self) -> None:
        self.seen.append("idle")

    def mark_active(self) -> None:
        self.seen.append("active")


class Second(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class Duck:
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return record_timestamp + 1


class EveryEvent(WatermarkGenerator):
    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(timestamp))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.mark_idle()


def test_kinds() -> None:
    assert WatermarkStrategy.for_monotonous_timestamps().kind == "monotonous"
    assert WatermarkStrategy.no_watermarks().kind == "none"
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
    assert (bounded.kind, bounded.out_of_orderness_ms) == ("bounded", 5000)
    custom = WatermarkStrategy.for_generator(EveryEvent)
    assert custom.kind == "custom" and custom.generator_factory is EveryEvent


def test_defaults() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    assert (strategy.out_of_orderness_ms, strategy.assigner, strategy.idleness_ms) == (
        0,
        None,
        None,
    )
    assert strategy.generator_factory is None


def test_with_methods_return_copies() -> None:
    base = WatermarkStrategy.for_monotonous_timestamps()
    rich = base.with_idleness("10 s").with_timestamp_assigner(Second())
    assert (base.idleness_ms, base.assigner) == (None, None)
    assert rich.idleness_ms == 10_000 and isinstance(rich.assigner, Second)
    with pytest.raises(dataclasses.FrozenInstanceError):
        base.idleness_ms = 1  # type: ignore[misc]


@pytest.mark.parametrize("assigner", [lambda value, ts: ts + 1, Duck()])
def test_functions_and_ducks_are_assigners(assigner: Any) -> None:
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(assigner)
    assert isinstance(strategy.assigner, TimestampAssigner)
    assert strategy.assigner.extract_timestamp("x", 4) == 5


@pytest.mark.parametrize("assigner", [lambda value: 1, 5, None, Second, Duck, "ts"])
def test_other_things_are_no_assigners(assigner: Any) -> None:
    with pytest.raises(PlanError, match="INVALID_TIMESTAMP_ASSIGNER") as caught:
        WatermarkStrategy.no_watermarks().with_timestamp_assigner(assigner)
    assert caught.value.location is not None and caught.value.location.file == __file__


@pytest.mark.parametrize("supplier", [None, 3, EveryEvent()])
def test_for_generator_needs_a_supplier(supplier: Any) -> None:
    with pytest.raises(PlanError, match="INVALID_WATERMARK_GENERATOR"):
        WatermarkStrategy.for_generator(supplier)


def test_bounds_and_timeouts_are_checked() -> None:
    with pytest.raises(PlanError, match="max_out_of_orderness"):
        WatermarkStrategy.for_bounded_out_of_orderness(-1)
    with pytest.raises(PlanError, match="longer than zero"):
        WatermarkStrategy.no_watermarks().with_idleness(0)


def test_alignment_is_accepted_and_explained_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_logging, "_told", set())
    strategy = WatermarkStrategy.no_watermarks()
    with caplog.at_level(logging.WARNING, "millstream"):
        for _ in range(2):
            aligned = strategy.with_watermark_alignment("g", Duration.of_seconds(1), "1 s")
    assert aligned == strategy
    assert len(caplog.records) == 1 and "watermark alignment" in caplog.text
    with pytest.raises(PlanError, match="max_allowed_watermark_drift"):
        strategy.with_watermark_alignment("g", "never")


@examples(100)
@given(st.lists(st.integers(-(10**15), 10**15)), st.integers(0, 10**9))
def test_bounded_watermarks_follow_the_latest_timestamp(timestamps: list[int], bound: int) -> None:
    output = Recorder()
    generator = WatermarkStrategy.for_bounded_out_of_orderness(bound).create_generator()
    for timestamp in timestamps:
        generator.on_event(None, timestamp, output)
        generator.on_periodic_emit(output)
    latest = [max(timestamps[: i + 1]) for i in range(len(timestamps))]
    assert output.seen == [timestamp - bound - 1 for timestamp in latest]


def test_watermark_before_the_first_record_is_the_lowest() -> None:
    output = Recorder()
    WatermarkStrategy.for_bounded_out_of_orderness("1 s").create_generator().on_periodic_emit(
        output
    )
    assert output.seen == [MIN_TIMESTAMP]


def test_monotonous_watermark_is_one_below_the_timestamp() -> None:
    output = Recorder()
    generator = WatermarkStrategy.for_monotonous_timestamps().create_generator()
    generator.on_event(None, 100, output)
    generator.on_periodic_emit(output)
    assert output.seen == [99]


def test_no_watermarks_means_none() -> None:
    output = Recorder()
    generator = WatermarkStrategy.no_watermarks().create_generator()
    generator.on_event(None, 100, output)
    generator.on_periodic_emit(output)
    assert output.seen == []


def test_each_channel_has_its_own_generator() -> None:
    strategy = WatermarkStrategy.for_generator(EveryEvent)
    assert strategy.create_generator() is not strategy.create_generator()


def test_assigner_watermarks() -> None:
    output = Recorder()
    strategy = WatermarkStrategy.for_generator(EveryEvent).with_timestamp_assigner(Second())
    channel = AssignerWatermarks(strategy)
    assert channel.timestamp_of(("a", 7)) == 7
    channel.on_event(("a", 7), 7, output)
    channel.on_periodic_emit(output)
    assert output.seen == [7, "idle"]
    assert isinstance(output, WatermarkOutput)


def test_without_assigner_the_record_keeps_its_timestamp() -> None:
    channel = AssignerWatermarks(WatermarkStrategy.no_watermarks())
    assert channel.timestamp_of("x", 5) == 5 and channel.timestamp_of("x") == MIN_TIMESTAMP


def _returning(timestamp: Any) -> AssignerWatermarks:
    strategy = WatermarkStrategy.no_watermarks()
    return AssignerWatermarks(strategy.with_timestamp_assigner(lambda value, ts: timestamp))


@pytest.mark.parametrize("timestamp", [None, 1.5, "7", True, 2**63, -(2**63) - 1])
def test_wrong_timestamps_are_refused(timestamp: Any) -> None:
    with pytest.raises(TypeMismatchError, match="INVALID_TIMESTAMP"):
        _returning(timestamp).timestamp_of("x")


def test_numpy_timestamps_become_ints() -> None:
    assert type(_returning(np.int64(7)).timestamp_of("x")) is int


def test_watermark() -> None:
    assert Watermark(MAX_TIMESTAMP) == Watermark.MAX_WATERMARK
    assert Watermark(1) < Watermark(2) and Watermark(1).timestamp == 1
