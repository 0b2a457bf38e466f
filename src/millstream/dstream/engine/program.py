"""Programs of contexts in files: nodes with the functions of the user."""

from __future__ import annotations

import io
import pickle
from importlib import import_module
from typing import Any

from millstream.common.errors import CheckpointError, MillstreamError, user_location
from millstream.common.pickling import dumps
from millstream.dstream.errors import call_error
from millstream.dstream.nodes import Graph
from millstream.dstream.rdd import RDD, SparkContext

__all__ = ["load_program", "pickled_program"]

_CONTEXT = "context"
_RDD = "rdd"


def pickled_program(graph: Graph, streaming_context: object) -> bytes:
    """The program by value: functions of the main script go with it, those of modules by their name.

    RDDs in it go with their values. The streaming context is not part of it: functions get the new one.
    """
    cloud: Any = import_module("cloudpickle")
    rdds: list[RDD[Any]] = []

    class Pickler(cloud.CloudPickler):  # type: ignore[misc]
        def persistent_id(self, thing: Any) -> Any:
            if thing is streaming_context:
                return (_CONTEXT, 0)
            if isinstance(thing, RDD):
                rdds.append(thing)
                return (_RDD, len(rdds) - 1)
            if isinstance(thing, SparkContext):
                raise call_error(
                    "DSTREAM_CONTEXT_IN_FUNCTION",
                    "It appears that you are attempting to reference SparkContext from a function of "
                    "the program. It cannot be kept in a checkpoint",
                    "use rdd.context in functions of foreachRDD and transform",
                )
            return None

    buffer = io.BytesIO()
    try:
        Pickler(buffer, protocol=5).dump(graph)
    except MillstreamError:
        raise
    except Exception as error:
        raise call_error(
            "DSTREAM_NOT_SERIALIZABLE",
            f"the program cannot be kept in a checkpoint: {error}",
            "open connections, files and locks inside of the functions that use them",
        ) from error
    return dumps((buffer.getvalue(), [rdd.glom().collect() for rdd in rdds]))


def load_program(content: bytes, streaming_context: object, sc: SparkContext, path: str) -> Graph:
    """The program of a file."""

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, pid: tuple[str, int]) -> Any:
            kind, number = pid
            return streaming_context if kind == _CONTEXT else rdds[number]

    try:
        program, values = pickle.loads(content)
        rdds = [sc.from_partitions(parts) for parts in values]
        graph: Graph = Unpickler(io.BytesIO(program)).load()
    except Exception as error:
        raise CheckpointError(
            "DSTREAM_PROGRAM",
            f"Failed to read checkpoint from directory {path}: {error}",
            location=user_location(),
            hint="a module that the program names may have changed: "
            "getOrCreate(path, setup, rebuild=True) builds the program again and keeps its state",
        ) from error
    graph.context = sc
    return graph
