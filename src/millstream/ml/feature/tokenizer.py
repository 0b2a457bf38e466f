"""Tokenizer: texts become lists of words."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from millstream.ml.common.param import HasInputCol, HasOutputCol
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.terms import texts_of
from millstream.ml.kernel.texts import java_split
from millstream.ml.stages.mapping import FeatureTransformer, Work

__all__ = ["Tokenizer"]


class Tokenizer(FeatureTransformer, HasInputCol, HasOutputCol):
    """Turn texts into small letters and split them at each white space.

    Examples
    --------
    >>> Tokenizer().transform(["Test for tokenization.", "Te,st. punct"]).tolist()
    [['test', 'for', 'tokenization.'], ['te,st.', 'punct']]
    """

    KIND: ClassVar[str] = "array<string>"
    reads_numbers = False

    def work(self) -> Work:
        return partial(_split, column=self.input_col, made=self.output_col)


def _split(batch: Batch, column: str, made: str) -> Made:
    return Made({made: [java_split(text.lower(), r"\s") for text in texts_of(batch, column)]})
