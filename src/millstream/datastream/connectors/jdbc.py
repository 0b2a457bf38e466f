"""Flink's JDBC sink by PyFlink's names: a statement of your own, for each record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.common.absent import missing_name
from millstream.common.arguments import positive_int
from millstream.common.errors import short_repr
from millstream.common.execution_config import accepted_without_effect
from millstream.common.typeinfo import TypeInformation
from millstream.connectors.databases.database import Database
from millstream.connectors.databases.errors import bad_argument
from millstream.connectors.databases.statements import BATCH_SIZE, StatementSink

__all__ = ["JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcSink"]


class JdbcSink(StatementSink):
    """Sink that runs a statement with ``?`` marks for each record, in transactions with the epoch.

    There is no JVM driver: the database is found by the URL, see `Database`. Records are written
    exactly once: all of a part, and a row of ``millstream_epochs``, are one transaction.

    Examples
    --------
    >>> from millstream.common import Types
    >>> options = (
    ...     JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
    ...     .with_url("jdbc:postgresql://db.example/shop")
    ...     .with_user_name("ada")
    ...     .with_password("s3cret")
    ...     .build()
    ... )
    >>> pairs = Types.ROW([Types.STRING(), Types.LONG()])
    >>> JdbcSink.sink("insert into words values (?, ?)", pairs, options)
    JdbcSink('postgresql://ada@db.example:5432/shop', 'insert into words values (?, ?)')
    """

    @staticmethod
    def sink(
        sql: str,
        type_info: TypeInformation,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """Return the sink.

        Parameters
        ----------
        sql
            The statement, with a ``?`` for each field of a record; ``??`` is a question mark.
        type_info
            The type of the records.
        jdbc_connection_options
            The database.
        jdbc_execution_options
            How many records a batch has, and how often a transaction is tried again that the
            database has ended because of another one.
        """
        execution = jdbc_execution_options or JdbcExecutionOptions.defaults()
        return JdbcSink(
            database=jdbc_connection_options.database(),
            sql=sql,
            fields=type_info,
            batch_size=execution.get_batch_size(),
            conflicts=execution.get_max_retries(),
        )


@dataclass(frozen=True)
class JdbcConnectionOptions:
    """Database of a `JdbcSink`; make one with `JdbcConnectionOptionsBuilder`."""

    url: str
    driver_name: str | None = None
    user_name: str | None = None
    password: str | None = None

    def __repr__(self) -> str:
        return f"JdbcConnectionOptions({self.database().address!r})"

    def get_db_url(self) -> str:
        """Return the URL, as it was given."""
        return self.url

    def get_driver_name(self) -> str | None:
        """Return the name of the JVM driver, which is not used."""
        return self.driver_name

    def get_user_name(self) -> str | None:
        """Return the user."""
        return self.user_name

    def get_password(self) -> str | None:
        """Return the password."""
        return self.password

    def database(self) -> Database:
        """Return the database as other connectors take it."""
        return Database(self.url, user=self.user_name, password=self.password)

    class JdbcConnectionOptionsBuilder:
        """Builder of `JdbcConnectionOptions`."""

        def __init__(self) -> None:
            self._url: str | None = None
            self._driver: str | None = None
            self._user: str | None = None
            self._password: str | None = None

        def with_url(self, url: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the URL, such as ``jdbc:postgresql://host/name``."""
            self._url = url
            return self

        def with_driver_name(
            self, driver_name: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Take the name of a JVM driver, which is not used: the URL says which driver it is."""
            self._driver = driver_name
            return self

        def with_user_name(
            self, user_name: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the user."""
            self._user = user_name
            return self

        def with_password(
            self, password: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the password; it is never shown."""
            self._password = password
            return self

        def build(self) -> JdbcConnectionOptions:
            """Return the options."""
            if self._url is None:
                raise bad_argument("the options of the database have no URL", "call with_url(...)")
            options = JdbcConnectionOptions(self._url, self._driver, self._user, self._password)
            options.database()  # refuses a URL that is none
            return options


@dataclass(frozen=True)
class JdbcExecutionOptions:
    """Batches of a `JdbcSink`.

    Examples
    --------
    >>> JdbcExecutionOptions.builder().with_batch_size(200).build()
    JdbcExecutionOptions(batch_interval_ms=0, batch_size=200, max_retries=3)
    """

    batch_interval_ms: int = 0
    batch_size: int = BATCH_SIZE
    max_retries: int = 3

    def get_batch_interval_ms(self) -> int:
        """Return the interval, which has no effect."""
        return self.batch_interval_ms

    def get_batch_size(self) -> int:
        """Return how many records the driver gets at a time."""
        return self.batch_size

    def get_max_retries(self) -> int:
        """Return how often a transaction is tried again."""
        return self.max_retries

    @staticmethod
    def defaults() -> JdbcExecutionOptions:
        """Return what holds if nothing is set."""
        return JdbcExecutionOptions()

    @staticmethod
    def builder() -> JdbcExecutionOptions.Builder:
        """Begin to build options."""
        return JdbcExecutionOptions.Builder()

    class Builder:
        """Builder of `JdbcExecutionOptions`."""

        def __init__(self) -> None:
            self._options: dict[str, int] = {}

        def with_batch_interval_ms(self, batch_interval_ms: int) -> JdbcExecutionOptions.Builder:
            """Take an interval, which has no effect: an epoch is written when it ends."""
            _not_negative("batch_interval_ms", batch_interval_ms)
            if batch_interval_ms:
                accepted_without_effect(
                    "with_batch_interval_ms", "an epoch is written when it ends"
                )
            self._options["batch_interval_ms"] = batch_interval_ms
            return self

        def with_batch_size(self, batch_size: int) -> JdbcExecutionOptions.Builder:
            """Set how many records the driver gets at a time; all batches are one transaction."""
            self._options["batch_size"] = positive_int("batch_size", batch_size)
            return self

        def with_max_retries(self, max_retries: int) -> JdbcExecutionOptions.Builder:
            """Set how often a transaction is tried again that ended because of another one."""
            self._options["max_retries"] = _not_negative("max_retries", max_retries)
            return self

        def build(self) -> JdbcExecutionOptions:
            """Return the options."""
            return JdbcExecutionOptions(**self._options)


def _not_negative(what: str, number: int) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise bad_argument(f"{what}={short_repr(number)} is no number of them", "give 0 or more")
    return number


if not TYPE_CHECKING:
    __getattr__ = missing_name(__name__)
