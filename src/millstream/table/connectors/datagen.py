"""The connector ``datagen``: rows that are made up, the same for a seed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches

import numpy as np
import pyarrow as pa

from millstream.common.typeinfo import TypeInformation, Types
from millstream.connectors.datagen.draws import Draws
from millstream.connectors.datagen.fields import FieldGenerator
from millstream.connectors.datagen.options import PER_SECOND, fields_of
from millstream.datastream.connectors.data_generator import RateLimiterStrategy
from millstream.datastream.connectors.datagen import DataGenSource
from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
from millstream.kernel.records.columns import Columns
from millstream.table.connectors.factory import CONNECTORS, Connector, ReadRows, stored_row
from millstream.table.connectors.messages import ColumnsDecoder
from millstream.table.connectors.options import Option, Options
from millstream.table.logical.entries import TableEntry
from millstream.table.physical.compiled import row_info
from millstream.table.types.arrow import arrow_type
from millstream.table.types.logical import (
    ArrayType,
    DecimalType,
    IntType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
)

__all__ = ["generator_of"]

_KINDS: dict[str, TypeInformation] = {
    "CHAR": Types.STRING(),
    "VARCHAR": Types.STRING(),
    "BOOLEAN": Types.BOOLEAN(),
    "BINARY": Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "VARBINARY": Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "TINYINT": Types.BYTE(),
    "SMALLINT": Types.SHORT(),
    "INTEGER": Types.INT(),
    "BIGINT": Types.LONG(),
    "FLOAT": Types.FLOAT(),
    "DOUBLE": Types.DOUBLE(),
    "DECIMAL": Types.BIG_DEC(),
    "INTERVAL_YEAR_MONTH": Types.INT(),
    "INTERVAL_DAY_TIME": Types.LONG(),
}
_TIMES = ("DATE", "TIME_WITHOUT_TIME_ZONE", "TIMESTAMP_WITHOUT_TIME_ZONE")
_FIELD_OPTIONS = (
    "kind",
    "min",
    "max",
    "max-past",
    "length",
    "var-len",
    "start",
    "end",
    "null-rate",
)


@dataclass(frozen=True)
class _Fitted(FieldGenerator):
    """Values of a generator in the Arrow type of the column."""

    inner: FieldGenerator
    kind: pa.DataType
    type_info: TypeInformation = field(default_factory=Types.PICKLED_BYTE_ARRAY)
    null_rate: float = 0.0

    @property
    def count(self) -> int | None:
        return self.inner.count

    def described(self) -> str:
        return self.inner.described()

    def values(self, draws: Draws, before: Columns | None) -> pa.Array:
        found = self.inner.column(draws, before)
        return found if found.type == self.kind else found.cast(self.kind)


@dataclass(frozen=True)
class _Clock(FieldGenerator):
    """The time at which a row would be made: the beginning of the job, and what its number adds.

    Flink takes the time at which a row is made. Here a row that is read again must be the same.
    """

    kind: pa.DataType
    begin_ms: int
    per_second: int
    past_ms: int = 0
    type_info: TypeInformation = field(default_factory=Types.PICKLED_BYTE_ARRAY)
    null_rate: float = 0.0

    def described(self) -> str:
        return "the time of the row"

    def values(self, draws: Draws, before: Columns | None) -> pa.Array:
        times = self.begin_ms + draws.numbers * 1_000 // self.per_second
        if self.past_ms:
            times = times - (draws.units("past") * self.past_ms).astype(np.int64)
        if pa.types.is_time(self.kind):
            of_day = pa.array(times % 86_400_000, pa.int32()).cast(pa.time32("ms"))
            return of_day.cast(self.kind, safe=False)
        return (
            pa.array(times)
            .cast(pa.timestamp("ms", getattr(self.kind, "tz", None)))
            .cast(self.kind, safe=False)
        )


@dataclass(frozen=True)
class _Nested(FieldGenerator):
    """Values that are made of others: rows, arrays and maps, the latter with ``length`` elements."""

    kind: pa.DataType
    parts: tuple[tuple[str, FieldGenerator], ...]
    length: int = 1
    type_info: TypeInformation = field(default_factory=Types.PICKLED_BYTE_ARRAY)
    null_rate: float = 0.0

    def described(self) -> str:
        return f"values of {self.kind}"

    def values(self, draws: Draws, before: Columns | None) -> pa.Array:
        number = len(draws.numbers)
        if pa.types.is_struct(self.kind):
            arrays = [part.column(self._of(draws, name, 1), None) for name, part in self.parts]
            return pa.StructArray.from_arrays(arrays, fields=list(self.kind))
        arrays = [
            part.column(self._of(draws, name, self.length), None) for name, part in self.parts
        ]
        offsets = pa.array(np.arange(number + 1) * self.length, pa.int32())
        if pa.types.is_map(self.kind):
            return pa.MapArray.from_arrays(offsets, *arrays).cast(self.kind)
        return pa.ListArray.from_arrays(offsets, arrays[0]).cast(self.kind)

    def _of(self, draws: Draws, name: str, length: int) -> Draws:
        numbers = np.repeat(draws.numbers * length, length) + np.tile(
            np.arange(length), len(draws.numbers)
        )
        return Draws(draws.seed, f"{draws.field}.{name}", numbers)


def generator_of(
    name: str, kind: LogicalType, options: Options, begin_ms: int, per_second: int
) -> FieldGenerator:
    """The generator of a column, by the options ``fields.#.*``."""
    arrow, below = arrow_type(kind), f"fields.{name}."
    given = {
        option: value for option, value in options.below(below).items() if option in _FIELD_OPTIONS
    }
    rate = float(given.get("null-rate", 0))
    made: FieldGenerator
    if isinstance(kind, ArrayType | MapType | MultisetType | RowType):
        parts = tuple(
            (part, generator_of(f"{name}.{part}", inner, options, begin_ms, per_second))
            for part, inner in _inner(kind)
        )
        length = 1 if isinstance(kind, RowType) else int(given.get("length", 3))
        made = _Nested(arrow, parts, length)
    elif kind.root in (*_TIMES, "TIMESTAMP_WITH_LOCAL_TIME_ZONE"):
        past = options.millis(f"{below}max-past") or 0
        made = _Clock(arrow, begin_ms, per_second, past)
    elif kind.root in _KINDS:
        return _Fitted(_plain(name, kind, given), arrow)
    else:
        raise options.problem(f"cannot make values of {kind}", "use a computed column")
    return made.with_null_rate(rate)


def _inner(kind: LogicalType) -> list[tuple[str, LogicalType]]:
    if isinstance(kind, RowType):
        return [(each.name, each.type) for each in kind.fields]
    if isinstance(kind, ArrayType):
        return [("element", kind.element)]
    if isinstance(kind, MapType):
        return [("key", kind.key), ("value", kind.value)]
    assert isinstance(kind, MultisetType)
    return [("element", kind.element), ("count", IntType())]


def _plain(name: str, kind: LogicalType, given: dict[str, str]) -> FieldGenerator:
    length = getattr(kind, "length", None)
    if kind.root in ("CHAR", "BINARY") and length is not None:
        given = {**given, "length": str(length)}
    if isinstance(kind, DecimalType) and given.get("kind", "random") == "random":
        largest = Decimal(10) ** (kind.precision - kind.scale) - Decimal(1).scaleb(-kind.scale)
        low, high = given.get("min", -largest), given.get("max", largest)
        rate = float(given.get("null-rate", 0))
        return FieldGenerator.random(
            Types.BIG_DEC(), Decimal(low), Decimal(high), scale=kind.scale, null_rate=rate
        )
    prefixed = {f"fields.{name}.{option}": value for option, value in given.items()}
    return fields_of({name: _KINDS[kind.root]}, prefixed)[name]


class _DataGen(Connector):
    def options(self, given: Mapping[str, str]) -> tuple[Option, ...]:
        return (
            Option("rows-per-second"),
            Option("number-of-rows"),
            Option("seed"),
            Option("scan.parallelism"),
            Option("fields.", prefix=True),
        )

    def read(
        self, env: StreamExecutionEnvironment, entry: TableEntry, options: Options
    ) -> ReadRows:
        _check_fields(entry, options)
        rate = options.number("rows-per-second") or PER_SECOND
        begin = time.time_ns() // 1_000_000
        fields = {
            each.name: generator_of(each.name, each.type, options, begin, rate)
            for each in entry.stored
        }
        source = DataGenSource(
            fields,
            options.number("number-of-rows"),
            RateLimiterStrategy.per_second(rate),
            seed=options.number("seed") or 0,
            parts=options.number("scan.parallelism") or 1,
        )
        info = row_info(stored_row(entry))
        (spec,) = source.parts()
        return ReadRows(env._source(entry.path.name, spec, info, None, ColumnsDecoder(info)))


def _check_fields(entry: TableEntry, options: Options) -> None:
    """Refuse options of columns that there are not, and options that columns do not have."""
    names = [each.name for each in entry.stored]
    for option in options.below("fields."):
        column, _, what = option.rpartition(".")
        if column.split(".")[0] not in names and column not in names:
            close = get_close_matches(column, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"columns: {', '.join(names)}"
            raise options.problem(f"has options of a column {column!r}, which it has not", hint)
        if what not in _FIELD_OPTIONS:
            close = get_close_matches(what, _FIELD_OPTIONS, n=1)
            known = f"options of columns: {', '.join(_FIELD_OPTIONS)}"
            hint = f"did you mean 'fields.{column}.{close[0]}'?" if close else known
            raise options.problem(f"has the unknown option 'fields.{option}'", hint)


CONNECTORS["datagen"] = _DataGen()
