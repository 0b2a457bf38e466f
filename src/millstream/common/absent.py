"""Names and methods of PyFlink that are not here, and what takes their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

__all__ = ["METHODS", "NAMES", "missing_method", "missing_name"]

_JAVA = "it wraps an object of Flink's Java API, and there is none"

NAMES: dict[str, str] = {
    "AssignerWithPeriodicWatermarksWrapper": "use WatermarkStrategy.for_generator(...)",
    "CustomCheckpointStorage": "use FileSystemCheckpointStorage(path)",
    "CustomStateBackend": "state is in Spark's state store",
    "StreamTransformer": _JAVA,
    "SupportsPreprocessing": _JAVA,
    "AvroParquetReaders": "use ParquetColumnarRowInputFormat",
    "AvroParquetWriters": "use ParquetBulkWriters",
    "AsyncFunctionDescriptor": "give an AsyncFunction to AsyncDataStream",
}
"""Names in modules that are here."""

METHODS: dict[str, str] = {
    "write_to_socket": "use add_sink(...) with a SinkFunction",
    "write_using_output_format": "use add_sink(...) with a SinkFunction",
    "transform": "operators are not part of the API: use process(...)",
    "get_min_resources": "resources are Spark's",
    "get_preferred_resources": "resources are Spark's",
    "as_queryable_state": "read state of savepoints and checkpoints with millstream.state_processor",
    "read_file": "use FileSource with from_source(...)",
    "read_file_stream": "use FileSource with from_source(...)",
    "create_remote_environment": "get_execution_environment(spark=...) takes a Spark session",
    "create_local_environment_with_web_ui": "Spark's own pages show the job",
    "add_operator": "operators are not part of the API",
    "get_stream_graph": "use get_execution_plan()",
    "generate_stream_graph": "use get_execution_plan()",
    "get_transformer": _JAVA,
}
"""Methods of streams, sinks and environments."""


def missing_name(module: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module some of whose names are not here.

    Examples
    --------
    >>> missing_name("millstream.datastream.formats.parquet")("AvroParquetWriters")
    Traceback (most recent call last):
    ImportError: millstream.datastream.formats.parquet has no AvroParquetWriters: use ParquetBulkWriters
    """

    def absent(name: str) -> NoReturn:
        if name in NAMES:
            # Of an AttributeError, `from module import name` would not show the text.
            raise ImportError(f"{module} has no {name}: {NAMES[name]}", name=module)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return absent


def missing_method(owner: object, name: str) -> AttributeError:
    """Return the error of a method or attribute that an object does not have."""
    kind = type(owner).__name__
    if name in METHODS:
        return AttributeError(f"{kind} has no {name}: {METHODS[name]}")
    return AttributeError(f"{kind!r} object has no attribute {name!r}", name=name, obj=owner)
