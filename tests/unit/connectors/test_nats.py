"""NATS connectors without a server: what is refused, what is shown."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import pytest

from millstream.common import Types
from millstream.common.errors import EnvironmentSetupError, MillstreamError, PlanError
from millstream.connectors.nats import NatsMessage, NatsSink, NatsSource
from millstream.connectors.source import Limits
from millstream.datastream import StreamExecutionEnvironment

HERE = "nats://127.0.0.1:1"


def source(**arguments: Any) -> NatsSource:
    return NatsSource(**{"servers": HERE, "streams": "orders", **arguments})


def sink(**arguments: Any) -> NatsSink:
    return NatsSink(**{"servers": HERE, "stream": "totals", "subject": "totals.x", **arguments})


@pytest.mark.parametrize(
    "arguments",
    [
        {"servers": ""},
        {"servers": []},
        {"servers": [7]},
        {"streams": "a.b"},
        {"streams": ["a", ""]},
        {"subject": "a b"},
        {"start": "begin"},
        {"start": 0},
        {"start": True},
    ],
    ids=str,
)
def test_a_source_refuses_what_nats_has_not(arguments: dict[str, Any]) -> None:
    with pytest.raises(PlanError) as info:
        source(**arguments)
    assert info.value.code == "BAD_NATS"
    assert info.value.location is not None and info.value.location.file == __file__


@pytest.mark.parametrize(
    "arguments",
    [{"servers": ()}, {"stream": "a>b"}, {"subject": "totals.*"}, {"markers": "a/b"}],
    ids=str,
)
def test_a_sink_refuses_what_nats_has_not(arguments: dict[str, Any]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(PlanError) as info:
        env.from_collection(["a"]).sink_to(sink(**arguments))
    assert info.value.code == "BAD_NATS"


@pytest.mark.parametrize("make", [source, sink])
def test_secrets_are_not_shown(make: Any) -> None:
    shown = repr(make(servers="nats://me:geheim77@host:4222", options={"token": "geheim88"}))
    assert "geheim" not in shown and "host:4222" in shown


@pytest.mark.parametrize("make", [source, sink])
def test_they_travel(make: Any) -> None:
    assert pickle.loads(pickle.dumps(make())) == make()


def test_types_are_bytes_unless_something_decodes() -> None:
    assert source().get_produced_type() == Types.PRIMITIVE_ARRAY(Types.BYTE())
    assert source(decode=len).get_produced_type() is None
    assert source(decode=len, type_info=Types.INT()).get_produced_type() == Types.INT()


def test_a_limit_per_epoch() -> None:
    assert source(per_epoch=7).limits() == Limits(per_epoch=7)
    assert source().limits() == Limits()
    assert (source(streams=["a", "b"]).channel_count(), source(bounded=True).bounded) == (2, True)


def test_a_server_that_does_not_answer_is_named_without_its_password() -> None:
    with pytest.raises(EnvironmentSetupError, match=r"nats://me:\*\*\*\*\*@127.0.0.1:1") as info:
        options = {"max_reconnect_attempts": 1, "reconnect_time_wait": 0}
        source(servers="nats://me:geheim77@127.0.0.1:1", options=options).open()
    assert info.value.code == "NATS_UNREACHABLE"
    assert "geheim77" not in str(info.value)


def test_a_missing_client_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nats", None)
    with pytest.raises(MillstreamError, match="nats") as info:
        source().open()
    assert info.value.code == "EXTRA_MISSING"


def test_only_bytes_and_texts_need_no_encoder() -> None:
    encode = sink().encode
    assert (encode(b"a"), encode("ä")) == (b"a", "ä".encode())
    with pytest.raises(TypeError, match="give NatsSink"):
        encode(7)


def test_a_message_has_names() -> None:
    message = NatsMessage("orders.a", b"1", {}, 7, 1_000)
    assert (message.subject, message.sequence) == ("orders.a", 7)
