"""A client of schema registries with Confluent's HTTP interface, and the header of their messages."""

from __future__ import annotations

import base64
import json
import ssl
import struct
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from millstream.common.errors import FormatError, MillstreamError, PlanError, user_location
from millstream.common.secrets import MASK
from millstream.common.serialization import beginning
from millstream.common.time import to_millis
from millstream.common.type_aliases import DurationLike

__all__ = [
    "RegisteredSchema",
    "SchemaReference",
    "SchemaRegistry",
    "framed",
    "message_indexes",
    "unframed",
    "with_indexes",
]

_HEADER = struct.Struct(">BI")
_CONTENT = "application/vnd.schemaregistry.v1+json"
_FIRST_WAIT_S = 0.1


# -- the header of a message -----------------------------------------------------------------------


def framed(schema_id: int, payload: bytes) -> bytes:
    r"""Return a message: a zero byte, the id of its schema in four bytes, and the payload.

    Examples
    --------
    >>> framed(7, b"abc")
    b'\x00\x00\x00\x00\x07abc'
    """
    return _HEADER.pack(0, schema_id) + payload


def unframed(message: bytes) -> tuple[int, bytes]:
    r"""Return the id of the schema of a message, and its payload.

    Examples
    --------
    >>> unframed(b"\x00\x00\x00\x00\x07abc")
    (7, b'abc')
    """
    if len(message) < _HEADER.size or message[0]:
        raise FormatError(
            "NOT_FRAMED",
            f"{beginning(message)} does not begin with a zero byte and the four bytes of a schema id",
            "it was written without a schema registry: read it with the plain format",
        )
    return _HEADER.unpack_from(message)[1], message[_HEADER.size :]


def with_indexes(path: Sequence[int], payload: bytes) -> bytes:
    r"""Put before a Protobuf message its place in the file: 0 is the first message.

    Examples
    --------
    >>> with_indexes([0], b"abc"), with_indexes([1, 0], b"abc")
    (b'\x00abc', b'\x04\x02\x00abc')
    """
    if list(path) == [0]:
        return b"\0" + payload
    return b"".join(_varint(number * 2) for number in (len(path), *path)) + payload


def message_indexes(payload: bytes) -> tuple[list[int], bytes]:
    r"""Return the place of a Protobuf message in its file, and the message.

    Examples
    --------
    >>> message_indexes(b"\x04\x02\x00abc")
    ([1, 0], b'abc')
    """
    count, at = _read_varint(payload, 0)
    if count > len(payload):
        raise _no_indexes(payload)
    path = [] if count else [0]
    for _ in range(count):
        number, at = _read_varint(payload, at)
        path.append(number)
    return path, payload[at:]


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number in zigzag code, and the place behind it."""
    number = shift = 0
    while at < len(data) and shift < 35:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            if number % 2:
                break  # it is negative
            return number // 2, at
    raise _no_indexes(data)


def _no_indexes(data: bytes) -> FormatError:
    return FormatError(
        "NOT_FRAMED", f"{beginning(data)} does not begin with the indexes of a Protobuf message"
    )


# -- the registry ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class SchemaReference:
    """Another schema that a schema uses, by the name that it has there."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True)
class RegisteredSchema:
    """A schema of a registry: its kind (AVRO, PROTOBUF or JSON), its text, and what it uses."""

    kind: str
    text: str
    references: tuple[SchemaReference, ...] = ()


class SchemaRegistry:
    """A schema registry, and how to reach it; what it has answered is kept.

    Parameters
    ----------
    url
        Where it is, such as ``https://registry:8081``; or several, which are tried in turn.
    auth
        User and password, if it wants them.
    token
        A bearer token, if it wants one.
    ca_file, cert_file, key_file, key_password
        For TLS: whom to trust, and the client's own certificate.
    timeout
        How long to wait for an answer.
    retries
        How often to try again if there is no answer, or if the server says that it cannot answer now.

    Examples
    --------
    >>> SchemaRegistry("http://localhost:8081", auth=("me", "secret"))
    SchemaRegistry('http://localhost:8081', auth=*****)
    """

    def __init__(
        self,
        url: str | Sequence[str],
        *,
        auth: tuple[str, str] | None = None,
        token: str | None = None,
        ca_file: str | None = None,
        cert_file: str | None = None,
        key_file: str | None = None,
        key_password: str | None = None,
        timeout: DurationLike = "10 s",
        retries: int = 3,
    ) -> None:
        urls = list(url) if isinstance(url, list | tuple) else [url]
        self._urls = [_checked_url(one) for one in urls]
        named = [credentials for _, credentials in self._urls if credentials is not None]
        self._auth = auth or next(iter(named), None)
        self._token = token
        self._tls = (ca_file, cert_file, key_file, key_password)
        self._timeout_ms = to_millis(timeout, "timeout")
        self._retries = retries
        self._forget()
        if not urls or (auth and token) or retries < 0:
            raise _bad_registry(
                "a schema registry needs a URL, either user and password or a token, and no negative "
                "number of retries"
            )

    def __repr__(self) -> str:
        secret = f", token={MASK}" if self._token else f", auth={MASK}" if self._auth else ""
        return f"SchemaRegistry({', '.join(repr(url) for url, _ in self._urls)}{secret})"

    def __getstate__(self) -> dict[str, Any]:
        caches = ("_schemas", "_versions", "_opener")
        return {name: value for name, value in vars(self).items() if name not in caches}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._forget()

    def _forget(self) -> None:
        self._schemas: dict[int, RegisteredSchema] = {}
        self._versions: dict[tuple[str, RegisteredSchema, bool], tuple[int, int]] = {}
        self._opener: urllib.request.OpenerDirector | None = None

    # -- what it is asked ---------------------------------------------------------------------------

    def schema(self, schema_id: int) -> RegisteredSchema:
        """Return the schema with an id.

        Raises
        ------
        FormatError
            ``UNKNOWN_SCHEMA``: there is none, so the message that names it cannot be read.
        """
        found = self._schemas.get(schema_id)
        if found is None:
            try:
                answer = self._ask("GET", f"/schemas/ids/{schema_id}")
            except _Refusal as refusal:
                if refusal.status == 404:
                    raise FormatError(
                        "UNKNOWN_SCHEMA", f"{self!r} has no schema with the id {schema_id}"
                    ) from None
                raise self._error(refusal, f"give the schema with the id {schema_id}") from None
            found = self._schemas[schema_id] = _schema_in(answer)
        return found

    def referenced(self, schema: RegisteredSchema) -> list[RegisteredSchema]:
        """Return the schemas that a schema uses, directly or not, each behind those that it uses."""
        found: dict[str, RegisteredSchema] = {}
        for one in schema.references:
            path = f"/subjects/{_quoted(one.subject)}/versions/{one.version}"
            try:
                used = _schema_in(self._ask("GET", path))
            except _Refusal as refusal:
                raise self._error(
                    refusal, f"give version {one.version} of {one.subject!r}"
                ) from None
            for inner in self.referenced(used):
                found.setdefault(inner.text, inner)
            found.setdefault(used.text, used)
        return list(found.values())

    def id_of(self, subject: str, schema: RegisteredSchema, *, register: bool = True) -> int:
        """Return the id of a schema of a subject.

        ``register``: add it if it is not there. Otherwise somebody else must have done so.

        Raises
        ------
        PlanError
            ``SCHEMA_INCOMPATIBLE``: the registry does not take it after the subject's earlier ones.
            ``SCHEMA_NOT_REGISTERED``: it is not there.
        """
        return self._id_and_version(subject, schema, register)[0]

    def version_of(self, subject: str, schema: RegisteredSchema, *, register: bool = True) -> int:
        """Return the number of a schema among those of its subject, see `id_of`."""
        known_id, version = self._id_and_version(subject, schema, register)
        if not version:
            version = self._look_up(subject, schema)["version"]
            self._versions[subject, schema, register] = known_id, version
        return version

    def _id_and_version(
        self, subject: str, schema: RegisteredSchema, register: bool
    ) -> tuple[int, int]:
        key = subject, schema, register
        if key not in self._versions:
            found = self._register(subject, schema) if register else self._look_up(subject, schema)
            self._versions[key] = int(found["id"]), int(found.get("version", 0))
        return self._versions[key]

    def _register(self, subject: str, schema: RegisteredSchema) -> Any:
        try:
            return self._ask("POST", f"/subjects/{_quoted(subject)}/versions", _body(schema))
        except _Refusal as refusal:
            raise self._error(refusal, f"take a schema for subject {subject!r}") from None

    def _look_up(self, subject: str, schema: RegisteredSchema) -> Any:
        try:
            return self._ask("POST", f"/subjects/{_quoted(subject)}", _body(schema))
        except _Refusal as refusal:
            raise self._error(refusal, f"give the schema of subject {subject!r}") from None

    # -- how it is asked ----------------------------------------------------------------------------

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return the answer of the first server that gives one."""
        failure: Exception | None = None
        for attempt in range(self._retries + 1):
            if attempt:
                threading.Event().wait(_FIRST_WAIT_S * 2 ** (attempt - 1))
            for url, _ in self._urls:
                try:
                    return self._call(method, url + path, body)
                except _Refusal as refusal:
                    if refusal.status < 500 and refusal.status != 429:
                        raise
                    failure = refusal
                except (OSError, ValueError) as error:  # no connection, a time-out, or no JSON
                    failure = error
        raise MillstreamError(
            "REGISTRY_UNREACHABLE",
            f"{self!r} gives no answer, after {self._retries + 1} tries: {failure}",
            hint="look whether it runs, and whether the workers can reach it; the restart strategy "
            "tries it again",
        ) from failure

    def _call(self, method: str, url: str, body: Any) -> Any:
        headers = {"Accept": f"{_CONTENT}, application/json", **self._credentials()}
        data = None
        if body is not None:
            headers["Content-Type"] = _CONTENT
            data = json.dumps(body).encode()
        request = urllib.request.Request(url, data, headers, method=method)
        if self._opener is None:
            self._opener = self._made_opener()
        try:
            with self._opener.open(request, timeout=self._timeout_ms / 1_000) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                raise _Refusal(error.code, error.read(10_000)) from None

    def _credentials(self) -> dict[str, str]:
        if self._token:
            return {"Authorization": f"Bearer {self._token}"}
        if self._auth:
            pair = ":".join(self._auth).encode()
            return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
        return {}

    def _made_opener(self) -> urllib.request.OpenerDirector:
        if not any(url.startswith("https:") for url, _ in self._urls):
            return urllib.request.build_opener(_NoRedirects())  # certificates take 50 ms to load
        ca_file, cert_file, key_file, password = self._tls
        context = ssl.create_default_context(cafile=ca_file)
        if cert_file:
            context.load_cert_chain(cert_file, key_file, password)
        handler = urllib.request.HTTPSHandler(context=context)
        return urllib.request.build_opener(handler, _NoRedirects())

    def _error(self, refusal: _Refusal, what: str) -> PlanError:
        message = f"{self!r} does not {what}: {refusal}"
        if refusal.status == 404:
            hint = "register it first, or let the job do it: register=True"
            return PlanError("SCHEMA_NOT_REGISTERED", message, hint=hint)
        if refusal.status == 409:
            hint = (
                "change the schema as the subject's compatibility allows, for example by a field with "
                "a default; or use another subject"
            )
            return PlanError("SCHEMA_INCOMPATIBLE", message, hint=hint)
        if refusal.status in (401, 403):
            hint = "give SchemaRegistry user and password, or a token, of a user with the right to do it"
            return PlanError("REGISTRY_DENIED", message, hint=hint)
        return PlanError("REGISTRY_REFUSED", message, hint="see what the registry says")


class _Refusal(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, body: bytes) -> None:
        self.status = status
        try:
            found = json.loads(body)
            text = f"{found['message']} (error {found['error_code']})"
        except (ValueError, TypeError, KeyError):
            text = beginning(body)
        super().__init__(f"HTTP {status}: {text:.500}")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would take the credentials to another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _checked_url(url: object) -> tuple[str, tuple[str, str] | None]:
    """A URL without user and password, and these."""
    parts = urllib.parse.urlsplit(url if isinstance(url, str) else "")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise _bad_registry(
            "the URL of a schema registry begins with http:// or https://, and has a host"
        )
    place = parts.netloc.rpartition("@")[2]
    plain = urllib.parse.urlunsplit((parts.scheme, place, parts.path.rstrip("/"), "", ""))
    if parts.username is None:
        return plain, None
    unquote = urllib.parse.unquote
    return plain, (unquote(parts.username), unquote(parts.password or ""))


def _bad_registry(message: str) -> PlanError:
    here = user_location()
    return PlanError(
        "BAD_REGISTRY",
        message,
        # The text of the line may have the password in it.
        location=None if here is None else replace(here, code=None),
        hint='for example SchemaRegistry("https://registry:8081", token="...")',
    )


def _quoted(subject: str) -> str:
    return urllib.parse.quote(subject, safe="")


def _body(schema: RegisteredSchema) -> dict[str, Any]:
    body: dict[str, Any] = {"schema": schema.text}
    if schema.kind != "AVRO":  # registries before version 5.5 know no other one, and no kinds
        body["schemaType"] = schema.kind
    if schema.references:
        body["references"] = [vars(one) for one in schema.references]
    return body


def _schema_in(answer: Any) -> RegisteredSchema:
    references: Iterable[Any] = answer.get("references") or ()
    return RegisteredSchema(
        answer.get("schemaType") or "AVRO",
        answer["schema"],
        tuple(
            SchemaReference(one["name"], one["subject"], int(one["version"])) for one in references
        ),
    )
