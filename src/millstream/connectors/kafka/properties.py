"""Properties of Kafka's Java client, which PyFlink programs have, in the words of librdkafka."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from millstream.common._logging import accepted_without_effect
from millstream.common.errors import PlanError, user_location

__all__ = ["translated"]

_JAVA_ONLY = frozenset(
    {
        "allow.auto.create.topics",
        "auto.include.jmx.reporter",
        "default.api.timeout.ms",
        "enable.metrics.push",
        "exclude.internal.topics",
        "group.protocol",
        "interceptor.classes",
        "internal.leave.group.on.close",
        "key.deserializer",
        "key.serializer",
        "max.block.ms",
        "max.poll.records",
        "metadata.max.idle.ms",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "partition.assignment.strategy",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "partitioner.class",
        "partitioner.ignore.keys",
        "register.consumer.metrics",
        "sasl.client.callback.handler.class",
        "sasl.login.callback.handler.class",
        "sasl.login.class",
        "security.providers",
        "ssl.cipher.suites",
        "ssl.enabled.protocols",
        "ssl.engine.factory.class",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
        "value.deserializer",
        "value.serializer",
    }
)
"""What only the Java client has, and records do not depend on."""

_SAME_MEANING = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "request.timeout.ms": "socket.timeout.ms",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.truststore.certificates": "ssl.ca.pem",
}
"""Properties that librdkafka knows by another name."""

_STORES = re.compile(r"ssl\.(keystore|truststore)\.(location|password|type)$")
_JAAS_OPTION = re.compile(r"""(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))""")
_JAAS_MODULE = re.compile(r"\s*([\w.$]+)\s+(?:required|requisite|sufficient|optional)\b")


def translated(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The properties of a client as librdkafka wants them.

    Names that both clients have stay as they are. A property that only the Java client has is left out,
    and a line in the log says so; one that cannot be left out without another meaning is refused. Names
    that nobody knows stay too: librdkafka refuses them.

    Examples
    --------
    >>> translated({"security.protocol": "SASL_SSL", "fetch.max.wait.ms": "50"})
    {'security.protocol': 'SASL_SSL', 'fetch.wait.max.ms': '50'}
    >>> jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required '
    >>> translated({"sasl.jaas.config": jaas + 'username="me" password="s3cret";'})
    {'sasl.username': 'me', 'sasl.password': 's3cret'}
    """
    found: dict[str, Any] = {}
    for name, value in properties.items():
        if name in _JAVA_ONLY:
            accepted_without_effect(
                f"the Kafka property {name!r}", "only Kafka's Java client has it"
            )
        elif name in _SPECIAL:
            found |= _SPECIAL[name](value)
        elif not _STORES.match(name):
            found[_SAME_MEANING.get(name, name)] = value
    return found | _store("truststore", properties) | _store("keystore", properties)


# -- single properties -----------------------------------------------------------------------------


def _jaas(config: Any) -> dict[str, Any]:
    """The settings in a line of JAAS: `module required name="value" ...;`."""
    module = _JAAS_MODULE.match(str(config))
    options = {
        name: re.sub(r"\\(.)", r"\1", quoted) if quoted else plain
        for name, quoted, plain in _JAAS_OPTION.findall(str(config))
    }
    kind = module[1].rpartition(".")[2] if module is not None else ""
    names = _JAAS_NAMES.get(kind)
    if names is None:
        raise _refused(
            f"sasl.jaas.config has {f'the login module {kind}' if kind else 'no login module'}, "
            "which librdkafka does not have",
            "use PlainLoginModule, ScramLoginModule, OAuthBearerLoginModule or Krb5LoginModule, or set "
            "sasl.username and sasl.password",
        )
    found = {ours: options[theirs] for theirs, ours in names.items() if theirs in options}
    if kind == "OAuthBearerLoginModule" and found:
        found["sasl.oauthbearer.method"] = "oidc"
    return found


_JAAS_NAMES = {
    "PlainLoginModule": {"username": "sasl.username", "password": "sasl.password"},
    "ScramLoginModule": {"username": "sasl.username", "password": "sasl.password"},
    "OAuthBearerLoginModule": {
        "clientId": "sasl.oauthbearer.client.id",
        "clientSecret": "sasl.oauthbearer.client.secret",
        "scope": "sasl.oauthbearer.scope",
    },
    "Krb5LoginModule": {"keyTab": "sasl.kerberos.keytab", "principal": "sasl.kerberos.principal"},
}


def _buffer_memory(size: Any) -> dict[str, Any]:
    return {"queue.buffering.max.kbytes": max(int(size) // 1024, 1)}


def _verification(algorithm: Any) -> dict[str, Any]:
    return {"ssl.endpoint.identification.algorithm": str(algorithm) or "none"}


def _reset(strategy: Any) -> dict[str, Any]:
    return {"auto.offset.reset": "error" if str(strategy).lower() == "none" else strategy}


_SPECIAL: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "auto.offset.reset": _reset,
    "buffer.memory": _buffer_memory,
    "sasl.jaas.config": _jaas,
    "ssl.endpoint.identification.algorithm": _verification,
}


# -- files with keys and certificates --------------------------------------------------------------


def _store(store: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """The settings for a key store or trust store; librdkafka reads PEM, and PKCS 12 for keys only."""
    location = properties.get(f"ssl.{store}.location")
    if location is None:
        return {}
    kind = _store_type(str(location), properties.get(f"ssl.{store}.type"))
    password = properties.get(f"ssl.{store}.password")
    if kind == "PEM":
        if store == "truststore":
            return {"ssl.ca.location": location}
        return {"ssl.certificate.location": location, "ssl.key.location": location}
    if kind == "PKCS12" and store == "keystore":
        found = {"ssl.keystore.location": location}
        return found if password is None else {**found, "ssl.keystore.password": password}
    hint = f"convert it to PEM, and set ssl.{store}.type to PEM: "
    if kind == "JKS":
        hint += "keytool -importkeystore -deststoretype pkcs12 ..., then "
    hint += "openssl pkcs12 -in store.p12 -out store.pem" + (
        " -nokeys" if store == "truststore" else ""
    )
    raise _refused(f"ssl.{store}.location is a {kind} file, which librdkafka cannot read", hint)


def _store_type(location: str, given: Any) -> str:
    if given is not None:
        return str(given).upper()
    ending = location.rpartition(".")[2].lower()
    if ending in {"pem", "crt", "cer", "key"}:
        return "PEM"
    return "PKCS12" if ending in {"p12", "pfx"} else "JKS"


def _refused(message: str, hint: str) -> PlanError:
    return PlanError("KAFKA_PROPERTY", message, location=user_location(), hint=hint)
