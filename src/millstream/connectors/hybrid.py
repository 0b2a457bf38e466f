"""Sources that are read one after the other, as one source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from millstream.common.errors import CheckpointError
from millstream.common.typeinfo import Types
from millstream.connectors.source import ChannelName, ChannelSource, Chunk, Position
from millstream.kernel.records.columns import Columns, Values
from millstream.kernel.records.order import Ints
from millstream.kernel.steps.decode import Decoded, Decoder

Stage = tuple[ChannelSource, ...]
"""Sources that are read at the same time."""


_NAME = re.compile(r"(\d+)\.(\d+)([#/])(.*)", re.DOTALL)


class Place(NamedTuple):
    """A channel of one of the sources; its name says all of it.

    Examples
    --------
    >>> Place(1, 0, "orders-3").name, Place(0, 2, 7).name
    ('1.0/orders-3', '0.2#7')
    >>> Place.of("0.2#7")
    Place(stage=0, part=2, channel=7)
    """

    stage: int
    part: int
    channel: ChannelName

    @property
    def name(self) -> str:
        # Names of channels are texts or numbers, and a source knows its own ones only.
        sign = "#" if isinstance(self.channel, int) else "/"
        return f"{self.stage}.{self.part}{sign}{self.channel}"

    @staticmethod
    def of(name: ChannelName) -> Place:
        found = _NAME.fullmatch(str(name))
        if found is None:
            raise CheckpointError(
                "BAD_HYBRID",
                f"the position of channel {str(name)!r} is not that of a hybrid source",
                hint="the savepoint is of a program with another source here: give this one another uid",
            )
        stage, part, sign, channel = found.groups()
        return Place(int(stage), int(part), int(channel) if sign == "#" else channel)


@dataclass(frozen=True)
class HybridChannels(ChannelSource):
    """The channels of all stages; those of a stage have their turn when the stage before has ended.

    ``is_tagged``: what is read goes by with the number of its stage, for a `HybridDecoder`.
    """

    positions_in: ClassVar[str | None] = "a hybrid source"
    stages: tuple[Stage, ...]
    is_tagged: bool = False
    ends: dict[tuple[int, int], Mapping[ChannelName, Any]] = field(
        default_factory=dict, compare=False, repr=False
    )

    def __getstate__(self) -> dict[str, Any]:
        # Where bounded sources end is asked once in a run.
        return {**vars(self), "ends": {}}

    @property
    def bounded(self) -> bool:
        return all(source.bounded for source in self.stages[-1])

    @property
    def keeps_order(self) -> bool:
        return all(source.keeps_order for _, _, source in self._sources())

    def _sources(self) -> Iterator[tuple[int, int, ChannelSource]]:
        for stage, sources in enumerate(self.stages):
            for part, source in enumerate(sources):
                yield stage, part, source

    def _at(self, name: ChannelName) -> tuple[ChannelSource, ChannelName]:
        place = Place.of(name)
        return self.stages[place.stage][place.part], place.channel

    # -- positions: a source with positions of its own gets its number in front of them ------------

    def _outer(self, stage: int, part: int, position: Position) -> Position:
        source = self.stages[stage][part]
        if position is None or type(source).number is ChannelSource.number:
            return position
        return [stage, part, position]

    def _inner(self, position: Position) -> Position:
        return position[2] if isinstance(position, list) else position

    def number(self, position: Position) -> int:
        if isinstance(position, list):
            stage, part, inner = position
            return self.stages[stage][part].number(inner)
        return position  # type: ignore[no-any-return]

    # -- channels --------------------------------------------------------------------------------

    def latest(self) -> Mapping[ChannelName, Position | None]:
        return self.latest_after({})

    def latest_after(
        self, positions: Mapping[str, Position]
    ) -> Mapping[ChannelName, Position | None]:
        found: dict[ChannelName, Position | None] = {}
        for stage, part, source in self._sources():
            latest = self.ends.get((stage, part))
            if latest is None:
                latest = source.latest_after(self._own(positions, stage, part))
                if source.bounded:
                    self.ends[stage, part] = dict(latest)
            for channel, at in latest.items():
                found[Place(stage, part, channel).name] = self._outer(stage, part, at)
        return found

    def _own(self, positions: Mapping[str, Position], stage: int, part: int) -> dict[str, Position]:
        places = {Place.of(name): at for name, at in positions.items()}
        return {
            str(place.channel): self._inner(at)
            for place, at in places.items()
            if place[:2] == (stage, part)
        }

    def turn(self, channel: ChannelName) -> int:
        return Place.of(channel).stage

    def is_final(self, channel: ChannelName) -> bool:
        source, inner = self._at(channel)
        return source.bounded or source.is_final(inner)

    def first(self, channel: ChannelName) -> Position:
        place = Place.of(channel)
        source, inner = self._at(channel)
        return self._outer(place.stage, place.part, source.first(inner))

    def announces(self, channel: ChannelName) -> bool:
        source, inner = self._at(channel)
        return source.announces(inner)

    def advance(
        self, channel: ChannelName, start: Position, stop: Position, records: int | None
    ) -> Position:
        source, inner = self._at(channel)
        limit = source.limits().per_epoch
        if limit is not None:
            records = limit if records is None else min(limit, records)
        place = Place.of(channel)
        found = source.advance(inner, self._inner(start), self._inner(stop), records)
        return self._outer(place.stage, place.part, found)

    def read(self, channel: ChannelName, start: Position, stop: Position) -> Iterator[Chunk]:
        source, inner = self._at(channel)
        chunks = source.read(inner, self._inner(start), self._inner(stop))
        return _tagged(Place.of(channel).stage, chunks) if self.is_tagged else chunks

    # -- life ------------------------------------------------------------------------------------

    def open(self) -> None:
        for _, _, source in self._sources():
            source.open()

    def close(self) -> None:
        for _, _, source in self._sources():
            source.close()
        self.ends.clear()

    def commit(self, positions: Mapping[ChannelName, Position]) -> None:
        texts = {str(name): at for name, at in positions.items()}
        for stage, part, source in self._sources():
            places = [Place.of(name) for name in texts]
            mine = {
                place.channel: self._inner(texts[place.name])
                for place in places
                if place[:2] == (stage, part)
            }
            if mine:
                source.commit(mine)

    # -- what the plan asks ----------------------------------------------------------------------

    def describe_channels(self) -> str:
        parts = [
            " and ".join(source.describe_channels() for source in sources)
            for sources in self.stages
        ]
        return "; then ".join(parts)

    def signature(self) -> str:
        inner = ", ".join(source.signature() for _, _, source in self._sources())
        return f"hybrid of {inner}"


# -- decoding --------------------------------------------------------------------------------------

_STAGE = "@stage"
_VALUE = "@value"


def _tagged(stage: int, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Chunks with the number of their stage: in a column more, or beside each record of a list."""
    for chunk in chunks:
        values = chunk.values
        if isinstance(values, list):
            yield replace(chunk, values=[(stage, value) for value in values])
            continue
        if isinstance(values, pa.Array):
            values = pa.RecordBatch.from_arrays([values], [_VALUE])
        numbers = pa.array(np.full(len(values), stage, np.int32))
        yield replace(chunk, values=values.append_column(_STAGE, numbers))


def _untagged(values: Values) -> tuple[int, Values]:
    """The stage of what was read together, and the values as its source has given them."""
    if not isinstance(values, Columns):
        return values[0][0], [value for _, value in values]
    names, types = values.type_info.get_field_names(), values.type_info.get_field_types()  # type: ignore[attr-defined]
    stage = values.arrays[-1][0].as_py()
    if names == [_VALUE, _STAGE]:
        return stage, Columns(types[0], values.arrays[:1])
    return stage, Columns(Types.ROW_NAMED(names[:-1], types[:-1]), values.arrays[:-1])


@dataclass(frozen=True)
class HybridDecoder:
    """Decodes what each stage has read as its source does; None: it is decoded already."""

    decoders: tuple[Decoder | None, ...]

    def open(self) -> None:
        for decoder in self.decoders:
            if decoder is not None:
                decoder.open()

    def decode(self, values: Values, timestamps: Ints) -> Decoded:
        if not len(values):
            return Decoded([])
        # A task reads range by range, so values that come together are of one stage.
        stage, read = _untagged(values)
        decoder = self.decoders[stage]
        return Decoded(read) if decoder is None else decoder.decode(read, timestamps)
