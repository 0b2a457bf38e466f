"""How a client of Kafka is set up: servers and properties, whose secrets are never shown."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream.common.errors import (
    EnvironmentSetupError,
    Location,
    PlanError,
    short_repr,
    user_location,
)
from millstream.common.extras import needed_package
from millstream.common.secrets import MASK, Redactor, is_secret, masked_value
from millstream.connectors.kafka.properties import translated

__all__ = ["REACH_SECONDS", "KafkaSettings", "confluent", "reason"]

REACH_SECONDS = 5.0
"""How long a job waits at its start for a broker to answer."""

_PRIVATE = frozenset({"ssl.key.pem", "ssl.keystore.key", "sasl.oauthbearer.config"})
"""Secrets that their names do not show."""

_LOGGER = logging.getLogger("millstream.kafka")
# Its lines go where the program sends those of this logger, and never to the terminal by themselves.
_LOGGER.addHandler(logging.NullHandler())


def confluent(user: str = "KafkaSource") -> Any:
    """The module `confluent_kafka`, when somebody needs it."""
    return needed_package("confluent_kafka", "kafka", user)


@dataclass(frozen=True)
class KafkaSettings:
    """Servers and properties of a client, as the program has given them.

    Parameters
    ----------
    servers
        ``"host:port"``, several with commas.
    properties
        Properties of the client by name. Names of Kafka's Java client are translated.
    location
        The user's line that has made the source or sink, for errors.

    Examples
    --------
    >>> KafkaSettings("broker:9092", {"sasl.password": "s3cret", "client.id": "me"})
    KafkaSettings(servers='broker:9092', properties={'sasl.password': '*****', 'client.id': 'me'})
    """

    servers: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    location: Location | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        shown = {name: _shown(name, value) for name, value in self.properties.items()}
        return f"KafkaSettings(servers={self.servers!r}, properties={shown!r})"

    @property
    def redacted(self) -> Redactor:
        """A function that takes the secrets out of a text."""
        # A name that tells the redactor what its owner knows.
        named = {f"{n}.secret" if n in _PRIVATE else n: v for n, v in self.properties.items()}
        return Redactor(named)

    # -- clients ---------------------------------------------------------------------------------

    def configuration(self, ours: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The configuration of librdkafka; ``ours`` wins over what the program says.

        Pass the result as the only argument of ``Consumer``, ``Producer`` or ``AdminClient``. Lines of
        librdkafka's log go to the logger ``millstream.kafka`` whenever the client is polled.
        """
        return {
            # A broker that is away for a moment is no reason for a line on the terminal.
            "log.connection.close": False,
            **translated(self.properties),
            **(ours or {}),
            "bootstrap.servers": self.servers,
            "logger": _LOGGER,
        }

    def check(self, kind: str, ours: Mapping[str, Any] | None = None) -> None:
        """Refuse properties that a client (``"Consumer"``, ``"Producer"``) does not know or take.

        Nothing is connected.
        """
        module = confluent(f"Kafka{'Source' if kind == 'Consumer' else 'Sink'}")
        made = self.configuration(ours)
        del made["bootstrap.servers"]
        made.pop("debug", None)
        try:
            client = getattr(module, kind)(made)
        except (module.KafkaException, TypeError, ValueError) as error:
            raise PlanError(
                "KAFKA_PROPERTY",
                f"librdkafka refuses the properties of the {kind.lower()}: "
                f"{self.redacted(reason(error))}",
                location=self.location or user_location(),
                hint="all properties: https://github.com/confluentinc/librdkafka/blob/master/"
                "CONFIGURATION.md; those of Kafka's Java client are translated where they differ",
            ) from None
        if kind == "Consumer":
            client.close()

    def check_reachable(self, seconds: float = REACH_SECONDS) -> Any:
        """Ask the brokers for their topics; fail with one error if none answers in time.

        Returns the metadata of the cluster.
        """
        module = confluent()
        told: list[Any] = []
        client = module.Producer(self.configuration({"error_cb": told.append}))
        until = time.monotonic() + seconds
        while True:
            left = until - time.monotonic()
            try:
                return client.list_topics(timeout=max(min(left, 1.0), 0.1))
            except module.KafkaException as error:
                client.poll(0)
                refused = [e for e in told if e.code() in _hopeless(module)]
                if left <= 1.0 or refused:
                    raise self.unreachable(refused or told or [error.args[0]]) from None

    def unreachable(self, told: list[Any]) -> EnvironmentSetupError:
        """The error for brokers that do not answer; ``told``: what librdkafka has said."""
        return self.error(
            "KAFKA_UNREACHABLE",
            f"no broker of Kafka answers at {self.servers}: {_best(told)}",
            "start the broker or correct the servers; behind a proxy or in a container, the broker's "
            "advertised.listeners must be reachable from here; check security.protocol and sasl "
            "settings too",
        )

    def error(self, code: str, message: str, hint: str) -> EnvironmentSetupError:
        """Return an error about the brokers, without secrets."""
        return EnvironmentSetupError(
            code,
            self.redacted(message),
            parameters={"servers": self.servers},
            location=self.location,
            hint=hint,
        )


def reason(error: BaseException) -> str:
    """The text of librdkafka in an exception of its own."""
    inner = error.args[0] if error.args else error
    return str(inner.str()) if hasattr(inner, "str") else str(error)


def _hopeless(module: Any) -> set[int]:
    """Codes of errors that waiting does not change."""
    errors = module.KafkaError
    return {errors._AUTHENTICATION, errors._SSL, errors.SASL_AUTHENTICATION_FAILED}


def _best(told: list[Any]) -> str:
    """The error that says most: that all brokers are down follows from the others."""
    texts = list(dict.fromkeys(e.str() for e in told if e.name() != "_ALL_BROKERS_DOWN"))
    return short_repr(texts[0], 300).strip("'\"") if texts else "all brokers are down"


def _shown(name: str, value: object) -> object:
    return MASK if name in _PRIVATE or is_secret(name) else masked_value(name, value)
