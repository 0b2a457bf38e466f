"""Pages of several tables: all that an operator keeps of the keys in a range of hashes.

An operator keeps its rows in *sections*, each with columns of its own: the groups of an aggregate, both
sides of a join. A page has the rows of all sections whose key has a hash in its range, any number for a
key. A page describes its columns, so that a savepoint is taken without the program.
"""

from __future__ import annotations

import json
import logging
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from millstream.common.errors import CheckpointError
from millstream.common.typeinfo import RowTypeInfo, type_from_dict
from millstream.kernel.keys.hashing import Hashes
from millstream.kernel.records.columns import field_types
from millstream.kernel.records.order import Ints
from millstream.kernel.state.buckets import MAX_DEPTH, bits_for
from millstream.kernel.state.compatibility import column_holds
from millstream.kernel.state.pages import PageStore
from millstream.kernel.tables.arrangement import PAGE_BYTES, PointArrangement
from millstream.kernel.tables.rows import RowForm, Rows, concat_rows

log = logging.getLogger("millstream")

SECTIONS = "sections"
"""What the names of pages begin with, behind the uid of their operator."""
NUMBER = "$number"
"""The first state of a group: how many records it has."""
FORMAT = 1
_MAGIC = b"MSTS"
_HEAD = struct.Struct("<4sHI")
_LENGTH = struct.Struct("<Q")
_ALIGNED = 16


@dataclass(frozen=True)
class SectionForm:
    """The columns of a section. Names of columns that the operator itself needs begin with ``$``.

    ``fresh``: the columns from ``$number`` on are states of aggregates, which may come and go; it gives
    those of so many groups without records.
    """

    name: str
    type_info: RowTypeInfo
    fresh: Callable[[int], Sequence[pa.Array]] | None = field(default=None, compare=False)

    @cached_property
    def types(self) -> list[pa.DataType]:
        return [kind.to_arrow() for kind in field_types(self.type_info)]

    @cached_property
    def schema(self) -> pa.Schema:
        own = [pa.field(str(i), kind) for i, kind in enumerate(self.types)]
        return pa.schema([*own, pa.field("hash", pa.uint32())])

    def nothing(self) -> Rows:
        """No rows."""
        return Rows([pa.array([], kind) for kind in self.types], np.empty(0, np.uint32))

    def encode(self, rows: Rows) -> bytes:
        if not len(rows):
            return b""
        columns = [*rows.arrays, pa.array(rows.hashes)]
        batch = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        data: bytes = batch.serialize().to_pybytes()
        return data

    def decode(self, data: memoryview) -> Rows:
        if not len(data):
            return self.nothing()
        batch = pa.ipc.read_record_batch(pa.py_buffer(data), self.schema)
        *arrays, hashes = batch.columns
        return Rows(arrays, hashes.to_numpy())

    def of_table(self, table: pa.Table, uid: str) -> Rows:
        """The rows of a savepoint's table.

        Columns of rows are found by their place, so that they may have other names now; states of
        aggregates by their name, so that some may come and others go.
        """
        stored = [name for name in table.column_names if name != "hash"]
        names = [exported_name(name) for name in self.type_info.get_field_names()]
        plain, had = self._divided(stored)
        rows, own = self._divided(names)
        if len(plain) != len(rows):
            raise self._changed(uid, stored)
        new = [name for name in own if name not in had]
        table = table.combine_chunks()
        fresh = self.fresh(len(table)) if new and self.fresh is not None else []
        arrays = []
        for place, kind in enumerate(self.types):
            if names[place] in new:
                arrays.append(fresh[own.index(names[place])])
                continue
            column = table.column(plain[place] if place < len(plain) else names[place])
            whole = column.chunk(0) if column.num_chunks else pa.array([], column.type)
            if not column_holds(kind, whole.type):
                raise self._other_type(uid, names[place], whole.type, kind)
            try:
                arrays.append(whole if whole.type == kind else whole.cast(kind))
            except pa.ArrowException as error:
                raise self._other_type(uid, names[place], whole.type, kind) from error
        self._tell(uid, new, [name for name in had if name not in own])
        return Rows(arrays, table.column("hash").to_numpy().astype(np.uint32))

    def _divided(self, names: list[str]) -> tuple[list[str], list[str]]:
        """The names of columns of rows, and those of states."""
        at = names.index(NUMBER) if self.fresh is not None and NUMBER in names else len(names)
        return names[:at], names[at:]

    def _tell(self, uid: str, new: Sequence[str], gone: Sequence[str]) -> None:
        for names, what in ((new, "begins without a past"), (gone, "is no longer computed")):
            for name in sorted({name[1:].rpartition(".")[0] for name in names}):
                log.warning("operator %r: %s %s", uid, name, what)

    def _changed(self, uid: str, stored: Sequence[str]) -> CheckpointError:
        now = ", ".join(map(exported_name, self.type_info.get_field_names()))
        return CheckpointError(
            "STATE_COLUMNS_CHANGED",
            f"operator {uid!r} has stored the columns {', '.join(stored)}, and now has {now}",
            parameters={"uid": uid},
            hint="go on with the same query, or give the operator another uid to start empty",
        )

    def _other_type(
        self, uid: str, name: str, stored: pa.DataType, now: pa.DataType
    ) -> CheckpointError:
        return CheckpointError(
            "STATE_COLUMNS_CHANGED",
            f"operator {uid!r} has stored the column {name} as {stored}, and it is {now} now, which "
            "does not have the same values in the same order",
            parameters={"uid": uid},
            hint="go on with the old type or a wider one, or give the operator another uid to start "
            "empty",
        )


def exported_name(name: str) -> str:
    """The name of a column in a savepoint, where ``hash`` is that of the key."""
    return f"{name}_" if name.rstrip("_") == "hash" else name


@dataclass(frozen=True)
class PageForm:
    """The sections of a page."""

    sections: tuple[SectionForm, ...]

    @cached_property
    def description(self) -> bytes:
        """The form as a page says it."""
        content = [{"name": s.name, "type": s.type_info.to_dict()} for s in self.sections]
        text = json.dumps(content, sort_keys=True).encode()
        return text + b" " * (-(_HEAD.size + len(text)) % _ALIGNED)

    @staticmethod
    def described(description: bytes) -> PageForm:
        """The form that a page says it has."""
        found = []
        for part in json.loads(description):
            type_info = type_from_dict(part["type"])
            assert isinstance(type_info, RowTypeInfo)
            found.append(SectionForm(part["name"], type_info))
        return PageForm(tuple(found))

    def encode(self, parts: Sequence[Rows]) -> bytes:
        """The bytes of a page."""
        chunks = [_HEAD.pack(_MAGIC, FORMAT, len(self.description)), self.description]
        encoded = [form.encode(rows) for form, rows in zip(self.sections, parts, strict=True)]
        chunks += [_LENGTH.pack(len(data)) for data in encoded]
        chunks.append(b"\0" * (-_LENGTH.size * len(encoded) % _ALIGNED))
        for data in encoded:
            chunks += [data, b"\0" * (-len(data) % _ALIGNED)]
        return b"".join(chunks)

    def decode(self, data: bytes, uid: str) -> list[Rows]:
        """The rows of each section."""
        description = _description(data, uid)
        if description != self.description:
            raise CheckpointError(
                "STATE_COLUMNS_CHANGED",
                f"operator {uid!r} keeps other columns than the state that it goes on from",
                parameters={"uid": uid},
                hint="go on with the same query, or give the operator another uid to start empty",
            )
        view = memoryview(data)
        at = _HEAD.size + len(description)
        lengths = [
            _LENGTH.unpack_from(data, at + i * _LENGTH.size)[0] for i in range(len(self.sections))
        ]
        at += _LENGTH.size * len(lengths)
        at += -at % _ALIGNED
        found = []
        for form, length in zip(self.sections, lengths, strict=True):
            found.append(form.decode(view[at : at + length]))
            at += length + -length % _ALIGNED
        return found


def _description(data: bytes, uid: str) -> bytes:
    magic, version, length = _HEAD.unpack_from(data)
    if magic != _MAGIC or version != FORMAT:
        raise CheckpointError(
            "PAGE_FORMAT",
            f"state of operator {uid!r} has table format {version}, this is {FORMAT}",
            hint="run the Millstream version that wrote it and take a savepoint there",
        )
    return data[_HEAD.size : _HEAD.size + length]


def exported_tables(data: bytes, uid: str) -> Iterator[tuple[str, pa.Table]]:
    """The sections of a page as tables of a savepoint: the hash of the key, and the columns."""
    form = PageForm.described(_description(data, uid))
    for section, rows in zip(form.sections, form.decode(data, uid), strict=True):
        if len(rows):
            names = map(exported_name, section.type_info.get_field_names())
            hashes = pa.array(rows.hashes.astype(np.int64))
            yield (
                f"{SECTIONS}/{section.name}",
                pa.table([hashes, *rows.arrays], names=["hash", *names]),
            )


@dataclass
class SectionVisit:
    """Some neighbouring pages: the rows of each section, and the range of hashes they cover.

    ``whole``: all hashes that were asked for are in the range.
    """

    sections: list[Rows]
    low: int
    end: int
    whole: bool
    loaded: dict[str, bytes] = field(default_factory=dict)

    def within(self, hashes: Hashes) -> Ints | None:
        """The places of the hashes that belong to these pages; None: all of them."""
        if self.whole:
            return None
        return np.flatnonzero((hashes >= self.low) & (hashes < self.end))


class SectionArrangement(PointArrangement):
    """The sections of one operator in one slot, during one epoch."""

    def __init__(self, pages: PageStore, form: PageForm, page_bytes: int = PAGE_BYTES) -> None:
        super().__init__(pages, _NO_FORM)
        self.page_form = form
        self.page_bytes = page_bytes

    def section_visits(self, hashes: Hashes) -> Iterator[SectionVisit]:
        """The pages that keys with these hashes belong to, some at a time."""
        for reach, loaded in self._reaches(hashes):
            parts = [self.page_form.decode(data, self._uid) for data in loaded.values()]
            sections = [
                concat_rows([part[i] for part in parts if len(part[i])] or [form.nothing()])
                for i, form in enumerate(self.page_form.sections)
            ]
            self._grow(sections[0], loaded, -1)
            whole = reach.records == len(hashes)
            yield SectionVisit(sections, reach.low, reach.end, whole, loaded)

    def put(self, visit: SectionVisit, sections: Sequence[Rows]) -> None:
        """Write the rows that have come of those of a visit; pages without rows go."""
        written: dict[str, bytes] = {}
        hashes = np.concatenate([rows.hashes for rows in sections])
        if len(hashes):
            self._split_sections(sections, hashes)
            directory = self._directory
            sorted_rows, bounds = [], []
            buckets = np.unique(directory.buckets(hashes))
            for rows in sections:
                own = directory.buckets(rows.hashes)
                if len(own) and (own[1:] < own[:-1]).any():
                    order = np.argsort(own, kind="stable")
                    rows, own = rows.take(order), own[order]
                sorted_rows.append(rows)
                bounds.append(
                    (np.searchsorted(own, buckets), np.searchsorted(own, buckets, side="right"))
                )
            for i, bucket in enumerate(buckets.tolist()):
                parts = [
                    rows.slice(int(starts[i]), int(ends[i]))
                    for rows, (starts, ends) in zip(sorted_rows, bounds, strict=True)
                ]
                place = directory.locate(bucket)
                name = self._name(*place)
                written[name] = self.page_form.encode(parts)
                directory.present[directory.span(*place)] = True
                if written[name] != visit.loaded.get(name):
                    self._store.put(name, written[name])
        for name in visit.loaded.keys() - written.keys():
            self._store.remove(name)
            self._forget(name)
        self._grow(sections[0], written, 1)

    def _split_sections(self, sections: Sequence[Rows], hashes: Hashes) -> None:
        directory = self._directory
        each = sum(rows.bytes_each * len(rows) for rows in sections) // len(hashes)
        buckets, counts = np.unique(directory.buckets(hashes), return_counts=True)
        large = counts * each > self.page_bytes
        places = [directory.locate(bucket) for bucket in buckets[large].tolist()]
        for (depth, prefix), count in zip(places, counts[large].tolist(), strict=True):
            # A few large rows must not make a directory of empty buckets.
            most = max(directory.useful_depth(), depth + count.bit_length() - 1)
            bits = min(bits_for(count * each, self.page_bytes), most - depth, MAX_DEPTH - depth)
            if count > 1 and bits > 0:
                directory.split(depth, prefix, bits)

    def _name(self, depth: int, prefix: int) -> str:
        return f"{self._uid}/{SECTIONS}/{depth}.{prefix}"


_NO_FORM: RowForm = None  # type: ignore[assignment]
