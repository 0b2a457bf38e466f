"""The client of a schema registry, and the headers of messages."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.errors import FormatError, MillstreamError, PlanError
from millstream.connectors.formats import registry as module
from millstream.connectors.formats.registry import (
    RegisteredSchema,
    SchemaReference,
    SchemaRegistry,
    framed,
    message_indexes,
    unframed,
    with_indexes,
)
from tests.support.registry_stub import RegistryStub
from tests.support.strategies import examples

LONG = RegisteredSchema("AVRO", '"long"')
TEXT = RegisteredSchema("AVRO", '"string"')


@pytest.fixture
def stub() -> Iterator[RegistryStub]:
    with RegistryStub() as stub:
        yield stub


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FIRST_WAIT_S", 0.001)


# -- headers ---------------------------------------------------------------------------------------


@examples(50)
@given(st.integers(0, 2**32 - 1), st.binary())
def test_headers_and_back(schema_id: int, payload: bytes) -> None:
    assert unframed(framed(schema_id, payload)) == (schema_id, payload)


@examples(50)
@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=4), st.binary())
def test_indexes_and_back(path: list[int], payload: bytes) -> None:
    assert message_indexes(with_indexes(path, payload)) == (path, payload)


def test_the_first_message_has_the_long_form_too() -> None:
    assert message_indexes(b"\x02\x00abc") == ([0], b"abc")


@pytest.mark.parametrize("message", [b"", b"\0\0\0\0", b"\1\0\0\0\1a", b"Obj\1a"])
def test_messages_without_a_header(message: bytes) -> None:
    with pytest.raises(FormatError, match="NOT_FRAMED"):
        unframed(message)


@pytest.mark.parametrize("payload", [b"", b"\x80", b"\x02", b"\x01\x00", b"\xff" * 9])
def test_messages_without_indexes(payload: bytes) -> None:
    with pytest.raises(FormatError, match="NOT_FRAMED"):
        message_indexes(payload)


# -- answers ---------------------------------------------------------------------------------------


def test_a_schema_is_asked_for_once(stub: RegistryStub) -> None:
    registry = SchemaRegistry(stub.url)
    schema_id = registry.id_of("words-value", LONG)
    assert registry.id_of("words-value", LONG) == schema_id
    assert [registry.schema(schema_id) for _ in range(2)] == [LONG, LONG]
    assert stub.asked == ["POST /subjects/words-value/versions", f"GET /schemas/ids/{schema_id}"]


def test_names_of_subjects_are_quoted(stub: RegistryStub) -> None:
    subject = "a/b c?d#é"
    registry = SchemaRegistry(stub.url + "/")
    registry.id_of(subject, LONG)
    assert list(stub.subjects) == [subject]
    assert registry.version_of(subject, LONG) == 1


def test_only_what_is_registered_may_be_used(stub: RegistryStub) -> None:
    registry = SchemaRegistry(stub.url)
    with pytest.raises(PlanError, match=r"SCHEMA_NOT_REGISTERED.*40401"):
        registry.id_of("words-value", LONG, register=False)
    known = stub.add("words-value", {"schema": LONG.text})
    assert registry.id_of("words-value", LONG, register=False) == known
    with pytest.raises(PlanError, match=r"SCHEMA_NOT_REGISTERED.*40403"):
        registry.id_of("words-value", TEXT, register=False)


def test_kinds_and_references(stub: RegistryStub) -> None:
    registry = SchemaRegistry(stub.url)
    stub.add("a", {"schema": "A", "schemaType": "PROTOBUF"})
    uses_a = [{"name": "a.proto", "subject": "a", "version": 1}]
    stub.add("b", {"schema": "B", "schemaType": "PROTOBUF", "references": uses_a})
    both = (SchemaReference("a.proto", "a", 1), SchemaReference("b.proto", "b", 1))
    main = RegisteredSchema("PROTOBUF", "C", both)
    assert registry.schema(registry.id_of("c", main)) == main
    assert [schema.text for schema in registry.referenced(main)] == ["A", "B"]


def test_an_id_that_nobody_knows_is_a_bad_message(stub: RegistryStub) -> None:
    with pytest.raises(FormatError, match="UNKNOWN_SCHEMA"):
        SchemaRegistry(stub.url).schema(7)


def test_a_schema_that_does_not_fit_the_earlier_ones(stub: RegistryStub) -> None:
    stub.add("words-value", {"schema": LONG.text})
    stub.refuses.add("words-value")
    registry = SchemaRegistry(stub.url)
    with pytest.raises(PlanError, match="SCHEMA_INCOMPATIBLE") as info:
        registry.id_of("words-value", TEXT)
    assert "words-value" in str(info.value) and "default" in str(info.value)
    assert registry.id_of("words-value", LONG) == 1


def test_a_schema_that_the_registry_cannot_read(stub: RegistryStub) -> None:
    with pytest.raises(PlanError, match=r"REGISTRY_REFUSED.*42201"):
        SchemaRegistry(stub.url).id_of("words-value", RegisteredSchema("JSON", "broken"))


# -- failures --------------------------------------------------------------------------------------


def test_a_registry_that_is_busy_is_asked_again(stub: RegistryStub) -> None:
    stub.failures = 2
    assert SchemaRegistry(stub.url).id_of("words-value", LONG) == 1
    assert len(stub.asked) == 3


def test_a_registry_that_stays_busy_is_an_error(stub: RegistryStub) -> None:
    stub.failures = 100
    with pytest.raises(MillstreamError, match=r"REGISTRY_UNREACHABLE.*2 tries.*503") as info:
        SchemaRegistry(stub.url, retries=1).id_of("words-value", LONG)
    assert not isinstance(info.value, PlanError), "a restart may help"


def test_a_registry_that_is_not_there() -> None:
    with RegistryStub() as gone:
        url = gone.url
    with pytest.raises(MillstreamError, match="REGISTRY_UNREACHABLE"):
        SchemaRegistry(url, retries=0).schema(1)


def test_a_registry_that_gives_no_answer(stub: RegistryStub) -> None:
    stub.silent = True
    with pytest.raises(MillstreamError, match=r"REGISTRY_UNREACHABLE.*timed out"):
        SchemaRegistry(stub.url, retries=0, timeout="50 ms").schema(1)


def test_the_next_registry_is_asked(stub: RegistryStub) -> None:
    with RegistryStub() as gone:
        url = gone.url
    assert SchemaRegistry([url, stub.url]).id_of("words-value", LONG) == 1


# -- secrets ---------------------------------------------------------------------------------------


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def test_user_and_password_or_a_token(stub: RegistryStub) -> None:
    stub.authorization = basic("me", "s3cret!")
    assert SchemaRegistry(stub.url, auth=("me", "s3cret!")).id_of("a", LONG) == 1
    in_url = stub.url.replace("://", "://me:s3cret%21@")
    assert SchemaRegistry(in_url).id_of("a", LONG) == 1
    stub.authorization = "Bearer t0ken"
    assert SchemaRegistry(stub.url, token="t0ken").id_of("a", LONG) == 1
    with pytest.raises(PlanError, match=r"REGISTRY_DENIED.*401"):
        SchemaRegistry(stub.url, token="wrong").id_of("a", LONG)


def test_secrets_are_not_shown(stub: RegistryStub) -> None:
    stub.authorization = "Bearer other"
    for registry in (
        SchemaRegistry(stub.url, auth=("me", "s3cret!")),
        SchemaRegistry(stub.url.replace("://", "://me:s3cret!@")),
        SchemaRegistry(stub.url, token="s3cret!"),
    ):
        with pytest.raises(PlanError) as info:
            registry.id_of("a", LONG)
        assert "s3cret" not in f"{info.value}{info.value!r}{registry!r}"
        assert "*****" in repr(registry)


def test_credentials_do_not_follow_a_redirect(stub: RegistryStub) -> None:
    stub.redirect = f"{stub.url}/schemas/ids/1"
    with pytest.raises(PlanError, match=r"REGISTRY_REFUSED.*302"):
        SchemaRegistry(stub.url, token="t0ken").schema(1)
    assert stub.asked == ["GET /schemas/ids/1"]


def test_it_travels(stub: RegistryStub) -> None:
    registry = SchemaRegistry(stub.url, auth=("me", "pw"))
    registry.id_of("a", LONG)
    copy = pickle.loads(pickle.dumps(registry))
    assert copy.id_of("a", LONG) == 1 and len(stub.asked) == 2


@pytest.mark.parametrize("url", ["", "localhost:8081", "ftp://a", "http://", None, []])
def test_urls_that_are_none(url: object) -> None:
    with pytest.raises(PlanError, match="BAD_REGISTRY"):
        SchemaRegistry(url)  # type: ignore[arg-type]


def test_two_ways_to_log_in_are_refused() -> None:
    with pytest.raises(PlanError, match="BAD_REGISTRY") as info:
        SchemaRegistry("http://a", auth=("me", "s3cret!"), token="t0ken")
    assert "s3cret" not in str(info.value)
