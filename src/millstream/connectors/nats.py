"""NATS JetStream: a source and a sink on the public contracts alone, as a model for other brokers.

A *stream* of JetStream is a log. Each of its messages has a sequence number; numbers only grow, and
messages that were deleted leave gaps. So a stream is one channel of the source, and sequence numbers are
its positions.

The sink publishes each record with an id. JetStream has no transaction over several messages, so a part
is written in three steps: a marker says that the part has begun and where the stream ended then; the
records follow; the marker says that the part is done. A replay finds the marker. If the part had only
begun, it looks for the ids behind that place in the stream, and publishes those that are not there.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import weakref
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

from millstream.common.errors import (
    EnvironmentSetupError,
    PlanError,
    short_repr,
    user_location,
)
from millstream.common.extras import needed_package
from millstream.common.secrets import masked_settings, masked_uris
from millstream.common.typeinfo import TypeInformation, Types
from millstream.connectors.sink import (
    IdempotentSink,
    IdempotentWriter,
    PartContext,
    PartMarker,
    SinkContext,
)
from millstream.connectors.source import ChannelName, ChannelSource, Chunk, Position

__all__ = ["NatsMessage", "NatsSink", "NatsSource"]

T = TypeVar("T")
Start = Literal["first", "latest"] | int

_LOGGER = logging.getLogger(__name__)
_FETCH = 1_000
"""Messages that the source asks for at a time."""
_FIRST = 5.0
"""Seconds until a server must have answered for the first time."""
_PATIENCE = 10.0
"""Seconds until an answer must be there."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_ID = "Nats-Msg-Id"
"""The header by which JetStream leaves out messages that it has already."""


# -- the connection --------------------------------------------------------------------------------


class _Connection:
    """A connection whose coroutines run in a thread of their own, so that it lives between calls."""

    def __init__(self, servers: Sequence[str], options: Mapping[str, Any], user: str) -> None:
        nats = needed_package("nats", "nats", user)
        self.shown = masked_uris(", ".join(servers))
        self._heard: list[str] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="nats")
        self._thread.start()
        client = nats.NATS()
        # A copy that nobody has closed, in a process that lives on, closes its connection as it goes.
        self._finalizer = weakref.finalize(self, _stop, self._loop, client)
        settings = {"error_cb": _into(self._heard), "reconnect_time_wait": 0.5, **options}
        try:
            # The client would go on for a minute; later, when the connection is lost, it may.
            connected = client.connect(servers=list(servers), **settings)
            self.call(asyncio.wait_for(connected, _FIRST))
        except BaseException:
            self.close()
            raise
        self.jetstream = client.jetstream(timeout=_PATIENCE)

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run something, and wait for its result."""
        import nats.errors

        away = (
            OSError,
            nats.errors.NoServersError,
            nats.errors.NoRespondersError,
            nats.errors.ConnectionClosedError,
        )
        try:
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()
        except away as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> EnvironmentSetupError:
        said = str(error) or next(reversed(self._heard), type(error).__name__)
        return EnvironmentSetupError(
            "NATS_UNREACHABLE",
            f"no NATS server with JetStream answers at {self.shown}: {masked_uris(said)}",
            hint="start it with nats-server -js, or correct the address; with a restart strategy "
            "the job goes on when it answers again",
        )

    def close(self) -> None:
        self._finalizer()


def _into(heard: list[str]) -> Callable[[Exception], Coroutine[Any, Any, None]]:
    """Return what the client calls about its attempts to connect; by default it prints them."""

    async def hear(error: Exception) -> None:
        heard[:] = [str(error)]

    return hear


def _stop(loop: asyncio.AbstractEventLoop, client: Any) -> None:
    async def close() -> None:
        try:
            await client.close()
            left = asyncio.all_tasks() - {asyncio.current_task()}
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
        finally:
            loop.stop()

    asyncio.run_coroutine_threadsafe(close(), loop)


def _checked_servers(servers: Any) -> tuple[str, ...]:
    found = (servers,) if isinstance(servers, str) else tuple(servers or ())
    if not found or not all(isinstance(server, str) and server for server in found):
        raise PlanError(
            "BAD_NATS",
            f"{masked_uris(short_repr(servers))} is no address of a NATS server",
            location=user_location(),
            hint='give "nats://host:4222", or several addresses of one cluster',
        )
    return found


def _refuse_name(what: str, name: Any, refused: str = " \t\r\n") -> None:
    if not isinstance(name, str) or not name or any(c in refused for c in name):
        raise PlanError(
            "BAD_NATS",
            f"{short_repr(name)} is no name of a {what}",
            location=user_location(),
            hint=f"give the name of a {what} as NATS has it",
        )


class NatsMessage(NamedTuple):
    """A message of a stream.

    Attributes
    ----------
    subject : str
    data : bytes
    headers : dict
    sequence : int
        Its number in the stream.
    timestamp_ms : int
        When JetStream stored it.
    """

    subject: str
    data: bytes
    headers: Mapping[str, str]
    sequence: int
    timestamp_ms: int


async def _messages(
    jetstream: Any, stream: str, subject: str, start: int, stop: int, *, headers_only: bool = False
) -> Any:
    """Yield lists of the messages with sequence numbers from ``start`` up to ``stop``, in order."""
    from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

    config = ConsumerConfig(
        deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
        opt_start_seq=start,
        ack_policy=AckPolicy.NONE,
        headers_only=headers_only,
        # If this process dies, the server forgets the consumer.
        inactive_threshold=60.0,
    )
    consumer = await jetstream.pull_subscribe(subject, stream=stream, config=config)
    try:
        left = (await consumer.consumer_info()).num_pending
        at = start
        while left and at < stop:
            found = []
            fetched = await consumer.fetch(min(_FETCH, left, stop - at), timeout=_PATIENCE)
            for message in fetched:
                place = message.metadata
                left, at = place.num_pending, place.sequence.stream + 1
                if at <= stop:
                    found.append(_message(message, place))
            yield found
    finally:
        info = await consumer.consumer_info()
        await consumer.unsubscribe()
        await jetstream.delete_consumer(stream, info.name)


def _message(message: Any, place: Any) -> NatsMessage:
    return NatsMessage(
        message.subject,
        message.data,
        message.headers or {},
        place.sequence.stream,
        (place.timestamp - _EPOCH) // _MILLISECOND,
    )


# -- the source ------------------------------------------------------------------------------------


def _data(message: NatsMessage) -> bytes:
    return message.data


@dataclass(frozen=True, kw_only=True)
class NatsSource(ChannelSource):
    """Reads streams of NATS JetStream; each stream is a channel, in the order of its messages.

    Event times are the times at which JetStream stored the messages, unless the watermark strategy has
    a timestamp assigner. A message that was deleted is not read; if a limit of the stream has deleted
    messages that the job has not read yet, the job fails with ``NATS_DATA_LOSS``.

    Parameters
    ----------
    servers
        An address, or several of one cluster.
    streams
        The name of a stream, or several names.
    subject
        Read only messages of subjects that match, such as ``"orders.>"``.
    decode
        Makes a record of a `NatsMessage`; by default its data, as bytes.
    type_info
        The type of the records; by default bytes, or unknown if there is a ``decode``.
    start
        Where a new job begins: at the ``"first"`` message that is there, behind the ``"latest"``, or at
        a sequence number.
    bounded
        Read what is there when the job starts, and end.
    per_epoch
        How many messages of each stream an epoch reads at most.
    fail_on_data_loss
        False: go on with the first message that is left, and log how many numbers are missing.
    options
        What else ``nats.connect`` takes: ``user_credentials``, ``token``, ``tls``, ...

    Examples
    --------
    >>> NatsSource(servers="nats://me:secret@localhost:4222", streams="orders")
    NatsSource(servers='nats://me:*****@localhost:4222', streams='orders')
    """

    positions_in: ClassVar[str | None] = "NATS"
    servers: str | Sequence[str]
    streams: str | Sequence[str]
    subject: str = ">"
    decode: Callable[[NatsMessage], Any] = _data
    type_info: TypeInformation | None = None
    start: Start = "first"
    bounded: bool = False
    per_epoch: int | None = None
    fail_on_data_loss: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _checked_servers(self.servers)
        for stream in self._streams():
            _refuse_name("stream", stream, " \t\r\n.*>/\\")
        _refuse_name("subject", self.subject)
        known = self.start in ("first", "latest") or (
            isinstance(self.start, int) and not isinstance(self.start, bool) and self.start > 0
        )
        if not known:
            raise PlanError(
                "BAD_NATS",
                f"start={self.start!r} is no place in a stream",
                location=user_location(),
                hint='give "first", "latest" or a sequence number from 1',
            )

    def _streams(self) -> tuple[str, ...]:
        return (self.streams,) if isinstance(self.streams, str) else tuple(self.streams)

    def __repr__(self) -> str:
        return _shown(self, streams=self.streams)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_connection"}

    # -- the contract ----------------------------------------------------------------------------

    def open(self) -> None:
        connection = _Connection(_checked_servers(self.servers), self.options, "NatsSource")
        object.__setattr__(self, "_connection", connection)

    def close(self) -> None:
        connection: _Connection = vars(self).pop("_connection")
        connection.close()

    def latest(self) -> Mapping[ChannelName, int]:
        return self.latest_after({})

    def latest_after(self, positions: Mapping[str, Position]) -> Mapping[ChannelName, int]:
        states = {stream: self._state(stream) for stream in self._streams()}
        for stream, (first, _) in states.items():
            if stream in positions:
                self._check_loss(stream, positions[stream], first)
        return {stream: end for stream, (_, end) in states.items()}

    def first(self, channel: ChannelName) -> int:
        first, end = self._state(str(channel))
        if self.start == "latest":
            return end
        return first if self.start == "first" else min(max(self.start, first), end)

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        stream, connection = str(channel), self._connected
        parts = _messages(connection.jetstream, stream, self.subject, start, stop)
        while (found := connection.call(_next(parts))) is not None:
            values = [self.decode(message) for message in found]
            times = [message.timestamp_ms for message in found]
            # Numbers have gaps: a message keeps its own, however epochs cut the stream.
            yield Chunk(values, times, [message.sequence for message in found])
        # Asked after reading: what is there now was there before.
        self._check_loss(stream, start, self._state(stream)[0])

    def limits(self) -> Any:
        return replace(super().limits(), per_epoch=self.per_epoch)

    def get_produced_type(self) -> TypeInformation | None:
        if self.type_info is None and self.decode is _data:
            return Types.PRIMITIVE_ARRAY(Types.BYTE())
        return self.type_info

    def channel_count(self) -> int:
        return len(self._streams())

    # -- streams ---------------------------------------------------------------------------------

    @property
    def _connected(self) -> _Connection:
        connection: _Connection = vars(self)["_connection"]
        return connection

    def _state(self, stream: str) -> tuple[int, int]:
        """The number of a stream's first message, and the number behind its last one."""
        info = _stream_info(self._connected, stream)
        if info.config.retention != "limits":
            raise PlanError(
                "BAD_NATS",
                f"stream {stream!r} deletes messages when somebody has read them, so a job could not "
                f"read them again: its retention is {info.config.retention!r}",
                hint='use a stream with the retention "limits", or a mirror of it with that retention',
            )
        return max(info.state.first_seq, 1), info.state.last_seq + 1

    def _check_loss(self, stream: str, position: int, first: int) -> None:
        if first <= position:
            return
        message = (
            f"stream {stream!r} begins at message {first}, and the job has read up to message "
            f"{position - 1}: {first - position} numbers are missing"
        )
        if not self.fail_on_data_loss:
            _LOGGER.warning("%s; the job goes on without them", message)
            return
        raise EnvironmentSetupError(
            "NATS_DATA_LOSS",
            message,
            parameters={"stream": stream, "first": first, "position": position},
            hint="let the stream keep messages for longer (max_age, max_bytes, max_msgs); "
            "fail_on_data_loss=False goes on without them",
        )


async def _next(parts: Any) -> list[NatsMessage] | None:
    found: list[NatsMessage] | None = await anext(parts, None)
    return found


def _stream_info(connection: _Connection, stream: str) -> Any:
    from nats.js.errors import NotFoundError

    try:
        return connection.call(connection.jetstream.stream_info(stream))
    except NotFoundError:
        raise EnvironmentSetupError(
            "NATS_STREAM_MISSING",
            f"there is no stream {stream!r} at {connection.shown}",
            hint="create it, with the subjects that it keeps: nats stream add",
        ) from None


def _shown(connector: Any, **fields: Any) -> str:
    servers = connector.servers
    shown: Any = (
        masked_uris(servers) if isinstance(servers, str) else list(map(masked_uris, servers))
    )
    texts = {name: str(value) for name, value in connector.options.items()}
    given = {"servers": shown, **fields, **({"options": masked_settings(texts)} if texts else {})}
    inner = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return f"{type(connector).__name__}({inner})"


# -- the sink --------------------------------------------------------------------------------------


def _encoded(record: Any) -> bytes:
    if isinstance(record, bytes):
        return record
    if isinstance(record, str):
        return record.encode()
    raise TypeError(f"no bytes and no text: {short_repr(record)}; give NatsSink(..., encode=...)")


@dataclass(frozen=True, kw_only=True)
class NatsSink(IdempotentSink):
    """Publishes records into a stream of NATS JetStream, each once.

    Parameters
    ----------
    servers
        An address, or several of one cluster.
    stream
        The stream that keeps the messages.
    subject
        The subject of all messages, or a function of the record.
    encode
        Makes the data of a message; by default records are bytes or texts.
    markers
        The key-value bucket with the markers of parts; it is made if it is not there.
    batch
        How many messages are on their way at a time.
    options
        What else ``nats.connect`` takes.

    Examples
    --------
    >>> NatsSink(servers="nats://localhost:4222", stream="totals", subject="totals.shop")
    NatsSink(servers='nats://localhost:4222', stream='totals', subject='totals.shop')
    """

    servers: str | Sequence[str]
    stream: str
    subject: str | Callable[[Any], str]
    encode: Callable[[Any], bytes] = _encoded
    markers: str = "millstream_parts"
    batch: int = 256
    options: Mapping[str, Any] = field(default_factory=dict)

    def validate(self) -> None:
        _checked_servers(self.servers)
        _refuse_name("stream", self.stream, " \t\r\n.*>/\\")
        _refuse_name("bucket", self.markers, " \t\r\n.*>/\\")
        if isinstance(self.subject, str):
            _refuse_name("subject to publish to", self.subject, " \t\r\n*>")

    def __repr__(self) -> str:
        return _shown(self, stream=self.stream, subject=self.subject)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_connection"}

    def open_part(self, context: PartContext) -> NatsWriter:
        connection = self._connected()
        return NatsWriter(self, connection, _Markers(connection, self.markers), context)

    def last_markers(self, context: SinkContext) -> Mapping[int, PartMarker]:
        return _Markers(self._connected(), self.markers).of_sink(_place(self, context))

    def close(self) -> None:
        connection: _Connection | None = vars(self).pop("_connection", None)
        if connection is not None:
            connection.close()

    def _connected(self) -> _Connection:
        """The connection of this copy, which its tasks share."""
        if "_connection" not in vars(self):
            connection = _Connection(_checked_servers(self.servers), self.options, "NatsSink")
            object.__setattr__(self, "_connection", connection)
        found: _Connection = vars(self)["_connection"]
        return found


@dataclass(frozen=True)
class _Marker:
    """The state of a part: the last epoch that somebody began to write, and how far that came.

    ``since``: the last message of the stream when the epoch began. ``owner``: the attempt that writes.
    ``revision``: of the marker in its bucket.
    """

    epoch: int
    fingerprint: str
    since: int
    owner: str
    done: bool = False
    revision: int = 0


class _Markers:
    """The markers of parts, in a key-value bucket that compares before it changes anything."""

    def __init__(self, connection: _Connection, bucket: str) -> None:
        from nats.js.errors import BucketNotFoundError

        self.connection = connection
        jetstream = connection.jetstream
        try:
            self.bucket = connection.call(jetstream.key_value(bucket))
        except BucketNotFoundError:
            self.bucket = connection.call(jetstream.create_key_value(bucket=bucket))

    def get(self, key: str) -> _Marker | None:
        from nats.js.errors import KeyNotFoundError

        try:
            entry = self.connection.call(self.bucket.get(key))
        except KeyNotFoundError:
            return None
        return _Marker(**json.loads(entry.value), revision=entry.revision)

    def put(self, key: str, marker: _Marker) -> _Marker:
        """Replace the marker that had this revision; fails if it is another one by now."""
        from nats.js.errors import KeyWrongLastSequenceError

        known = {name: value for name, value in vars(marker).items() if name != "revision"}
        change = self.bucket.update(key, json.dumps(known).encode(), last=marker.revision)
        try:
            return replace(marker, revision=self.connection.call(change))
        except KeyWrongLastSequenceError as error:
            raise _taken_over() from error

    def of_sink(self, place: str) -> dict[int, PartMarker]:
        from nats.js.errors import NoKeysError

        try:
            keys = self.connection.call(self.bucket.keys())
        except NoKeysError:
            return {}
        parts = [key.removeprefix(f"{place}.") for key in keys if key.startswith(f"{place}.")]
        found = {int(part): self.get(f"{place}.{part}") for part in parts}
        return {
            part: PartMarker(marker.epoch, marker.fingerprint)
            for part, marker in found.items()
            if marker is not None
        }


def _taken_over() -> EnvironmentSetupError:
    return EnvironmentSetupError(
        "NATS_TAKEN_OVER",
        "another attempt of this task writes the same records",
        hint="nothing is lost: the other attempt goes on where this one ended",
    )


def _place(sink: NatsSink, context: SinkContext) -> str:
    """A short name for a sink of a job: uids may have characters that keys cannot have."""
    name = json.dumps([sink.stream, context.job_id, context.sink])
    return blake2b(name.encode(), digest_size=12).hexdigest()


class NatsWriter(IdempotentWriter):
    """Writes a part of an epoch, and no record of it twice."""

    def __init__(
        self, sink: NatsSink, connection: _Connection, markers: _Markers, context: PartContext
    ) -> None:
        self.sink = sink
        self.connection = connection
        self.markers = markers
        self.context = context
        self.key = f"{_place(sink, context)}.{context.part}"
        self.owner = f"{context.attempt}.{context.task_attempt}"
        self.records: list[tuple[str, bytes]] = []

    def begin(self) -> str | None:
        marker = self.markers.get(self.key)
        if marker is None or marker.epoch < self.context.epoch:
            return None
        if marker.epoch > self.context.epoch:
            # This writer is a zombie, and its part was written long ago.
            return self.context.fingerprint
        # A part that was only begun goes on, if it has the same records.
        same = PartMarker(marker.epoch, marker.fingerprint).has_records_of(self.context)
        return None if same and not marker.done else marker.fingerprint

    def write(self, batch: Any) -> None:
        sink = self.sink
        for record in batch:
            subject = sink.subject(record) if callable(sink.subject) else sink.subject
            self.records.append((subject, sink.encode(record)))

    def finish(self) -> None:
        found = self.markers.get(self.key)
        if found is not None and (found.epoch, found.done) >= (self.context.epoch, True):
            return
        marker = self._begun(found)
        there: set[str] = set()
        if found is not None and found.epoch == self.context.epoch:
            there = self._ids_since(marker.since)
        missing = [
            (self._id(n), *r) for n, r in enumerate(self.records) if self._id(n) not in there
        ]
        for start in range(0, len(missing), self.sink.batch):
            self._check_owner()
            self._publish(missing[start : start + self.sink.batch])
        self.markers.put(self.key, replace(marker, done=True))

    def _begun(self, found: _Marker | None) -> _Marker:
        """Take the part over: from here on no other attempt begins to write a batch."""
        context = self.context
        if found is not None and found.epoch == context.epoch:
            return self.markers.put(self.key, replace(found, owner=self.owner))
        last = _stream_info(self.connection, self.sink.stream).state.last_seq
        revision = 0 if found is None else found.revision
        marker = _Marker(context.epoch, context.fingerprint, last, self.owner, revision=revision)
        return self.markers.put(self.key, marker)

    def _check_owner(self) -> None:
        marker = self.markers.get(self.key)
        if marker is None or (marker.epoch, marker.owner) != (self.context.epoch, self.owner):
            raise _taken_over()

    def _id(self, number: int) -> str:
        return f"{self.key}.{self.context.epoch}.{number}"

    def _ids_since(self, last: int) -> set[str]:
        """The ids of the messages behind a place in the stream."""

        async def gathered() -> set[str]:
            end = (await jetstream.stream_info(stream)).state.last_seq + 1
            parts = _messages(jetstream, stream, ">", last + 1, end, headers_only=True)
            return {message.headers.get(_ID, "") async for part in parts for message in part}

        jetstream, stream = self.connection.jetstream, self.sink.stream
        return self.connection.call(gathered())

    def _publish(self, records: Iterable[tuple[str, str, bytes]]) -> None:
        """Send messages in order, and wait until JetStream has stored all of them."""

        async def published() -> None:
            acks = [
                await jetstream.publish_async(
                    subject, data, stream=stream, headers={_ID: record_id}
                )
                for record_id, subject, data in records
            ]
            await asyncio.wait_for(asyncio.gather(*acks), _PATIENCE)

        jetstream, stream = self.connection.jetstream, self.sink.stream
        self.connection.call(published())
