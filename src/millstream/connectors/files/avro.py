"""Avro files: records of a schema, which each file has in its head."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millstream.connectors.files.opening import Fragment, opened
from millstream.connectors.files.stored import unreadable
from millstream.connectors.formats.avro import codec_of, fastavro, parsed_schema

CHUNK = 16_384


@dataclass(frozen=True)
class AvroReader:
    """Reads records as rows of a schema, given as JSON text; files may have others that fit it."""

    by_ranges = False

    schema: str

    def read(self, fragment: Fragment) -> Iterator[list[pa.Array]]:
        """The records of a file."""
        parsed = parsed_schema(self.schema)
        codec = codec_of(parsed)
        for values in chunks_of_file(fragment.path, parsed):
            rows = [codec.decode(value) if codec.decode else value for value in values]
            yield list(codec.type_info.to_arrow_arrays(rows))


def chunks_of_file(path: str, schema: Any = None) -> Iterator[list[Any]]:
    """The records of a file, some at a time. ``schema``: by default the file's own."""
    with opened(path) as file:
        values: list[Any] = []
        try:
            for value in fastavro().reader(file, schema):
                values.append(value)
                if len(values) == CHUNK:
                    yield values
                    values = []
        except Exception as error:  # fastavro raises whatever happens in the middle of the bytes
            raise unreadable(path, f"{type(error).__name__}: {error}") from error
        if values:
            yield values


def schema_of_file(path: str) -> str:
    """The schema in the head of a file, as JSON text."""
    with opened(path) as file:
        try:
            written = fastavro().reader(file).writer_schema
        except Exception as error:  # as above
            raise unreadable(path, f"{type(error).__name__}: {error}") from error
    return json.dumps(written)
