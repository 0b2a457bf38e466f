"""RandomSplitter: data in parts, at random."""

from __future__ import annotations

from typing import Any

from millstream.ml.api import AlgoOperator
from millstream.ml.errors import ml_type_error
from millstream.ml.kernel.java_random import java_hash
from millstream.ml.param import FloatArrayParam, IntParam, ParamValidator
from millstream.ml.stages.entry import frame_of

__all__ = ["RandomSplitter"]


def _weights(value: Any) -> bool:
    return value is not None and len(value) > 1 and min(value) > 0


class RandomSplitter(AlgoOperator[Any]):
    """Split data into parts whose sizes are as ``weights``; the result is a list of data.

    The same data and ``seed`` give the same parts. On tables and streams a row's part depends on the row
    and on how many equal ones came before, so that neither the order of rows nor restarts change it;
    streams keep a count for each different row.

    Examples
    --------
    >>> parts = RandomSplitter(weights=[0.3, 0.7]).set_seed(0).transform(range(1000))
    >>> [len(part) for part in parts]
    [277, 723]
    """

    WEIGHTS = FloatArrayParam(
        "weights",
        "The weights of data splitting.",
        (1.0, 1.0),
        ParamValidator(_weights, "at least two numbers above 0"),
    )
    SEED = IntParam(
        "seed",
        "The random seed.",
        java_hash("org.apache.flink.ml.feature.randomsplitter.RandomSplitter"),
    )

    def transform(self, *inputs: Any) -> list[Any]:
        if len(inputs) != 1:
            raise ml_type_error(
                "ML_INPUT_COUNT", f"RandomSplitter takes one input, got {len(inputs)}"
            )
        frame = frame_of(inputs[0], ["input"], numbers=False)
        parts = frame.split([each / sum(self.weights) for each in self.weights], self.seed)
        return [part.given(["input"]) for part in parts]
