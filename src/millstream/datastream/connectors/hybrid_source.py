"""Several sources one after the other: files first, then a log."""

from __future__ import annotations

from typing import Any

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.typeinfo import TypeInformation
from millstream.connectors.hybrid import HybridChannels, HybridDecoder
from millstream.connectors.source import ChannelSource, Source
from millstream.plan.specs import FilesSpec

__all__ = ["HybridSource", "HybridSourceBuilder"]


class HybridSource(Source):
    """Reads sources one after the other, as one stream.

    The next source begins when the one before is read to its end. All but the last one must be
    bounded. The channels of all sources have watermarks of their own: those that have ended do not
    count any more, and event time waits for those of the next source from the switch on.

    Examples
    --------
    >>> from millstream.common import WatermarkStrategy
    >>> from millstream.datastream.connectors import NumberSequenceSource
    >>> from millstream.testing import run_local
    >>> def program(env):
    ...     old, new = NumberSequenceSource(1, 3), NumberSequenceSource(10, 12)
    ...     source = HybridSource.builder(old).add_source(new).build()
    ...     return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    >>> run_local(program, epochs=2).values()
    [1, 2, 3, 10, 11, 12]
    """

    def __init__(self, *sources: Source) -> None:
        for number, source in enumerate(sources):
            _check(source, is_last=number == len(sources) - 1)
        self._type = _common_type(sources)
        self._decoders = tuple(source.decoder() for source in sources)
        stages = tuple(tuple(map(_channels, source.parts())) for source in sources)
        self._source = HybridChannels(stages, is_tagged=any(self._decoders))

    @staticmethod
    def builder(first_source: Source) -> HybridSourceBuilder:
        """Begin with the source that is read first."""
        return HybridSourceBuilder((first_source,))

    def parts(self) -> tuple[HybridChannels]:
        return (self._source,)

    def get_produced_type(self) -> TypeInformation | None:
        return self._type

    def decoder(self) -> HybridDecoder | None:
        return HybridDecoder(self._decoders) if self._source.is_tagged else None


class HybridSourceBuilder:
    """Builds a `HybridSource`."""

    def __init__(self, sources: tuple[Source, ...]) -> None:
        self._sources = sources

    def add_source(self, next_source: Source) -> HybridSourceBuilder:
        """Add the source that is read when all before have ended."""
        self._sources += (next_source,)
        return self

    def build(self) -> HybridSource:
        """Return the source."""
        return HybridSource(*self._sources)


def _check(source: Any, *, is_last: bool) -> None:
    if not isinstance(source, Source):
        raise _refusal(
            f"{short_repr(source)} is no source", "give sources of millstream.datastream.connectors"
        )
    for part in source.parts():
        if isinstance(part, FilesSpec):
            if part.watch:
                raise _refusal(
                    "a FileSource that watches for files cannot be a part of a hybrid source",
                    "read the files that are there: leave out watch and monitor_continuously",
                )
        elif not isinstance(part, ChannelSource):
            raise _refusal(
                f"{type(source).__name__} is read by Spark, and cannot be a part of a hybrid source",
                "use sources that are read in Python: files, collections, generators, logs",
            )
        elif part.limits().per_second is not None:
            raise _refusal(
                f"{type(source).__name__} has a rate, which a hybrid source cannot keep",
                "limit the records of an epoch: RateLimiterStrategy.per_checkpoint(...)",
            )
    if source.conversion() is not None:
        raise _refusal(
            f"the records of {type(source).__name__} are made after it is read",
            "decode them in the source: override decoder() in place of conversion()",
        )
    if not is_last and not source.bounded:
        raise _refusal(
            f"{type(source).__name__} never ends, so the source after it would never begin",
            "only the last source may have no end: give the others one",
        )


def _channels(part: Any) -> ChannelSource:
    """A part of a source as it is read in Python: files are, here."""
    channels: ChannelSource = (
        part.channels(user_location()) if isinstance(part, FilesSpec) else part
    )
    return channels


def _common_type(sources: tuple[Source, ...]) -> TypeInformation | None:
    types = [source.get_produced_type() for source in sources]
    known = [type_info for type_info in types if type_info is not None]
    for other in known[1:]:
        if other != known[0]:
            raise _refusal(
                f"the sources give records of different types: {known[0]} and {other}",
                "let all give the same: declare the type of each, or decode them to it",
            )
    return known[0] if len(known) == len(types) else None


def _refusal(message: str, hint: str) -> PlanError:
    return PlanError("BAD_HYBRID", message, location=user_location(), hint=hint)
