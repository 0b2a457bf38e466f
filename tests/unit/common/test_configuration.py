"""Settings and their options."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.common.config_options import ConfigOption, ConfigOptions
from millstream.common.configuration import Configuration
from millstream.common.errors import ConfigurationError

SLOTS = ConfigOptions.key("millstream.slots").int_type().default_value(4)
PAUSE = ConfigOptions.key("millstream.pause").duration_type().no_default_value()


def test_typed_setters_and_getters() -> None:
    config = Configuration()
    config.set_string("s", "x").set_integer("i", 2**40).set_boolean("b", False).set_float("f", 0.5)
    assert config.get_string("s", "") == "x"
    assert config.get_integer("i", 0) == 2**40
    assert config.get_boolean("b", True) is False
    assert config.get_float("f", 0.0) == 0.5


def test_defaults() -> None:
    config = Configuration()
    assert config.get_string("s", "d") == "d" and config.get_integer("i", 3) == 3
    assert config.get_boolean("b", True) is True and config.get_float("f", 1.5) == 1.5


def test_values_are_converted_on_the_way_out() -> None:
    config = Configuration.from_dict({"i": " 5 ", "b": "TRUE", "f": "1e3", "n": 7})
    assert config.get_integer("i", 0) == 5
    assert config.get_boolean("b", False) is True
    assert config.get_float("f", 0.0) == 1000.0
    assert config.get_string("n", "") == "7"


@pytest.mark.parametrize(
    ("method", "value"),
    [
        ("get_integer", "x"),
        ("get_integer", "1.5"),
        ("get_integer", True),
        ("get_integer", 1.5),
        ("get_integer", 2**63),
        ("get_boolean", "yes"),
        ("get_boolean", 1),
        ("get_float", "x"),
        ("get_float", False),
    ],
)
def test_values_of_a_wrong_kind_are_named(method: str, value: Any) -> None:
    config = Configuration().set("the.option", value)
    with pytest.raises(ConfigurationError) as caught:
        getattr(config, method)("the.option", None)
    assert caught.value.code == "INVALID_OPTION_VALUE"
    assert "'the.option'" in caught.value.message and repr(value) in caught.value.message


def test_setters_check_their_values() -> None:
    for setter, value in (("set_integer", "x"), ("set_boolean", "maybe"), ("set_float", "x")):
        with pytest.raises(ConfigurationError):
            getattr(Configuration(), setter)("k", value)


@pytest.mark.parametrize("key", ["", None, 3])
def test_keys_are_texts(key: Any) -> None:
    with pytest.raises(ConfigurationError, match="INVALID_OPTION_KEY"):
        Configuration().set_string(key, "x")


def test_keys_and_removal() -> None:
    config = Configuration.from_dict({"a": "1", "b": "2"})
    assert config.key_set() == {"a", "b"} and config.contains_key("a")
    assert config.remove_config("a") is True and config.remove_config("a") is False
    assert not config.contains_key("a")


def test_add_all() -> None:
    config = Configuration.from_dict({"a": "1"})
    config.add_all(Configuration.from_dict({"b": "2"})).add_all(config, "p.")
    assert config.to_dict() == {"a": "1", "b": "2", "p.a": "1", "p.b": "2"}
    target = {"z": "0"}
    Configuration.from_dict({"a": 1}).add_all_to_dict(target)
    assert target == {"z": "0", "a": 1}


def test_to_dict_is_text() -> None:
    config = Configuration().set_integer("i", 1).set_boolean("b", True).set_float("f", 0.5)
    assert config.to_dict() == {"i": "1", "b": "true", "f": "0.5"}


def test_copies_are_independent() -> None:
    config = Configuration.from_dict({"a": "1"})
    twin = Configuration(config)
    assert twin == config
    twin.set_string("b", "2")
    assert twin != config and not config.contains_key("b")
    assert config != {"a": "1"}


def test_options() -> None:
    config = Configuration()
    assert config.get(SLOTS) == 4 and config.get(SLOTS, 9) == 9
    assert config.get(PAUSE) is None
    config.set(SLOTS, 8).set(PAUSE, "2 s").set("other", "x")
    assert config.get(SLOTS) == 8 and config.get(PAUSE) == 2000
    assert config.get("other") == "x" and config.get("absent", 1) == 1
    with pytest.raises(ConfigurationError, match="32 bits"):
        config.set(SLOTS, 2**31)


def test_option_builder() -> None:
    key = ConfigOptions.key("k")
    assert key.boolean_type().default_value(True) == ConfigOption("k", "boolean", True)
    assert key.long_type().default_value(2**40).convert("7") == 7
    assert key.float_type().no_default_value().convert("0.5") == 0.5
    assert key.double_type().no_default_value().convert(2) == 2.0
    assert key.string_type().no_default_value().convert(2) == "2"
    described = SLOTS.with_description("how many parts")
    assert described.description == "how many parts" and described.default == 4
    with pytest.raises(ConfigurationError):
        key.int_type().default_value("x")  # type: ignore[arg-type]


def test_validate_accepts_known_and_foreign_keys() -> None:
    config = Configuration().set(SLOTS, 2).set_string("spark.x", "1").set_string("plain", "1")
    config.set_string("millstream.named", "1")
    config.validate([SLOTS, PAUSE, "millstream.named"])


def test_validate_suggests_the_closest_key() -> None:
    config = Configuration().set_string("millstream.slotss", "2")
    with pytest.raises(ConfigurationError) as caught:
        config.validate([SLOTS, PAUSE])
    assert caught.value.code == "UNKNOWN_OPTION"
    assert "'millstream.slotss'" in caught.value.message
    assert caught.value.hint == "did you mean 'millstream.slots'?"


def test_validate_lists_the_options_if_none_is_close() -> None:
    config = Configuration().set_string("millstream.qqqqqqqqqqqq", "2")
    with pytest.raises(ConfigurationError, match=r"millstream\.pause, millstream\.slots"):
        config.validate([SLOTS, PAUSE])


def test_validate_checks_values_of_known_options() -> None:
    config = Configuration().set_string("millstream.slots", "many")
    with pytest.raises(ConfigurationError, match="INVALID_OPTION_VALUE"):
        config.validate([SLOTS])


def test_secrets_are_not_shown() -> None:
    config = Configuration.from_dict({"db.password": "hunter2", "url": "pg://me:hunter2@h/d"})
    assert "hunter2" not in repr(config)
    assert config.get_string("db.password", "") == "hunter2"
    with pytest.raises(ConfigurationError) as caught:
        config.get_integer("db.password", 0)
    assert "hunter2" not in str(caught.value) + str(caught.value.to_dict())
    assert caught.value.__cause__ is None
