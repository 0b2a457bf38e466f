"""NGram: runs of words."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from millstream.ml.common.param import HasInputCol, HasOutputCol
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.terms import lists_of
from millstream.ml.param import IntParam, ParamValidators
from millstream.ml.stages.mapping import FeatureTransformer, Work

__all__ = ["NGram"]


class NGram(FeatureTransformer, HasInputCol, HasOutputCol):
    """Turn lists of words into lists of all runs of ``n`` words, with spaces between them.

    Examples
    --------
    >>> NGram().transform([["a", "b", "c"], ["a"]]).tolist()
    [['a b', 'b c'], []]
    """

    KIND: ClassVar[str] = "array<string>"
    reads_numbers = False
    N = IntParam("n", "Number of elements per n-gram (>=1).", 2, ParamValidators.gt_eq(1))

    def work(self) -> Work:
        return partial(_runs, column=self.input_col, made=self.output_col, size=self.n)


def _runs(batch: Batch, column: str, made: str, size: int) -> Made:
    found = [
        [" ".join(words[at : at + size]) for at in range(len(words) - size + 1)]
        for words in lists_of(batch, column)
    ]
    return Made({made: found})
