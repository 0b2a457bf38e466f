"""RegexTokenizer: texts become lists of words, by a regular expression."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from millstream.ml.common.param import HasInputCol, HasOutputCol
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.terms import texts_of
from millstream.ml.kernel.texts import java_split, pattern_of
from millstream.ml.param import BooleanParam, IntParam, ParamValidators, StringParam
from millstream.ml.stages.mapping import FeatureTransformer, Work

__all__ = ["RegexTokenizer"]


class RegexTokenizer(FeatureTransformer, HasInputCol, HasOutputCol):
    """Split texts at what a pattern matches, or take what it matches (``gaps=False``).

    Words that are shorter than ``min_token_length`` are left out. The pattern is one of Python's module
    `re`, with classes of ASCII as in Java.

    Examples
    --------
    >>> RegexTokenizer().set_gaps(False).set_pattern("[0-9]+").transform(["1 and 22"]).tolist()
    [['1', '22']]
    """

    KIND: ClassVar[str] = "array<string>"
    reads_numbers = False
    MIN_TOKEN_LENGTH = IntParam(
        "min_token_length", "Minimum token length", 1, ParamValidators.gt_eq(0)
    )
    GAPS = BooleanParam("gaps", "Set regex to match gaps or tokens", True)
    PATTERN = StringParam("pattern", "Regex pattern used for tokenizing", "\\s+")
    TO_LOWERCASE = BooleanParam(
        "to_lowercase", "Whether to convert all characters to lowercase before tokenizing", True
    )

    def get_to_lowertcase(self) -> bool:
        """The same as ``get_to_lowercase``: the name that flink-ml's Python has."""
        return bool(self.to_lowercase)

    def work(self) -> Work:
        pattern_of(self.pattern)
        return partial(
            _split,
            column=self.input_col,
            made=self.output_col,
            pattern=self.pattern,
            gaps=self.gaps,
            lower=self.to_lowercase,
            shortest=self.min_token_length,
        )


def _split(
    batch: Batch, column: str, made: str, pattern: str, gaps: bool, lower: bool, shortest: int
) -> Made:
    found = []
    for given in texts_of(batch, column):
        text = given.lower() if lower else given
        if gaps:
            words = java_split(text, pattern)
        else:
            words = [match.group() for match in pattern_of(pattern).finditer(text)]
        found.append([word for word in words if len(word) >= shortest])
    return Made({made: found})
