"""The settings that a table environment begins with."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from millstream.common.configuration import Configuration
from millstream.table.catalog.manager import DEFAULT_CATALOG, DEFAULT_DATABASE

__all__ = ["EnvironmentSettings"]

_MODE = "execution.runtime-mode"


@dataclass(frozen=True)
class EnvironmentSettings:
    """Stream or batch, the names of the first catalog and database, and options.

    Examples
    --------
    >>> EnvironmentSettings.in_batch_mode().is_streaming_mode()
    False
    """

    streaming: bool = True
    catalog: str = DEFAULT_CATALOG
    database: str = DEFAULT_DATABASE
    options: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def new_instance() -> EnvironmentSettings.Builder:
        """A builder of settings."""
        return EnvironmentSettings.Builder()

    @staticmethod
    def in_streaming_mode() -> EnvironmentSettings:
        """Settings for streams, bounded and unbounded ones."""
        return EnvironmentSettings()

    @staticmethod
    def in_batch_mode() -> EnvironmentSettings:
        """Settings for batches: sources must have an end, and results are final."""
        return EnvironmentSettings(streaming=False)

    def get_built_in_catalog_name(self) -> str:
        """The name of the first catalog."""
        return self.catalog

    def get_built_in_database_name(self) -> str:
        """The name of the first database."""
        return self.database

    def is_streaming_mode(self) -> bool:
        """Whether jobs run as streams."""
        return self.streaming

    def get_configuration(self) -> Configuration:
        """The options, the mode among them."""
        mode = "STREAMING" if self.streaming else "BATCH"
        return Configuration.from_dict({_MODE: mode, **self.options})

    class Builder:
        """Collects settings."""

        def __init__(self) -> None:
            self._settings = EnvironmentSettings()

        def with_configuration(self, config: Configuration) -> EnvironmentSettings.Builder:
            """Set options; ``execution.runtime-mode`` sets the mode."""
            options = {key: str(value) for key, value in config.to_dict().items()}
            mode = options.pop(_MODE, None)
            streaming = self._settings.streaming if mode is None else mode.upper() != "BATCH"
            self._settings = replace(
                self._settings, options={**self._settings.options, **options}, streaming=streaming
            )
            return self

        def in_batch_mode(self) -> EnvironmentSettings.Builder:
            """Run batches."""
            self._settings = replace(self._settings, streaming=False)
            return self

        def in_streaming_mode(self) -> EnvironmentSettings.Builder:
            """Run streams; the default."""
            self._settings = replace(self._settings, streaming=True)
            return self

        def with_built_in_catalog_name(
            self, built_in_catalog_name: str
        ) -> EnvironmentSettings.Builder:
            """Set the name of the first catalog."""
            self._settings = replace(self._settings, catalog=built_in_catalog_name)
            return self

        def with_built_in_database_name(
            self, built_in_database_name: str
        ) -> EnvironmentSettings.Builder:
            """Set the name of the first database."""
            self._settings = replace(self._settings, database=built_in_database_name)
            return self

        def build(self) -> EnvironmentSettings:
            """The settings."""
            return self._settings
