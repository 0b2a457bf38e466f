"""The connectors ``kafka`` and ``upsert-kafka``, with Flink's options."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millstream.common.types import Row, RowKind, like
from millstream.connectors.kafka.serialization import (
    KafkaProducerRecord,
    KafkaRecordSerializationSchema,
)
from millstream.connectors.kafka.sink_builder import KafkaSinkBuilder
from millstream.connectors.sink import Changelog, DeliveryGuarantee, Sink
from millstream.datastream.connectors.kafka_source import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaTopicPartition,
)
from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
from millstream.table.connectors.factory import (
    CONNECTORS,
    Connector,
    ReadRows,
    cannot,
    read_row,
    stored_row,
)
from millstream.table.connectors.formats import Chosen, Codec, chosen_format, format_options
from millstream.table.connectors.messages import MessageDecoder, Part
from millstream.table.connectors.options import Option, Options
from millstream.table.connectors.times import row_millis
from millstream.table.logical.entries import TableColumn, TableEntry
from millstream.table.physical.compiled import row_info
from millstream.table.types.logical import LogicalType, RowField, RowType
from millstream.table.types.parsing import parse_logical_type

__all__ = ["RowSerializer"]

_MODES = ("earliest-offset", "latest-offset", "group-offsets", "timestamp", "specific-offsets")
_SINK = (
    Option("sink.partitioner"),
    Option("sink.delivery-guarantee", choices=("exactly-once", "at-least-once", "none")),
    Option("sink.transactional-id-prefix"),
    Option("sink.transaction-naming-strategy"),
    Option("sink.parallelism"),
)
_READ = (
    Option("properties.bootstrap.servers", required=True),
    Option("properties.", prefix=True),
    Option("key.fields-prefix"),
    Option("value.fields-include", choices=("ALL", "EXCEPT_KEY")),
    Option("scan.bounded.mode", choices=("unbounded", *_MODES[1:])),
    Option("scan.bounded.specific-offsets"),
    Option("scan.bounded.timestamp-millis"),
    Option("scan.topic-partition-discovery.interval"),
    Option("scan.parallelism"),
)
_METADATA = {
    "topic": "STRING NOT NULL",
    "partition": "INT NOT NULL",
    "headers": "MAP<STRING NOT NULL, BYTES>",
    "leader-epoch": "INT",
    "offset": "BIGINT NOT NULL",
    "timestamp": "TIMESTAMP_LTZ(3) NOT NULL",
    "timestamp-type": "STRING NOT NULL",
}
_ABSENT = ("leader-epoch", "timestamp-type")


class _Kafka(Connector):
    """Messages of topics; ``upsert``: a message replaces the row of its key, or deletes it."""

    def __init__(self, upsert: bool = False) -> None:
        self.upsert = upsert

    def options(self, given: Mapping[str, str]) -> tuple[Option, ...]:
        formats = (
            *format_options(given, "format"),
            *format_options(given, "value.format", "value."),
            *format_options(given, "key.format", "key."),
        )
        if self.upsert:
            return (
                Option("topic", required=True),
                Option("key.format", required=True),
                Option("value.format", required=True),
                *_READ,
                *_SINK,
                Option("sink.buffer-flush.max-rows"),
                Option("sink.buffer-flush.interval"),
                *formats,
            )
        return (
            Option("topic"),
            Option("topic-pattern"),
            Option("format"),
            Option("key.format"),
            Option("value.format"),
            Option("key.fields"),
            Option("scan.startup.mode", choices=_MODES),
            Option("scan.startup.specific-offsets"),
            Option("scan.startup.timestamp-millis"),
            *_READ,
            *_SINK,
            *formats,
        )

    def changes(self, entry: TableEntry, options: Options) -> Changelog:
        return "upsert" if self.upsert else _value_format(options).format.changes

    def prunes(self, options: Options) -> bool:
        return (
            not self.upsert and "key.format" not in options.given and _value_format(options).prunes
        )

    def metadata(self, options: Options) -> Mapping[str, LogicalType]:
        found = {k: parse_logical_type(t) for k, t in _METADATA.items() if k not in _ABSENT}
        of_format = _value_format(options).format.metadata()
        return {**{f"value.{key}": kind for key, kind in of_format.items()}, **found}

    # -- reading ---------------------------------------------------------------------------------

    def read(
        self, env: StreamExecutionEnvironment, entry: TableEntry, options: Options
    ) -> ReadRows:
        form = _Form(entry, options, self.upsert)
        info = row_info(stored_row(entry))
        chosen = _value_format(options)
        headers = [n for n, each in enumerate(entry.stored) if _key_of(each) == "headers"]
        decoder = MessageDecoder(
            info,
            form.parts,
            form.value,
            form.key,
            upsert=self.upsert,
            several=chosen.format.several,
            changes=chosen.format.changes != "append",
            converted=tuple((place, _header_pairs) for place in headers),
        )
        channels = self._channels(options)
        return ReadRows(env._source(entry.path.name, channels, info, None, decoder))

    def _channels(self, options: Options) -> Any:
        builder = KafkaSource.builder().set_properties(options.below("properties."))
        topic = options.given.get("topic")
        if topic is not None:
            builder.set_topics(*topic.replace(" ", "").split(";"))
        elif "topic-pattern" in options.given:
            builder.set_topic_pattern(options.text("topic-pattern"))
        else:
            raise options.problem("names no topic", "add 'topic' = '...' to WITH (...)")
        builder.set_starting_offsets(_offsets(options, "scan.startup", self._first(options)))
        stop = options.text("scan.bounded.mode", "unbounded")
        if stop != "unbounded":
            builder.set_bounded(_offsets(options, "scan.bounded", stop))
        wait = options.millis("scan.topic-partition-discovery.interval")
        if wait is not None:
            builder.set_property("partition.discovery.interval.ms", str(wait))
        # Whole records, with their headers; the decoder of the table takes what it needs.
        builder.set_deserializer(_never)
        (channels,) = builder.build().parts()
        return channels

    def _first(self, options: Options) -> str:
        return "earliest-offset" if self.upsert else options.text("scan.startup.mode", _MODES[2])

    # -- writing ---------------------------------------------------------------------------------

    def write(self, entry: TableEntry, options: Options) -> Sink:
        topic = options.text("topic")
        if not topic or ";" in topic:
            raise options.problem("names no single topic", "a sink has one: 'topic' = '...'")
        form = _Form(entry, options, self.upsert)
        changes = "upsert" if self.upsert else _value_format(options).format.changes
        builder = KafkaSinkBuilder().set_record_serializer(
            RowSerializer(
                topic, form.written_value(), form.written_key(), form.written_parts, changes
            )
        )
        for name, value in options.below("properties.").items():
            builder.set_property(name, value)
        guarantee = options.text("sink.delivery-guarantee", "at-least-once")
        builder.set_delivery_guarantee(DeliveryGuarantee[guarantee.upper().replace("-", "_")])
        prefix = options.given.get("sink.transactional-id-prefix")
        if guarantee == "exactly-once" and prefix is None:
            raise options.problem(
                "needs the option 'sink.transactional-id-prefix'",
                "exactly-once names its transactions by it: add 'sink.transactional-id-prefix' = '...'",
            )
        if prefix is not None:
            builder.set_transactional_id_prefix(prefix)
        return builder.build()


def _never(record: Any) -> Any:
    raise AssertionError("the decoder of the table reads messages")


def _header_pairs(headers: Sequence[Mapping[str, Any]]) -> list[tuple[str, Any]]:
    return list({one["key"]: one["value"] for one in headers}.items())


def _key_of(column: TableColumn) -> str | None:
    return (column.metadata_key or column.name) if column.kind == "metadata" else None


def _value_format(options: Options) -> Chosen:
    plain, named = "format" in options.given, "value.format" in options.given
    if plain == named:
        message = "names two formats" if plain else "names no format"
        raise options.problem(message, "give one of 'format' and 'value.format'")
    if plain:
        return chosen_format(options)
    return chosen_format(options, "value.format", "value.")


class _Form:
    """Which columns are in the key and the value of messages, and in which formats."""

    def __init__(self, entry: TableEntry, options: Options, upsert: bool) -> None:
        self.entry = entry
        self.options = options
        physical = [each for each in entry.columns if each.kind == "physical"]
        self.key_columns = self._key_columns(physical, upsert)
        except_key = options.text("value.fields-include", "ALL") == "EXCEPT_KEY"
        keys = {each.name for each in self.key_columns}
        self.value_columns = [c for c in physical if not (except_key and c.name in keys)]
        self.prefix = options.text("key.fields-prefix")
        if self.prefix and not except_key:
            raise options.problem(
                "has key.fields-prefix, and its value has the same columns",
                "add 'value.fields-include' = 'EXCEPT_KEY'",
            )
        self.value: Codec = _value_format(options).codec(read_row(self.value_columns))
        self.key: Codec | None = None
        if self.key_columns:
            chosen = chosen_format(options, "key.format", "key.")
            named = ((each.name.removeprefix(self.prefix), each.type) for each in self.key_columns)
            self.key = chosen.codec(RowType(tuple(RowField(*each) for each in named)))

    def _key_columns(self, physical: list[TableColumn], upsert: bool) -> list[TableColumn]:
        names = {each.name: each for each in physical}
        if upsert:
            if not self.entry.primary_key:
                hint = "declare PRIMARY KEY (...) NOT ENFORCED: it is the key of the messages"
                raise cannot(self.entry, "is upsert-kafka and has no primary key", hint)
            return [names[each] for each in self.entry.primary_key]
        given = [each.strip() for each in self.options.text("key.fields").split(";") if each]
        if bool(given) != ("key.format" in self.options.given):
            raise self.options.problem(
                "has one of the options key.format and key.fields", "give both, or none of them"
            )
        missing = next((each for each in given if each not in names), None)
        if missing is not None:
            raise self.options.problem(
                f"has key.fields with {missing!r}, which is no column",
                f"columns: {', '.join(names)}",
            )
        return [names[each] for each in given]

    @property
    def parts(self) -> tuple[Part, ...]:
        """Where the columns of a row come from."""
        keys = [each.name for each in self.key_columns]
        values = [each.name for each in self.value_columns]
        found: list[Part] = []
        for each in self.entry.stored:
            about = _key_of(each)
            if about is not None:
                found.append(_metadata_part(about))
            elif each.name in keys:
                # A message without a value has its key.
                found.append(("key", keys.index(each.name)))
            else:
                found.append(("value", values.index(each.name)))
        return tuple(found)

    @property
    def written_parts(self) -> tuple[tuple[str, int], ...]:
        """The metadata that rows say themselves, with their places in a row."""
        names = [each.name for each in self.entry.written]
        return tuple(
            (about, names.index(each.name))
            for each in self.entry.written
            if (about := _key_of(each)) is not None
        )

    def written_value(self) -> tuple[Codec, tuple[int, ...]]:
        """The codec of values, and the places of their columns in a row."""
        return self.value, self._places(self.value_columns)

    def written_key(self) -> tuple[Codec, tuple[int, ...]] | None:
        """The codec of keys, and the places of their columns in a row."""
        return None if self.key is None else (self.key, self._places(self.key_columns))

    def _places(self, columns: list[TableColumn]) -> tuple[int, ...]:
        names = [each.name for each in self.entry.written]
        return tuple(names.index(each.name) for each in columns)


def _metadata_part(key: str) -> Part:
    if key.startswith("value."):
        return "format", key.removeprefix("value.")
    return ("time", key) if key == "timestamp" else ("read", key)


def _offsets(options: Options, prefix: str, mode: str) -> KafkaOffsetsInitializer:
    """Where partitions begin or end."""
    if mode == "earliest-offset":
        return KafkaOffsetsInitializer.earliest()
    if mode == "latest-offset":
        return KafkaOffsetsInitializer.latest()
    if mode == "group-offsets":
        if "properties.group.id" not in options.given:
            raise options.problem(
                "begins at the offsets of a group, and names none",
                "add 'properties.group.id' = '...', or 'scan.startup.mode' = 'earliest-offset'",
            )
        reset = options.text("properties.auto.offset.reset", "none").upper()
        return KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy[reset])
    if mode == "timestamp":
        millis = options.number(f"{prefix}.timestamp-millis")
        if millis is None:
            raise options.problem(
                f"needs {prefix}.timestamp-millis", "give milliseconds since 1970"
            )
        return KafkaOffsetsInitializer.timestamp(millis)
    text = options.text(f"{prefix}.specific-offsets")
    found = {}
    for part in filter(None, text.split(";")):
        try:
            pairs = dict(each.split(":") for each in part.split(","))
            place = KafkaTopicPartition(options.text("topic"), int(pairs["partition"]))
            found[place] = int(pairs["offset"])
        except (ValueError, KeyError):
            raise options.problem(
                f"has {prefix}.specific-offsets = {text!r}",
                "write 'partition:0,offset:42;partition:1,offset:300'",
            ) from None
    return KafkaOffsetsInitializer.offsets(found)


_GONE = (RowKind.DELETE, RowKind.UPDATE_BEFORE)


@dataclass(frozen=True)
class RowSerializer(KafkaRecordSerializationSchema):
    """Makes messages of rows.

    ``value`` and ``key``: a codec, and the places of its columns. ``metadata``: what rows say themselves
    of their messages, with its places. ``changes``: a row that is taken back is a tombstone
    (``upsert``), or a message of its own (``retract``).
    """

    topic_name: str
    value: tuple[Codec, tuple[int, ...]]
    key: tuple[Codec, tuple[int, ...]] | None
    metadata: tuple[tuple[str, int], ...] = ()
    changes: Changelog = "append"

    @property
    def upsert(self) -> bool:  # type: ignore[override]
        return self.changes == "upsert"

    @property
    def changelog(self) -> Changelog:
        """The changes that the sink of these messages takes."""
        return self.changes

    @property
    def topic(self) -> str:
        return self.topic_name

    def serialize(self, element: Any, timestamp: int | None) -> KafkaProducerRecord:
        key = None if self.key is None else _message(self.key, element)
        if self.upsert and element.get_row_kind() in _GONE:
            return KafkaProducerRecord(self.topic_name, None, key)
        about = {name: element[place] for name, place in self.metadata}
        found = about.get("timestamp")
        time = row_millis(found) if isinstance(found, datetime.datetime) else None
        headers = about.get("headers")
        return KafkaProducerRecord(
            self.topic_name,
            _message(self.value, element),
            key,
            None if headers is None else dict(headers),
            time,
        )


def _message(part: tuple[Codec, tuple[int, ...]], row: Any) -> bytes:
    codec, places = part
    values = [row[place] for place in places]
    made: Any = like(row, values) if isinstance(row, Row) else values
    return codec.write(made)


CONNECTORS["kafka"] = _Kafka()
CONNECTORS["upsert-kafka"] = _Kafka(upsert=True)
