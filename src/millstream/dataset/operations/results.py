"""Methods that run a program, or say where results go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.dataset.operations.base import Operations

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

__all__ = ["ResultOperations"]


class ResultOperations(Operations):
    """Methods that run a program, or say where results go.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> env.from_elements(("a", 1), ("b", 2)).to_arrow().to_pydict()
    {'f0': ['a', 'b'], 'f1': [1, 2]}
    """

    def collect(self) -> list[Any]:
        """Run the program and return all elements; sinks that wait run along."""
        return self._env._run(lambda engine: engine.records(self._node))  # type: ignore[no-any-return]

    def count(self) -> int:
        """Run the program and return the number of elements."""
        return self._env._run(lambda engine: engine.count(self._node))  # type: ignore[no-any-return]

    def print(self) -> None:
        """Run the program and print each element on a line."""
        for element in self.collect():
            print(element)

    def to_arrow(self) -> pa.Table:
        """Run the program and return the columns: those of tuples are f0, f1 and so on.

        Rows have theirs by name; other elements are in one column "value".
        """
        return self._env._run(lambda engine: engine.table(self._node))

    def to_pandas(self) -> pd.DataFrame:
        """Run the program and return the columns of `to_arrow` as a DataFrame of pandas."""
        return self.to_arrow().to_pandas()  # type: ignore[no-any-return]

    def to_dataframe(self) -> DataFrame:
        """The columns of `to_arrow` as a DataFrame of Spark, which computes them when it needs them."""
        return self._env._frame(self._node)
