"""StopWordsRemover: lists of words without those that say little."""

from __future__ import annotations

import locale
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from millstream.ml.common.param import HasInputCols, HasOutputCols
from millstream.ml.errors import ml_value_error
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.terms import lists_of
from millstream.ml.kernel.texts import lowered
from millstream.ml.param import BooleanParam, ParamValidator, StringArrayParam, StringParam
from millstream.ml.spark.stop_words import LANGUAGES, stop_words_of
from millstream.ml.stages.columns import same_count
from millstream.ml.stages.mapping import FeatureTransformer, Work

__all__ = ["StopWordsRemover"]


def _locales() -> frozenset[str]:
    """The names of locales that Python knows, without their encodings."""
    names = {name.partition(".")[0].partition("@")[0] for name in locale.locale_alias.values()}
    return frozenset({"en_US", *(name for name in names if name[:2].isalpha())})


_LOCALES = _locales()


def _default_locale() -> str:
    found = locale.getlocale()[0]
    return found if found in _LOCALES else "en_US"


class StopWordsRemover(FeatureTransformer, HasInputCols, HasOutputCols):
    """Leave stop words out of lists of words; by default those of English, in any case.

    The lists of 14 languages come with Spark: ``load_default_stop_words("turkish")``. None in a list
    stays.

    Examples
    --------
    >>> remover = StopWordsRemover(input_cols=["words"], output_cols=["kept"])
    >>> remover.transform([["A", "stone", "is", "the", "last"]]).tolist()
    [['stone', 'last']]
    """

    KIND: ClassVar[str] = "array<string>"
    reads_numbers = False
    STOP_WORDS = StringArrayParam(
        "stop_words", "The words to be filtered out; None: those of English.", None
    )
    CASE_SENSITIVE = BooleanParam(
        "case_sensitive",
        "Whether to do a case-sensitive comparison over the stop words.",
        False,
    )
    LOCALE = StringParam(
        "locale",
        "Locale of the input for case insensitive matching. Ignored when case_sensitive is true.",
        _default_locale(),
        ParamValidator(lambda value: value in _LOCALES, "one of get_available_locales()"),
    )

    def get_stop_words(self) -> tuple[str, ...]:
        """The words to be filtered out."""
        given: tuple[str, ...] | None = self.get(self.STOP_WORDS)
        return stop_words_of("english") if given is None else given

    @property
    def stop_words(self) -> tuple[str, ...]:
        """The same."""
        return self.get_stop_words()

    @classmethod
    def load_default_stop_words(cls, language: str) -> tuple[str, ...]:
        """The stop words of a language: danish, dutch, english, finnish, french, german, hungarian,
        italian, norwegian, portuguese, russian, spanish, swedish or turkish."""
        if language not in LANGUAGES:
            message = f"there is no list of stop words for the language {language!r}"
            raise ml_value_error("ML_PARAM_VALUE", message, f"there are {', '.join(LANGUAGES)}")
        return stop_words_of(language)

    @classmethod
    def get_default_or_us(cls) -> str:
        """The locale of this system, or ``en_US`` if it has none that is known."""
        return _default_locale()

    @classmethod
    def get_available_locales(cls) -> set[str]:
        """The locales that ``set_locale`` takes."""
        return set(_LOCALES)

    def work(self) -> Work:
        same_count(self, "input_cols", "output_cols")
        place = None if self.case_sensitive else self.locale
        words = frozenset(_lowered(word, place) for word in self.stop_words)
        columns = list(zip(self.input_cols, self.output_cols, strict=True))
        return partial(_filtered, columns=columns, words=words, place=place)


def _lowered(word: Any, place: str | None) -> Any:
    return word if word is None or place is None else lowered(word, place)


def _filtered(
    batch: Batch, columns: Sequence[tuple[str, str]], words: frozenset[Any], place: str | None
) -> Made:
    found = {
        made: [
            [word for word in row if _lowered(word, place) not in words]
            for row in lists_of(batch, name)
        ]
        for name, made in columns
    }
    return Made(found)
