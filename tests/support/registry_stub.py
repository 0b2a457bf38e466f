"""A schema registry over HTTP, small enough to test a client of one."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote


@dataclass
class RegistryStub:
    """What it knows, what it was asked, and how it is to misbehave.

    ``failures``: how many requests from now on get the answer 503; ``refuses``: subjects that take no
    other schema than they have; ``authorization``: the header that a request must have;
    ``silent``: it takes requests and gives no answer.
    """

    authorization: str | None = None
    failures: int = 0
    refuses: set[str] = field(default_factory=set)
    silent: bool = False
    redirect: str | None = None
    subjects: dict[str, list[int]] = field(default_factory=dict)
    schemas: dict[int, dict[str, Any]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def __enter__(self) -> RegistryStub:
        stub = self

        class Handler(_Handler):
            registry = stub

        self.awake = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.awake.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def add(self, subject: str, schema: dict[str, Any]) -> int:
        """Register a schema without HTTP; returns its id."""
        found = next((n for n, known in self.schemas.items() if known == schema), None)
        schema_id = len(self.schemas) + 1 if found is None else found
        self.schemas[schema_id] = schema
        if schema_id not in self.subjects.setdefault(subject, []):
            self.subjects[subject].append(schema_id)
        return schema_id

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if found := re.fullmatch(r"/schemas/ids/(\d+)", path):
            schema = self.schemas.get(int(found[1]))
            return (404, _error(40403, "Schema not found")) if schema is None else (200, schema)
        if found := re.fullmatch(r"/subjects/([^/]+)/versions/(\d+)", path):
            return 200, self.schemas[self.subjects[unquote(found[1])][int(found[2]) - 1]]
        if found := re.fullmatch(r"/subjects/([^/]+)(/versions)?", path):
            return self._post(unquote(found[1]), body, register=bool(found[2]))
        return 404, _error(404, f"no such path for {method}")

    def _post(self, subject: str, body: Any, *, register: bool) -> tuple[int, Any]:
        ids = self.subjects.get(subject, [])
        known = next((n for n in ids if self.schemas[n] == body), None)
        if known is not None and not register:
            return 200, {"subject": subject, "id": known, "version": ids.index(known) + 1, **body}
        if not register:
            code = (40403, "Schema not found") if ids else (40401, "Subject not found")
            return 404, _error(*code)
        if known is None and subject in self.refuses:
            return 409, _error(409, "Schema being registered is incompatible")
        if "broken" in body["schema"]:
            return 422, _error(42201, "Invalid schema")
        return 200, {"id": self.add(subject, body)}


def _error(code: int, message: str) -> dict[str, Any]:
    return {"error_code": code, "message": message}


class _Handler(BaseHTTPRequestHandler):
    registry: RegistryStub

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _answer(self, body: Any) -> None:
        registry = self.registry
        registry.asked.append(f"{self.command} {self.path}")
        if registry.silent:
            registry.awake.wait()
        if registry.redirect:
            return self._send(302, {}, Location=registry.redirect)
        wanted = registry.authorization
        if wanted is not None and self.headers["Authorization"] != wanted:
            return self._send(401, _error(401, "Unauthorized"))
        if registry.failures:
            registry.failures -= 1
            return self._send(503, _error(50003, "Forwarding failed"))
        self._send(*registry.answer(self.command, self.path, body))

    def _send(self, status: int, body: Any, **headers: str) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass
