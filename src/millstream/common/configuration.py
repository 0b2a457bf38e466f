"""Settings by key."""

from __future__ import annotations

import base64
import difflib
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, overload

from millstream.common.config_options import ConfigOption, ConfigOptions, convert_value
from millstream.common.errors import ConfigurationError, short_repr, user_location
from millstream.common.secrets import masked_settings

__all__ = ["ConfigOption", "ConfigOptions", "Configuration"]

T = TypeVar("T")

_NAMESPACE = "millstream."
# Inside the class, `set` is a method.
_Keys = set[str]


class Configuration:
    """Settings by key, with typed access.

    Parameters
    ----------
    other : Configuration, optional
        Settings to begin with.

    Examples
    --------
    >>> config = Configuration()
    >>> config.set_string("job.name", "words").set_integer("parallelism", 4).to_dict()
    {'job.name': 'words', 'parallelism': '4'}
    >>> config.get_integer("parallelism", 1)
    4
    """

    def __init__(self, other: Configuration | None = None) -> None:
        self._values: dict[str, object] = {} if other is None else dict(other._values)

    @classmethod
    def from_dict(cls, map: Mapping[str, object]) -> Configuration:
        """A configuration with these settings.

        Examples
        --------
        >>> Configuration.from_dict({"a": "1"}).get_integer("a", 0)
        1
        """
        config = cls()
        for key, value in map.items():
            config._store(key, value)
        return config

    def _store(self, key: str, value: object) -> Configuration:
        if not isinstance(key, str) or not key:
            raise ConfigurationError(
                "INVALID_OPTION_KEY",
                f"{short_repr(key)} cannot be the key of an option",
                location=user_location(),
                hint="use a text that is not empty",
            )
        self._values[key] = value
        return self

    def _read(self, key: str, default: T, kind: str) -> T:
        if key not in self._values:
            return default
        value: T = convert_value(key, self._values[key], kind)
        return value

    def get_string(self, key: str, default_value: str) -> str:
        """The text under a key, or the default."""
        return self._read(key, default_value, "string")

    def set_string(self, key: str, value: str) -> Configuration:
        """Set a key to a text."""
        return self._store(key, convert_value(key, value, "string"))

    def get_integer(self, key: str, default_value: int) -> int:
        """The integer under a key, or the default."""
        return self._read(key, default_value, "long")

    def set_integer(self, key: str, value: int) -> Configuration:
        """Set a key to an integer."""
        return self._store(key, convert_value(key, value, "long"))

    def get_boolean(self, key: str, default_value: bool) -> bool:
        """The truth value under a key, or the default."""
        return self._read(key, default_value, "boolean")

    def set_boolean(self, key: str, value: bool) -> Configuration:
        """Set a key to a truth value."""
        return self._store(key, convert_value(key, value, "boolean"))

    def get_float(self, key: str, default_value: float) -> float:
        """The number under a key, or the default."""
        return self._read(key, default_value, "double")

    def set_float(self, key: str, value: float) -> Configuration:
        """Set a key to a number."""
        return self._store(key, convert_value(key, value, "double"))

    def get_bytearray(self, key: str, default_value: bytearray) -> bytearray:
        """The bytes under a key, or the default."""
        value = self._values.get(key, default_value)
        if isinstance(value, bytes | bytearray):
            return bytearray(value)
        raise ConfigurationError(
            "INVALID_OPTION_VALUE",
            f"{key} is {short_repr(value)}, and not bytes",
            location=user_location(),
            hint="set it with set_bytearray",
        )

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        """Set a key to bytes; as text they are in base 64."""
        if not isinstance(value, bytes | bytearray):
            raise ConfigurationError(
                "INVALID_OPTION_VALUE",
                f"{key} needs bytes, got {short_repr(value)}",
                location=user_location(),
                hint="give a bytearray",
            )
        return self._store(key, bytes(value))

    @staticmethod
    def parse_list_value(value: str | None) -> list[str]:
        """The items of a list in a setting: ``[a, b]``, lines with dashes, or ``a;b``.

        Examples
        --------
        >>> Configuration.parse_list_value("[a, 'b']"), Configuration.parse_list_value("a;b")
        (['a', 'b'], ['a', 'b'])
        """
        text = (value or "").strip()
        if text.startswith("[") and text.endswith("]"):
            items = text[1:-1].split(",")
        elif text.startswith("- "):
            items = [line.strip().removeprefix("- ") for line in text.splitlines()]
        else:
            items = text.split(";")
        return [item.strip().strip("'\"") for item in items if item.strip()]

    @overload
    def get(self, option: ConfigOption[T], default: T) -> T: ...
    @overload
    def get(self, option: ConfigOption[T], default: None = None) -> T | None: ...
    @overload
    def get(self, option: str, default: Any = None) -> Any: ...

    def get(self, option: ConfigOption[T] | str, default: Any = None) -> Any:
        """The value of an option; its own default, or the given one, if it is not set.

        Parameters
        ----------
        option : ConfigOption or str
            The option, or a key to read as it was set.
        default : object
            What to return instead of the option's default.

        Examples
        --------
        >>> pause = ConfigOptions.key("pause").duration_type().default_value(100)
        >>> Configuration().get(pause), Configuration.from_dict({"pause": "2 s"}).get(pause)
        (100, 2000)
        """
        if isinstance(option, str):
            return self._values.get(option, default)
        if option.key in self._values:
            return option.convert(self._values[option.key])
        return option.default if default is None else default

    def set(self, option: ConfigOption[T] | str, value: T | Any) -> Configuration:
        """Set an option, or a key, to a value."""
        if isinstance(option, str):
            return self._store(option, value)
        return self._store(option.key, option.convert(value))

    def key_set(self) -> _Keys:
        """All keys that are set."""
        return set(self._values)

    def contains_key(self, key: str) -> bool:
        """Whether a key is set."""
        return key in self._values

    def remove_config(self, key: str) -> bool:
        """Unset a key; whether it was set."""
        return self._values.pop(key, _ABSENT) is not _ABSENT

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Take over all settings of another configuration.

        Parameters
        ----------
        other : Configuration
            The settings.
        prefix : str, optional
            Put before each key.
        """
        for key, value in list(other._values.items()):
            self._store((prefix or "") + key, value)
        return self

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Put all settings into a dict."""
        target_dict.update(self._values)

    def to_dict(self) -> dict[str, str]:
        """All settings as text.

        Examples
        --------
        >>> Configuration().set_boolean("on", True).to_dict()
        {'on': 'true'}
        """
        return {key: _text(key, value) for key, value in self._values.items()}

    def validate(
        self, known: Iterable[ConfigOption[Any] | str], namespace: str = _NAMESPACE
    ) -> None:
        """Refuse keys of a namespace that nobody knows, and values that are of no use.

        Parameters
        ----------
        known : iterable of ConfigOption or str
            The options there are.
        namespace : str
            What the keys to look at begin with; all others belong to Flink or Spark.

        Raises
        ------
        ConfigurationError
            ``UNKNOWN_OPTION`` with the closest known keys, or ``INVALID_OPTION_VALUE``.

        Examples
        --------
        >>> config = Configuration().set_string("millstream.slotz", "4")
        >>> try:
        ...     config.validate(["millstream.slots"])
        ... except ConfigurationError as error:
        ...     print(error.hint)
        did you mean 'millstream.slots'?
        """
        options = {one if isinstance(one, str) else one.key: one for one in known}
        for key, value in self._values.items():
            option = options.get(key)
            if isinstance(option, ConfigOption):
                option.convert(value)
            elif option is None and key.startswith(namespace):
                raise _unknown(key, sorted(options), namespace)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(frozenset(self.to_dict().items()))

    def __deepcopy__(self, memo: dict[int, Any]) -> Configuration:
        return Configuration(self)

    def __repr__(self) -> str:
        return f"Configuration({masked_settings(self.to_dict())!r})"

    def __str__(self) -> str:
        return f"{{{', '.join(f'{key}={value}' for key, value in self.to_dict().items())}}}"


_ABSENT = object()


def _text(key: str, value: object) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    text: str = convert_value(key, value, "string")
    return text


def _unknown(key: str, known: list[str], namespace: str) -> ConfigurationError:
    # The namespace is the same in all of them and would make any two keys look alike.
    ends = {option.removeprefix(namespace): option for option in known}
    matches = difflib.get_close_matches(key.removeprefix(namespace), ends, n=3)
    close = [ends[match] for match in matches]
    if close:
        hint = f"did you mean {' or '.join(map(repr, close))}?"
    else:
        hint = f"the options there are: {', '.join(known) or 'none'}"
    return ConfigurationError(
        "UNKNOWN_OPTION",
        f"there is no option {key!r}",
        parameters={"key": key, "similar": close},
        location=user_location(),
        hint=hint,
    )
