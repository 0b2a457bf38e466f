"""Buffers carry records without loss, and stay small."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.errors import MillstreamError
from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP
from millstream.common.typeinfo import Types
from millstream.common.types import Row, RowKind
from millstream.common.typesystem.certainty import inferred
from millstream.kernel.records import buffers
from millstream.kernel.records.buffers import (
    ArrowCodec,
    BufferRow,
    BufferWriter,
    Codec,
    PickleCodec,
    Received,
    Records,
    codec_for,
    concat_records,
    decode,
    decode_columns,
    encode,
    merged,
    record_count,
)
from millstream.kernel.records.columns import Columns, record_batch
from millstream.kernel.records.order import COLUMNS, OrderKeys
from tests.support.strategies import examples

TIMES = st.integers(-3, 3) | st.sampled_from((MIN_TIMESTAMP, MAX_TIMESTAMP))
VALUES = st.none() | st.integers() | st.text(max_size=5) | st.tuples(st.integers(), st.booleans())
PATHS = st.binary(max_size=4).map(lambda path: path.replace(b"\0", b"\1"))


@st.composite
def records(draw: st.DrawFn, values: st.SearchStrategy[Any] = VALUES) -> Records:
    n = draw(st.integers(1, 8))

    def column() -> Any:
        times = draw(st.lists(TIMES, min_size=n, max_size=n) | TIMES.map(lambda t: [t] * n))
        return np.array(times, np.int64)

    paths = draw(PATHS | st.lists(PATHS, min_size=n, max_size=n))
    path = paths if isinstance(paths, bytes) else np.array(paths, np.bytes_)
    hashes = draw(st.none() | st.lists(st.integers(0, 2**32 - 1), min_size=n, max_size=n))
    weights = draw(st.none() | st.lists(st.integers(-3, 3), min_size=n, max_size=n))
    return Records(
        draw(st.lists(values, min_size=n, max_size=n)),
        column(),
        OrderKeys(column(), column(), column(), column(), column(), path),
        None if hashes is None else np.array(hashes, np.uint32),
        weights=None if weights is None else np.array(weights, np.int64),
    )


def content(records: Records) -> dict[str, Any]:
    keys = records.keys
    paths = [keys.path] * len(keys) if isinstance(keys.path, bytes) else keys.path.tolist()
    columns = {name: getattr(keys, name).tolist() for name in COLUMNS}
    hashes = None if records.hashes is None else records.hashes.tolist()
    rest = {"values": records.values, "ts": records.ts.tolist(), "path": paths, "hashes": hashes}
    weights = [1] * len(records) if records.weights is None else records.weights.tolist()
    return columns | rest | {"weights": weights}


def round_trip(records: Records, codec: Codec) -> Records:
    return Received.of(*encode(records, codec, raised=True)).decoded(codec)


@examples(100)
@given(records())
def test_records_pass_through_a_buffer_unchanged(sent: Records) -> None:
    assert content(round_trip(sent, PickleCodec())) == content(sent)


@examples(40)
@given(records(st.tuples(st.text(max_size=5), st.integers(-(2**63), 2**63 - 1))))
def test_typed_records_pass_through_arrow_unchanged(sent: Records) -> None:
    codec = codec_for(Types.TUPLE([Types.STRING(), Types.LONG()]))
    assert isinstance(codec, ArrowCodec)
    assert content(round_trip(sent, codec)) == content(sent)


@examples(40)
@given(st.lists(records(), min_size=1, max_size=4), st.booleans())
def test_concat_puts_records_one_behind_the_other(parts: list[Records], hashed: bool) -> None:
    for part in parts:
        part.hashes = np.arange(len(part), dtype=np.uint32) if hashed else None
    whole = content(concat_records(parts))
    for name, column in whole.items():
        if column is not None:
            assert column == [item for part in parts for item in content(part)[name]]


def plain(values: list[Any], *, constant: bool = True) -> Records:
    n = len(values)
    stamps = np.zeros(n, np.int64) if constant else np.arange(n, dtype=np.int64)
    return Records(values, stamps, OrderKeys.of_fragment(stamps, channel=1, frag=2, first_pos=0))


def test_constant_columns_take_no_space_in_the_payload() -> None:
    values = [0] * 1_000
    constant = len(encode(plain(values), PickleCodec(), raised=True)[1])
    varying = len(encode(plain(values, constant=False), PickleCodec(), raised=True)[1])
    # Positions always differ; event times and stamps do in the second case only.
    assert varying - constant == 2 * 8 * 1_000


def test_weights_take_no_space_where_all_count_once() -> None:
    """Not a byte, and none in the header: a buffer is what it was before there were weights."""
    once = plain([0, 1, 2])
    weighed = replace(once, weights=np.ones(3, np.int64))
    assert encode(once, PickleCodec(), raised=True) == encode(weighed, PickleCodec(), raised=True)
    assert len(pickle.loads(encode(once, PickleCodec(), raised=True)[0])) == 5
    assert Received.of(*encode(weighed, PickleCodec(), raised=True)).weights is None


def test_weights_that_are_all_the_same_take_no_space_in_the_payload() -> None:
    taken_back = replace(plain([0, 1, 2]), weights=np.full(3, -1, np.int64))
    payload = encode(taken_back, PickleCodec(), raised=True)[1]
    assert payload == encode(plain([0, 1, 2]), PickleCodec(), raised=True)[1]


@examples(60)
@given(records(), st.data())
def test_weights_stay_with_their_records(whole: Records, data: st.DataObject) -> None:
    """When they are taken, sliced, put in order, and written in buffers of some size."""
    rows = np.array(data.draw(st.lists(st.integers(0, len(whole) - 1))), np.int64)
    wanted = content(whole)
    wanted = {n: c if c is None else [c[row] for row in rows] for n, c in wanted.items()}
    assert content(whole.take(rows)) == wanted
    whole.values = list(range(len(whole)))
    weights = dict(zip(whole.values, content(whole)["weights"], strict=True))
    sent: list[BufferRow] = []
    writer = BufferWriter(0, 0, PickleCodec(), True, sent.append, limit=3)
    writer.add(whole)
    writer.flush()
    read = merged([Received.of(row.header, row.payload).decoded(PickleCodec()) for row in sent])
    assert dict(zip(read.values, content(read)["weights"], strict=True)) == weights


def test_a_sink_gets_a_row_as_often_as_it_counts_and_deletions_where_it_is_taken_back() -> None:
    sent = replace(plain([(1, "a"), (2, "b"), (3, "c")]), weights=np.array([2, 0, -1]))
    found = decode(*encode(sent, PickleCodec(), raised=True), PickleCodec())
    assert found.values == [(1, "a"), (1, "a"), Row.of_kind(RowKind.DELETE, 3, "c")]
    assert found.ts.tolist() == [0, 0, 0] and found.keys.pos.tolist() == [0, 0, 2]
    assert found.weights is None


def test_a_sink_keeps_the_names_of_a_row_that_is_taken_back() -> None:
    sent = replace(plain([Row(n=1)]), weights=np.array([-2]))
    found = decode(*encode(sent, PickleCodec(), raised=True), PickleCodec())
    assert found.values == [Row.of_kind(RowKind.DELETE, n=1)] * 2


def test_a_sink_refuses_to_take_back_what_is_no_row() -> None:
    sent = replace(plain([1, 2]), weights=np.array([1, -1]))
    with pytest.raises(MillstreamError, match="CHANGES_REFUSED"):
        decode(*encode(sent, PickleCodec(), raised=True), PickleCodec())


@pytest.mark.parametrize("raised", [True, False])
def test_header_tells_count_and_whether_stamps_have_their_floors(raised: bool) -> None:
    header, payload = encode(plain([1, 2, 3]), PickleCodec(), raised=raised)
    assert (record_count(header), Received.of(header, payload).raised) == (3, raised)


def test_value_that_does_not_fit_the_declared_type_is_refused() -> None:
    with pytest.raises(MillstreamError, match="'x'"):
        encode(plain([1, "x"]), codec_for(Types.LONG()), raised=True)


class TestWriter:
    def rows(self, values: list[Any], *, parts: int = 1, **options: Any) -> list[BufferRow]:
        sent: list[BufferRow] = []
        writer = BufferWriter(3, 7, PickleCodec(), True, sent.append, **options)
        for part in range(parts):
            writer.add(plain(values[part::parts]))
        writer.flush()
        writer.flush()
        return sent

    def values(self, rows: list[BufferRow]) -> list[Any]:
        return [v for row in rows for v in decode(row.header, row.payload, PickleCodec()).values]

    def test_full_buffers_go_out_with_slot_and_tag(self) -> None:
        rows = self.rows(list(range(10)), limit=4)
        assert [record_count(row.header) for row in rows] == [4, 4, 2]
        assert {(row.slot, row.kind, row.tag) for row in rows} == {(3, buffers.DATA, 7)}
        assert self.values(rows) == list(range(10))

    def test_small_parts_gather_in_one_buffer(self) -> None:
        assert len(self.rows(list(range(10)), parts=5)) == 1

    def test_nothing_to_send_sends_nothing(self) -> None:
        sent: list[BufferRow] = []
        BufferWriter(0, 0, PickleCodec(), True, sent.append).flush()
        assert sent == []

    def test_later_buffers_of_large_records_stay_below_the_limit(self) -> None:
        sent: list[BufferRow] = []
        writer = BufferWriter(0, 0, PickleCodec(), True, sent.append)
        for start in range(0, 60, 20):
            writer.add(plain([bytes(100_000) + bytes([i]) for i in range(start, start + 20)]))
            writer.flush()
        assert len(self.values(sent)) == 60
        assert all(len(row.payload) <= buffers.TARGET_BYTES for row in sent[1:])

    def test_no_buffer_of_several_records_is_larger_than_the_limit(self) -> None:
        rows = self.rows([bytes(100_000) + bytes([i]) for i in range(40)])
        assert all(len(row.payload) <= buffers.TARGET_BYTES for row in rows)

    def test_no_record_is_lost_when_the_limit_falls_between_two_buffers(self) -> None:
        values = [bytes(100_000) + bytes([i]) for i in range(90)]
        rows = self.rows(values, limit=30)
        assert [value[-1] for value in self.values(rows)] == list(range(90))

    def test_columns_of_large_records_are_written_once(self, monkeypatch: Any) -> None:
        written: list[int] = []
        encode_once = ArrowCodec.encode

        def counted(codec: ArrowCodec, values: Any) -> bytes:
            written.append(len(values))
            return encode_once(codec, values)

        monkeypatch.setattr(ArrowCodec, "encode", counted)
        texts = [chr(97 + i % 26) * 5_000 for i in range(1_000)]
        values = Columns(Types.STRING(), [pa.array(texts)])
        sent: list[BufferRow] = []
        codec = ArrowCodec(Types.STRING())
        writer = BufferWriter(0, 0, codec, True, sent.append)
        writer.add(replace(plain(list(range(1_000))), values=values))
        writer.flush()
        assert sum(written) == 1_000 and len(sent) > 5
        assert all(len(row.payload) <= buffers.TARGET_BYTES for row in sent)
        found = merged([decode(row.header, row.payload, codec) for row in sent])
        assert found.values == texts

    def test_one_huge_record_is_a_buffer_of_its_own(self) -> None:
        assert len(self.rows([bytes(2 * buffers.TARGET_BYTES)])) == 1


def test_records_that_share_an_object_do_not_share_it_behind_the_buffer() -> None:
    """Whether two records are in one buffer depends on the cut; a function may change its input."""
    shared: list[int] = []
    one, other = round_trip(plain([shared, shared]), PickleCodec()).values
    one.append(1)
    assert other == []


def test_any_value_passes_a_buffer_of_a_type_that_is_not_declared() -> None:
    codec = codec_for(inferred(Types.LONG()))
    values = [1, 2.5, "a", 2**64]
    assert codec.decode(memoryview(codec.encode(values))) == values


def test_columns_of_an_older_savepoint_are_read_where_the_type_is_not_declared() -> None:
    written = ArrowCodec(Types.LONG()).encode([1, 2])
    assert codec_for(inferred(Types.LONG())).decode(memoryview(written)) == [1, 2]


PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
THREE = [("a", 1), ("b", 2), ("c", 3)]


def sent_as(type_info: Any, values: list[Any], first: int = 0) -> tuple[bytes, bytes, Codec]:
    sent, codec = plain(values), codec_for(type_info)
    sent.keys.pos = np.arange(first, first + len(values), dtype=np.int64)
    return *encode(sent, codec, raised=True), codec


def test_columns_stay_columns_for_who_takes_columns() -> None:
    later, earlier = sent_as(PAIR, THREE, 3), sent_as(PAIR, THREE[::-1])
    found = merged([decode_columns(*later), decode_columns(*earlier)])
    assert isinstance(found.values, Columns)
    batch = record_batch(found.values, PAIR)
    assert batch.to_pydict() == {"f0": list("cbaabc"), "f1": [3, 2, 1, 1, 2, 3]}


def test_values_of_a_type_that_is_not_declared_become_columns_of_it() -> None:
    found = decode_columns(*sent_as(inferred(PAIR), THREE))
    assert found.values == THREE
    assert record_batch(found.values, PAIR).to_pydict() == {"f0": ["a", "b", "c"], "f1": [1, 2, 3]}


def test_a_value_that_is_no_record_is_one_column() -> None:
    assert record_batch([1, None, 3], Types.LONG()).to_pydict() == {"value": [1, None, 3]}
