"""Sinks: they wait for `execute`, or for another result of the environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from millstream.common.errors import Location, PlanError, short_repr, user_location
from millstream.common.typeinfo import Types
from millstream.dataset.functions import WriteMode
from millstream.dataset.operations.base import checked_size
from millstream.dataset.plan.calls import user_function
from millstream.dataset.plan.nodes import Each, Node

if TYPE_CHECKING:
    from millstream.dataset.execution import Engine

__all__ = ["DataSink"]


class DataSink:
    """A place for the elements of a set, which waits for a run.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> sink = env.from_elements(("a", 1)).output()
    >>> _ = env.execute()
    (a, 1)
    """

    def __init__(self, node: Node, location: Location | None) -> None:
        self.node = node
        self.location = location
        self.parallelism: int | None = None

    def name(self, name: str) -> DataSink:
        """Name the sink, for plans."""
        self.node.name = name
        return self

    def set_parallelism(self, parallelism: int) -> DataSink:
        """Let so many tasks write; 1 writes a single file instead of a folder."""
        self.parallelism = checked_size(parallelism, "set_parallelism()", 1)
        return self

    def run(self, engine: Engine) -> None:
        """Write."""
        raise NotImplementedError


class PrintSink(DataSink):
    """A sink that prints lines on the driver."""

    def __init__(self, node: Node, location: Location | None, to_error: bool) -> None:
        super().__init__(node, location)
        self._to_error = to_error

    def run(self, engine: Engine) -> None:
        for line in engine.records(self.node):
            print(line, file=sys.stderr if self._to_error else sys.stdout)


class FileSink(DataSink):
    """A sink that writes files."""

    def __init__(
        self,
        node: Node,
        location: Location | None,
        path: str,
        kind: str,
        mode: Any,
        end: str = "\n",
    ) -> None:
        super().__init__(node, location)
        if not isinstance(mode, WriteMode):
            raise PlanError(
                "DATASET_WRITE_MODE",
                f"write_mode must be WriteMode.NO_OVERWRITE or OVERWRITE, got {short_repr(mode)}",
                location=location,
            )
        if not isinstance(path, str | os.PathLike):
            raise PlanError(
                "DATASET_PATH", f"a sink needs a path, got {short_repr(path)}", location=location
            )
        self.path, self.kind, self.end = os.fspath(path), kind, end
        self.overwrite = mode is WriteMode.OVERWRITE

    def run(self, engine: Engine) -> None:
        engine.write(self)


def lines(node: Node, line: Callable[[Any], str], name: str) -> Node:
    """The lines of the elements of a set."""
    function = user_function(line, "__call__", 1, user_location())
    return Each(
        inputs=(node,), type=Types.STRING(), location=user_location(), kind="map",
        function=function, name=name,
    )  # fmt: skip
