"""Lists the public names of Flink's DataStream and Table API, for PyFlink's own environment.

    python introspect.py names.json

Python names are those of PyFlink's modules. Java names are those of public methods that PyFlink's class
of the same name does not have, in PyFlink's spelling. Names of tables are those of PyFlink's modules
that have a list of public names; a function has no names of its own.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PACKAGES = ["pyflink.datastream", "pyflink.common"]
# Pieces that users do not meet: wrappers of Java objects, and what programs are translated to.
INTERNAL = re.compile(
    r"^(Internal|PassThrough|NullByte)|(Wrapper|Coder|OperationDescriptor|FunctionDescriptor)$"
    r"|^AccumulateType$"
)
INTERNAL_NAMES = re.compile(
    r"_internal_type$|^get_java_|^get_j_|^to_j_|^need_conversion$|^register_next_fire"
)
INTERNAL_MODULES = {"pyflink.datastream.utils", "pyflink.common.utils", "pyflink.common.io"}

# Their lists of public names leave out classes that users hold in their hands.
INCOMPLETE = {"pyflink.datastream.data_stream"}

STREAMS = "org.apache.flink.streaming.api.datastream."
WINDOWING = "org.apache.flink.streaming.api.windowing."
FUNCTIONS = "org.apache.flink.api.common.functions."
JAVA_CLASSES = {
    **{
        name.replace("$", "."): STREAMS + name
        for name in (
            "AllWindowedStream",
            "AsyncDataStream",
            "BroadcastConnectedStream",
            "CoGroupedStreams",
            "CoGroupedStreams$Where",
            "CoGroupedStreams$WithWindow",
            "ConnectedStreams",
            "DataStream",
            "DataStreamSink",
            "JoinedStreams",
            "JoinedStreams$Where",
            "JoinedStreams$WithWindow",
            "KeyedPartitionWindowedStream",
            "KeyedStream",
            "KeyedStream$IntervalJoin",
            "KeyedStream$IntervalJoined",
            "NonKeyedPartitionWindowedStream",
            "PartitionWindowedStream",
            "WindowedStream",
        )
    },
    **{
        name: WINDOWING + f"evictors.{name}"
        for name in ("CountEvictor", "DeltaEvictor", "Evictor", "TimeEvictor")
    },
    **{
        name: WINDOWING + f"triggers.{name}"
        for name in ("DeltaTrigger", "ProcessingTimeoutTrigger")
    },
    "GlobalWindows": WINDOWING + "assigners.GlobalWindows",
    "TumblingEventTimeWindows": WINDOWING + "assigners.TumblingEventTimeWindows",
    "WindowStagger": WINDOWING + "assigners.WindowStagger",
    "CoGroupFunction": FUNCTIONS + "CoGroupFunction",
    "FlatJoinFunction": FUNCTIONS + "FlatJoinFunction",
    "JoinFunction": FUNCTIONS + "JoinFunction",
    "MapPartitionFunction": FUNCTIONS + "MapPartitionFunction",
    "ProcessJoinFunction": "org.apache.flink.streaming.api.functions.co.ProcessJoinFunction",
    "RuntimeContext": FUNCTIONS + "RuntimeContext",
    "StreamExecutionEnvironment": (
        "org.apache.flink.streaming.api.environment.StreamExecutionEnvironment"
    ),
    "WatermarkGenerator": "org.apache.flink.api.common.eventtime.WatermarkGenerator",
    "WatermarkStrategy": "org.apache.flink.api.common.eventtime.WatermarkStrategy",
}
OBJECT = {"equals", "hash_code", "to_string", "get_class", "notify", "notify_all", "wait"}
ENUM = {"compare_to", "describe_constable", "get_declaring_class", "ordinal", "value_of", "values"}


def modules() -> Iterator[Any]:
    for package in PACKAGES:
        root = importlib.import_module(package)
        yield root
        for found in pkgutil.walk_packages(root.__path__, package + "."):
            if found.name not in INTERNAL_MODULES and ".tests" not in found.name:
                yield importlib.import_module(found.name)


def python_names() -> dict[str, dict[str, list[str]]]:
    """The attributes of each public class, by module, and by the class's name in it."""
    found: dict[str, dict[str, list[str]]] = {}
    for module in modules():
        listed = getattr(module, "__all__", None)
        if module.__name__ in INCOMPLETE or not listed:
            listed = dir(module)
        for name in listed:
            thing = getattr(module, name, None)
            if is_public_class(name, thing):
                for part in (thing, *nested(thing)):
                    found.setdefault(part.__module__, {})[part.__qualname__] = attributes(part)
    return dict(sorted(found.items()))


def is_public_class(name: str, thing: Any) -> bool:
    if name.startswith("_") or INTERNAL.search(name) or not inspect.isclass(thing):
        return False
    return thing.__module__.startswith(tuple(PACKAGES))


def nested(thing: type) -> Iterator[type]:
    """The public classes in a class, such as the contexts of functions."""
    for name, part in vars(thing).items():
        if is_public_class(name, part):
            yield part
            yield from nested(part)


def attributes(thing: type) -> list[str]:
    own = [vars(base) for base in thing.__mro__ if base.__module__.startswith("pyflink")]
    members = {name: member for names in reversed(own) for name, member in names.items()}
    return sorted(
        name
        for name, member in members.items()
        if not name.startswith("_")
        and not INTERNAL_NAMES.search(name)
        and not inspect.isclass(member)
    )


def table_names() -> dict[str, dict[str, dict[str, list[str]]]]:
    """The attributes of each public class of tables with the names of their parameters, by module.

    A function has one attribute, "()".
    """
    root = importlib.import_module("pyflink.table")
    found: dict[str, Any] = {"pyflink.table": {name: {} for name in root.__all__}}
    for each in pkgutil.iter_modules(root.__path__, "pyflink.table."):
        module = importlib.import_module(each.name) if not each.ispkg else None
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name, None)
            if inspect.isclass(thing):
                members = {name: parameters(getattr(thing, name)) for name in attributes(thing)}
                found.setdefault(each.name, {})[name] = members
            elif callable(thing):
                found.setdefault(each.name, {})[name] = {"()": parameters(thing)}
    return dict(sorted(found.items()))


def parameters(thing: Any) -> list[str]:
    """The names under which arguments can be given."""
    if not inspect.isroutine(thing):
        return []
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    found = inspect.signature(thing).parameters.values()
    own = ("self", "cls")
    return [each.name for each in found if each.kind in by_name and each.name not in own]


def java_names(python: dict[str, dict[str, list[str]]]) -> dict[str, list[str]]:
    from pyflink.java_gateway import get_gateway

    jvm = get_gateway().jvm
    loader = jvm.Thread.currentThread().getContextClassLoader()
    known = {name: set(names) for classes in python.values() for name, names in classes.items()}
    found: dict[str, list[str]] = {}
    for name, java_class in JAVA_CLASSES.items():
        jvm_class = jvm.Class.forName(java_class, False, loader)
        methods = jvm_class.getMethods()
        public = {snake(m.getName()) for m in methods if is_public(jvm, m)} - OBJECT
        if jvm_class.isEnum():
            public -= {*ENUM, "name"}
        own = public - known.get(name, set())
        # Getters of Java's plumbing say nothing about what the API can do.
        found[name] = sorted(m for m in own if "transformation" not in m and "$" not in m)
    return found


def is_public(jvm: Any, method: Any) -> bool:
    return not method.isSynthetic() and bool(
        jvm.java.lang.reflect.Modifier.isPublic(method.getModifiers())
    )


def snake(name: str) -> str:
    spelled = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
    # PyFlink's own spelling of names that Python keeps for itself, or that it cannot split.
    return {"global": "global_"}.get(spelled, spelled)


def main() -> int:
    python = python_names()
    names = {"python": python, "java": java_names(python), "tables": table_names()}
    Path(sys.argv[1]).write_text(json.dumps(names, indent=1, sort_keys=True) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
