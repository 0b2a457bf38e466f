"""CountVectorizer: lists of words become sparse vectors of counts, by a vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from millstream.ml.common.param import HasInputCol, HasOutputCol
from millstream.ml.errors import ml_value_error
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.statistics import first_of
from millstream.ml.kernel.terms import lists_of
from millstream.ml.linalg import SparseVector
from millstream.ml.param import BooleanParam, FloatParam, IntParam, ParamValidators
from millstream.ml.stages.base import Learner
from millstream.ml.stages.mapping import FeatureModel, Work

__all__ = ["CountVectorizer", "CountVectorizerModel"]

_not_negative = ParamValidators.gt_eq(0.0)


class _ModelParams(HasInputCol, HasOutputCol):
    MIN_TF = FloatParam(
        "min_tf",
        "Words that occur less often in a document are ignored there: from 1 on a count, below it a "
        "fraction of the document's words.",
        1.0,
        _not_negative,
    )
    BINARY = BooleanParam("binary", "Whether all counts that are not 0 are set to 1.0.", False)


class CountVectorizerModel(FeatureModel, _ModelParams):
    """The model of `CountVectorizer`: the words of the vocabulary."""

    DATA: ClassVar[dict[str, str]] = {"vocabulary": "array<string>"}
    reads_numbers = False

    def work(self) -> Work:
        (row,) = self.rows
        return partial(
            _counted,
            column=self.input_col,
            made=self.output_col,
            places={word: at for at, word in enumerate(row["vocabulary"])},
            fewest=self.min_tf,
            binary=self.binary,
        )


def _counted(
    batch: Batch, column: str, made: str, places: Mapping[Any, int], fewest: float, binary: bool
) -> Made:
    found = []
    for words in lists_of(batch, column):
        least = fewest if fewest >= 1 else fewest * len(words)
        counts = Counter(places[word] for word in words if word in places)
        kept = {at: 1.0 if binary else float(n) for at, n in counts.items() if n >= least}
        found.append(SparseVector.of_counts(len(places), kept))
    return Made({made: found})


class CountVectorizer(Learner, _ModelParams):
    """Learn a vocabulary, and count its words in lists of words.

    The words that are in most documents come first, words in equally many in the order of the alphabet.
    ``min_df`` and ``max_df`` bound in how many documents a word of the vocabulary is: numbers from 1 on
    are counts, others fractions of all documents.

    Examples
    --------
    >>> words = [["a", "c", "b", "c"], ["c", "d"], ["c", "a"]]
    >>> model = CountVectorizer().fit(words)
    >>> model.transform(words)[0]
    SparseVector(4, {0: 2.0, 1: 1.0, 2: 1.0})
    """

    MODEL = CountVectorizerModel
    reads_numbers = False
    VOCABULARY_SIZE = IntParam(
        "vocabulary_size",
        "Max size of the vocabulary: the words that are in most documents.",
        1 << 18,
        ParamValidators.gt(0),
    )
    MIN_DF = FloatParam(
        "min_df", "In how many documents a word must be at least.", 1.0, _not_negative
    )
    MAX_DF = FloatParam(
        "max_df", "In how many documents a word may be at most.", float(2**63 - 1), _not_negative
    )

    def check(self) -> None:
        counts, fractions = (
            self.min_df >= 1 and self.max_df >= 1,
            self.min_df < 1 and self.max_df < 1,
        )
        if (counts or fractions) and self.max_df < self.min_df:
            message = f"max_df must be >= min_df, they are {self.max_df} and {self.min_df}"
            raise ml_value_error("ML_PARAM_VALUE", message)

    def learn(self, frame: Frame) -> list[dict[str, Any]]:
        column = self.input_col
        parts = frame.reduce(lambda batch: _documents_of(batch, column), [column])
        first_of(parts, "CountVectorizer")
        documents = sum(count for count, _ in parts)
        total: Counter[Any] = Counter()
        for _, counts in parts:
            total.update(counts)
        least, most = (
            bound if bound >= 1 else bound * documents for bound in (self.min_df, self.max_df)
        )
        if most < least:
            message = f"max_df must be >= min_df, they are {most} and {least} documents"
            raise ml_value_error("ML_PARAM_VALUE", message)
        kept = [word for word, count in total.items() if least <= count <= most]
        kept.sort(key=lambda word: (-total[word], str(word)))
        return [{"vocabulary": kept[: self.vocabulary_size]}]


def _documents_of(batch: Batch, column: str) -> tuple[int, Counter[Any]]:
    """How many documents there are, and how many have each word."""
    found: Counter[Any] = Counter()
    for words in lists_of(batch, column):
        found.update(set(words))
    return len(batch), found
