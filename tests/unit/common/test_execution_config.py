"""Settings of the run."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from millstream.common import _logging
from millstream.common.errors import ConfigurationError, PlanError
from millstream.common.execution_config import ExecutionConfig, accepted_without_effect


@pytest.fixture(autouse=True)
def _nothing_told_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_logging, "_told", set())


def test_defaults() -> None:
    config = ExecutionConfig()
    assert config.get_parallelism() == ExecutionConfig.PARALLELISM_DEFAULT == -1
    assert config.get_max_parallelism() == -1
    assert config.get_auto_watermark_interval() == 0
    assert config.has_auto_generated_uids_enabled() is True
    assert config.get_global_job_parameters() == {}


def test_setters_return_the_config() -> None:
    config = ExecutionConfig()
    assert config.set_parallelism(4).set_max_parallelism(128) is config
    assert (config.get_parallelism(), config.get_max_parallelism()) == (4, 128)
    assert config.set_parallelism(ExecutionConfig.PARALLELISM_DEFAULT).get_parallelism() == -1


@pytest.mark.parametrize("value", [0, -2, 2**15 + 1, 1.5, "4", True, None])
def test_parallelism_is_checked(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="from 1 to 32768") as caught:
        ExecutionConfig().set_parallelism(value)
    assert caught.value.location is not None and caught.value.location.file == __file__
    with pytest.raises(ConfigurationError):
        ExecutionConfig().set_max_parallelism(value)


def test_auto_watermark_interval() -> None:
    assert ExecutionConfig().set_auto_watermark_interval(200).get_auto_watermark_interval() == 200
    config = ExecutionConfig().set_auto_watermark_interval("1 s")
    assert config.get_auto_watermark_interval() == 1000
    with pytest.raises(PlanError, match="auto_watermark_interval"):
        config.set_auto_watermark_interval(-1)


def test_uids_and_parameters() -> None:
    config = ExecutionConfig().disable_auto_generated_uids()
    assert config.has_auto_generated_uids_enabled() is False
    assert config.enable_auto_generated_uids().has_auto_generated_uids_enabled() is True
    config.set_global_job_parameters({"a": 1})
    assert config.get_global_job_parameters() == {"a": "1"}


SWITCHES = [
    ("enable_object_reuse", "disable_object_reuse", "is_object_reuse_enabled", False),
    ("enable_closure_cleaner", "disable_closure_cleaner", "is_closure_cleaner_enabled", True),
    ("enable_force_kryo", "disable_force_kryo", "is_force_kryo_enabled", False),
    ("enable_force_avro", "disable_force_avro", "is_force_avro_enabled", False),
    ("disable_generic_types", "enable_generic_types", "has_generic_types_disabled", False),
]


@pytest.mark.parametrize(("on", "off", "read", "default"), SWITCHES)
def test_switches_without_effect_are_remembered(
    on: str, off: str, read: str, default: bool
) -> None:
    config = ExecutionConfig()
    assert getattr(config, read)() is default
    assert getattr(getattr(config, on)(), read)() is True
    assert getattr(getattr(config, off)(), read)() is False


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("latency_tracking_interval", 0),
        ("task_cancellation_interval", 30_000),
        ("task_cancellation_timeout", 180_000),
        ("buffer_timeout", 100),
    ],
)
def test_spans_without_effect_are_checked_and_remembered(name: str, default: int) -> None:
    config = ExecutionConfig()
    assert getattr(config, f"get_{name}")() == default
    assert getattr(getattr(config, f"set_{name}")(7), f"get_{name}")() == 7
    with pytest.raises(PlanError):
        getattr(config, f"set_{name}")("soon")


def test_snapshot_compression() -> None:
    config = ExecutionConfig().set_use_snapshot_compression(True)
    assert config.is_use_snapshot_compression() is True
    with pytest.raises(ConfigurationError, match="True or False"):
        config.set_use_snapshot_compression("yes")  # type: ignore[arg-type]


def test_options_without_effect_are_explained_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "millstream"):
        ExecutionConfig().enable_object_reuse().disable_object_reuse()
        ExecutionConfig().enable_object_reuse()
    assert len(caplog.records) == 1
    assert "object reuse is accepted without effect: " in caplog.text


def test_accepted_without_effect(caplog: pytest.LogCaptureFixture) -> None:
    assert accepted_without_effect("x", "because") is True
    assert accepted_without_effect("x", "because") is False
    assert caplog.messages == ["x is accepted without effect: because"]


def test_equality() -> None:
    assert ExecutionConfig().set_parallelism(2) == ExecutionConfig().set_parallelism(2)
    assert ExecutionConfig() != ExecutionConfig().set_parallelism(2)


def test_there_are_no_java_serializers() -> None:
    config = ExecutionConfig()
    assert config.get_default_kryo_serializer_classes() == {}
    assert config.get_registered_kryo_types() == config.get_registered_pojo_types() == []
    assert hash(config) == hash(ExecutionConfig())
