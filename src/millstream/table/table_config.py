"""The options of a session, by key and by method."""

from __future__ import annotations

import datetime
from typing import Any

from millstream.common.configuration import Configuration
from millstream.common.errors import PlanError, user_location
from millstream.common.time import to_millis
from millstream.table.expressions.java.dates import DateError, zone_of
from millstream.table.sql_dialect import SqlDialect

__all__ = ["TableConfig", "option_key", "option_text"]

_ZONE = "table.local-time-zone"
_DIALECT = "table.sql-dialect"
_TTL = "table.exec.state.ttl"
_CODE_LENGTH = "table.generated-code.max-length"
_PYTHON = "python.executable"


def option_key(key: Any) -> str:
    """The name of an option, given as a text or as a `ConfigOption`."""
    return key if isinstance(key, str) else str(key.key)


def option_text(value: Any) -> str:
    """The value of an option as a text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Session(Configuration):
    """The options of a session as a configuration; they are texts."""

    def __init__(self, options: dict[str, str], below: Configuration) -> None:
        super().__init__(below)
        self._texts = options
        self._values.update(options)

    def _store(self, key: str, value: object) -> Configuration:
        super()._store(key, value)
        self._texts[key] = option_text(value)
        return self


class TableConfig:
    """Options of a session: those of ``SET``, over the settings of the environment.

    Keys that begin with ``table.`` are about tables. All others are settings of the jobs that
    statements start, see `StreamExecutionEnvironment.configure`.

    Examples
    --------
    >>> config = TableConfig.get_default()
    >>> config.set("parallelism.default", "4").get("parallelism.default", "1")
    '4'
    """

    def __init__(
        self, options: dict[str, str] | None = None, below: Configuration | None = None
    ) -> None:
        self._options = {} if options is None else options
        self._below = below or Configuration()

    @staticmethod
    def get_default() -> TableConfig:
        """A configuration without options."""
        return TableConfig()

    def get(self, key: str, default_value: str | None = None) -> Any:
        """The value of a key; that of the environment, or the default, if the session has none."""
        if key in self._options:
            return self._options[key]
        return self._below.get_string(key, default_value)  # type: ignore[arg-type]

    def set(self, key: Any, value: Any) -> TableConfig:
        """Set a key, as ``SET 'key' = 'value'`` does."""
        self._options[option_key(key)] = option_text(value)
        return self

    def get_configuration(self) -> Configuration:
        """The options of the session; what is set there is set here."""
        return _Session(self._options, self._below)

    def add_configuration(self, configuration: Configuration) -> None:
        """Set all keys of a configuration."""
        for key, value in configuration.to_dict().items():
            self.set(key, value)

    def to_map(self) -> dict[str, str]:
        """The options of the session, by key."""
        return dict(self._options)

    def get_local_timezone(self) -> str:
        """The session's time zone; ``UTC`` if none was set."""
        return self._options.get(_ZONE, "UTC")

    def set_local_timezone(self, timezone_id: str) -> None:
        """Set the session's time zone: ``"Europe/Berlin"``, ``"GMT-08:00"``."""
        if not isinstance(timezone_id, str):
            message = f"a time zone is a text, got {timezone_id!r}"
            raise PlanError("TABLE_OPTION", message, hint='write "Europe/Berlin" or "UTC"')
        try:
            zone_of(timezone_id)
        except DateError as error:
            hint = 'write "Europe/Berlin" or "UTC"'
            raise PlanError("TABLE_OPTION", str(error), hint=hint) from None
        self.set(_ZONE, timezone_id)

    def get_max_generated_code_length(self) -> int:
        """A limit of Flink's code generator, which is not here; it is kept as it was set."""
        return int(self._options.get(_CODE_LENGTH, "4000"))

    def set_max_generated_code_length(self, max_generated_code_length: int) -> None:
        """Keep a limit of Flink's code generator; it has no effect."""
        self.set(_CODE_LENGTH, max_generated_code_length)

    def set_idle_state_retention(self, duration: datetime.timedelta) -> None:
        """Set how long state is kept that nothing has changed; 0 keeps it forever."""
        self.set(_TTL, f"{round(duration.total_seconds() * 1_000)} ms")

    def get_idle_state_retention(self) -> datetime.timedelta:
        """How long state is kept that nothing has changed."""
        return datetime.timedelta(milliseconds=to_millis(self._options.get(_TTL, "0 ms")))

    def get_sql_dialect(self) -> int:
        """The dialect of statements."""
        hive = self._options.get(_DIALECT, "default").lower() == "hive"
        return SqlDialect.HIVE if hive else SqlDialect.DEFAULT

    def set_sql_dialect(self, sql_dialect: int) -> None:
        """Set the dialect of statements; only those of the default run."""
        self.set(_DIALECT, "hive" if sql_dialect == SqlDialect.HIVE else "default")

    def _check_dialect(self) -> None:
        """Refuse statements of a dialect that is not here."""
        dialect = self._options.get(_DIALECT, "default")
        if dialect.lower() != "default":
            message = f"there is no dialect {dialect}: all statements are those of Flink's SQL"
            hint = (
                f"SET '{_DIALECT}' = 'default', or get_config().set_sql_dialect(SqlDialect.DEFAULT)"
            )
            raise PlanError("NOT_SUPPORTED", message, location=user_location(), hint=hint)

    def set_python_executable(self, python_exec: str) -> None:
        """Set the interpreter that runs user functions."""
        self.set(_PYTHON, python_exec)

    def get_python_executable(self) -> str | None:
        """The interpreter that runs user functions, None if none was set."""
        return self._options.get(_PYTHON)
