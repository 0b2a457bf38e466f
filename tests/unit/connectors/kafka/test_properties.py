"""Properties of the Java client in the words of librdkafka."""

from __future__ import annotations

import pytest

from millstream.common.errors import PlanError
from millstream.connectors.kafka.properties import translated

_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required "


def test_names_of_both_clients_stay() -> None:
    given = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "fetch.min.bytes": 7}
    assert translated(given) == given


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"fetch.max.wait.ms": "5"}, {"fetch.wait.max.ms": "5"}),
        ({"request.timeout.ms": "900"}, {"socket.timeout.ms": "900"}),
        ({"buffer.memory": "2048"}, {"queue.buffering.max.kbytes": 2}),
        ({"auto.offset.reset": "none"}, {"auto.offset.reset": "error"}),
        ({"auto.offset.reset": "latest"}, {"auto.offset.reset": "latest"}),
        (
            {"ssl.endpoint.identification.algorithm": ""},
            {"ssl.endpoint.identification.algorithm": "none"},
        ),
        ({"ssl.truststore.location": "ca.pem"}, {"ssl.ca.location": "ca.pem"}),
        (
            {"ssl.truststore.location": "ca", "ssl.truststore.type": "pem"},
            {"ssl.ca.location": "ca"},
        ),
        (
            {"ssl.keystore.location": "me.p12", "ssl.keystore.password": "x"},
            {"ssl.keystore.location": "me.p12", "ssl.keystore.password": "x"},
        ),
        (
            {"ssl.keystore.location": "me.pem", "ssl.key.password": "x"},
            {
                "ssl.key.password": "x",
                "ssl.certificate.location": "me.pem",
                "ssl.key.location": "me.pem",
            },
        ),
        ({"ssl.truststore.certificates": "---"}, {"ssl.ca.pem": "---"}),
    ],
)
def test_other_names(theirs: dict[str, str], ours: dict[str, object]) -> None:
    assert translated(theirs) == ours


@pytest.mark.parametrize(
    ("jaas", "found"),
    [
        (
            _PLAIN + 'username="me" password="a b\\"c\\\\;=";',
            {"sasl.username": "me", "sasl.password": 'a b"c\\;='},
        ),
        (
            "org.apache.kafka.common.security.scram.ScramLoginModule required\n"
            "  username=me\n  password=x1;",
            {"sasl.username": "me", "sasl.password": "x1"},
        ),
        (
            'x.OAuthBearerLoginModule required clientId=\'\' clientId="i" clientSecret="s";',
            {
                "sasl.oauthbearer.client.id": "i",
                "sasl.oauthbearer.client.secret": "s",
                "sasl.oauthbearer.method": "oidc",
            },
        ),
        ("x.OAuthBearerLoginModule required;", {}),
        (
            'com.sun.Krb5LoginModule required useKeyTab=true keyTab="/k" principal="p@R";',
            {"sasl.kerberos.keytab": "/k", "sasl.kerberos.principal": "p@R"},
        ),
    ],
)
def test_jaas(jaas: str, found: dict[str, str]) -> None:
    assert translated({"sasl.jaas.config": jaas}) == found


@pytest.mark.parametrize("jaas", ["", "nothing", 'my.Own required password="hidden-away";'])
def test_other_login_modules_are_refused_without_the_secret(jaas: str) -> None:
    with pytest.raises(PlanError, match=r"KAFKA_PROPERTY.*sasl\.jaas\.config") as error:
        translated({"sasl.jaas.config": jaas})
    assert "hidden-away" not in str(error.value)


@pytest.mark.parametrize(
    "given",
    [
        {"ssl.truststore.location": "store.jks"},
        {"ssl.truststore.location": "store.p12", "ssl.truststore.password": "hidden-away"},
        {"ssl.keystore.location": "store"},
        {"ssl.keystore.location": "x.pem", "ssl.keystore.type": "BCFKS"},
    ],
)
def test_files_that_librdkafka_cannot_read_are_refused(given: dict[str, str]) -> None:
    with pytest.raises(PlanError, match=r"KAFKA_PROPERTY.*cannot read[\s\S]*PEM") as error:
        translated(given)
    assert "hidden-away" not in str(error.value)


def test_what_only_the_java_client_has_is_left_out_with_a_line_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert translated({"value.deserializer": "x", "max.poll.records": "5"}) == {}
    assert "'value.deserializer' is accepted without effect" in caplog.text
