"""Descriptions of options: a key, the kind of value, and a default."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from millstream.common.errors import ConfigurationError, PlanError, short_repr, user_location
from millstream.common.secrets import is_secret, masked_value
from millstream.common.time import to_millis

__all__ = ["ConfigOption", "ConfigOptions"]

T = TypeVar("T")

_TRUTH = {"true": True, "false": False}


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    return _TRUTH[str(value).strip().lower()]


def _whole(bits: int) -> Callable[[object], int]:
    def convert(value: object) -> int:
        if isinstance(value, (bool, float)):
            raise ValueError
        number = int(str(value).strip())
        if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
            raise ValueError
        return number

    return convert


def _number(value: object) -> float:
    if isinstance(value, bool):
        raise ValueError
    return float(str(value).strip())


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


_CONVERTERS: dict[str, Callable[[object], Any]] = {
    "boolean": _boolean,
    "int": _whole(32),
    "long": _whole(64),
    "float": _number,
    "double": _number,
    "string": _text,
    "duration": to_millis,
}
_EXPECTED = {
    "boolean": "true or false",
    "int": "an integer of 32 bits",
    "long": "an integer of 64 bits",
    "float": "a number",
    "double": "a number",
    "string": "text",
    "duration": 'a span of time such as "5 s" (a bare number is milliseconds)',
}


def convert_value(key: str, value: object, kind: str) -> Any:
    """A value as the kind of its option has it, or an error that names the option."""
    try:
        return _CONVERTERS[kind](value)
    except (ValueError, KeyError, PlanError) as exc:
        raise ConfigurationError(
            "INVALID_OPTION_VALUE",
            f"option {key!r} cannot be {short_repr(masked_value(key, value))}",
            parameters={"key": key, "value": masked_value(key, value)},
            location=user_location(),
            hint=f"give it {_EXPECTED[kind]}",
        ) from (None if is_secret(key) else exc)


@dataclass(frozen=True)
class ConfigOption(Generic[T]):
    """An option: made with `ConfigOptions`, used with `Configuration.get` and ``set``.

    Attributes
    ----------
    key : str
        The name in a configuration.
    kind : str
        ``boolean``, ``int``, ``long``, ``float``, ``double``, ``string`` or ``duration``.
    default : object
        The value when none is set; None if there is no default.
    description : str
        What the option does.

    Examples
    --------
    >>> ConfigOptions.key("retries").int_type().default_value(3).convert("5")
    5
    """

    key: str
    kind: str
    default: T | None = None
    description: str = ""

    def convert(self, value: object) -> T:
        """A value of the option's kind, from such a value or from text."""
        converted: T = convert_value(self.key, value, self.kind)
        return converted

    def with_description(self, description: str) -> ConfigOption[T]:
        """A copy that says what the option does."""
        return ConfigOption(self.key, self.kind, self.default, description)


class ConfigOptions:
    """Where options are made.

    Examples
    --------
    >>> ConfigOptions.key("user.name").string_type().no_default_value().default is None
    True
    >>> ConfigOptions.key("pause").duration_type().default_value(500).default
    500
    """

    @staticmethod
    def key(key: str) -> ConfigOptions.OptionBuilder:
        """Begin an option of this name."""
        return ConfigOptions.OptionBuilder(key)

    class OptionBuilder:
        """An option that has a name so far."""

        def __init__(self, key: str) -> None:
            self._key = key

        def boolean_type(self) -> ConfigOptions.TypedConfigOptionBuilder[bool]:
            """Make it a truth value."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, "boolean")

        def int_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """Make it an integer of 32 bits."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, "int")

        def long_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """Make it an integer of 64 bits."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, "long")

        def float_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """Make it a number."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, "float")

        def double_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """Make it a number."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, "double")

        def string_type(self) -> ConfigOptions.TypedConfigOptionBuilder[str]:
            """Make it text."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, "string")

        def duration_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """Make it a span of time, read as milliseconds."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, "duration")

    class TypedConfigOptionBuilder(Generic[T]):
        """An option that has a name and a kind so far."""

        def __init__(self, key: str, kind: str) -> None:
            self._key = key
            self._kind = kind

        def default_value(self, value: T) -> ConfigOption[T]:
            """The option with a default."""
            default: T = convert_value(self._key, value, self._kind)
            return ConfigOption(self._key, self._kind, default)

        def no_default_value(self) -> ConfigOption[T]:
            """The option without a default."""
            return ConfigOption(self._key, self._kind)
