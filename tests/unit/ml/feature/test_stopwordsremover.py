"""StopWordsRemover: the values of flink-ml's tests."""

from __future__ import annotations

import pytest

from millstream.ml.errors import MLError
from millstream.ml.feature.stopwordsremover import StopWordsRemover
from millstream.ml.spark import stop_words
from millstream.ml.spark.stop_words import LANGUAGES
from tests.support.ml import TEXTS, Tables

ROWS: list[tuple[list[str | None], list[str | None]]] = [
    (["test", "test"], ["test", "test"]),
    (["a", "b", "c", "d"], ["b", "c", "d"]),
    (["a", "the", "an"], []),
    (["A", "The", "AN"], []),
    ([None], [None]),
    ([], []),
]


def test_values_of_flink(tmp_path) -> None:
    tables = Tables()
    table = tables.of({"raw": TEXTS, "expected": TEXTS}, ROWS)
    remover = StopWordsRemover(input_cols=["raw"], output_cols=["filtered"])
    remover.save(str(tmp_path / "stage"))
    for each in (remover, StopWordsRemover.load(tables.t_env, str(tmp_path / "stage"))):
        rows = tables.rows(each.transform(table)[0])
        assert len(rows) == len(ROWS)
        assert [row[2] for row in rows] == [row[1] for row in rows]


def test_parameters() -> None:
    remover = StopWordsRemover()
    assert {"i", "would"} <= set(remover.stop_words)
    assert remover.locale == StopWordsRemover.get_default_or_us()
    assert not remover.case_sensitive
    remover.set_stop_words(*StopWordsRemover.load_default_stop_words("turkish"))
    assert {"acaba", "yani"} <= set(remover.set_case_sensitive(True).stop_words)
    assert remover.clone().get_stop_words() == remover.stop_words
    assert "en_US" in StopWordsRemover.get_available_locales()
    for locale in StopWordsRemover.get_available_locales():
        remover.set_locale(locale)
    with pytest.raises(ValueError, match="get_available_locales"):
        remover.set_locale("xx_XX")


def test_every_language_has_words(monkeypatch) -> None:
    for language in LANGUAGES:
        assert len(StopWordsRemover.load_default_stop_words(language)) > 50
    with pytest.raises(ValueError, match="language 'latin'"):
        StopWordsRemover.load_default_stop_words("latin")
    monkeypatch.setattr(stop_words, "find_spec", lambda name: None)
    stop_words.stop_words_of.cache_clear()
    with pytest.raises(MLError, match="ML_STOP_WORDS"):
        StopWordsRemover.load_default_stop_words("english")


def test_case_and_locale() -> None:
    remover = StopWordsRemover(input_cols=["a"], output_cols=["b"], stop_words=["TI", "x"])
    words = [["ti", "TI", "t\u0131", "X"]]
    assert remover.set_locale("en_US").transform(words).tolist() == [["t\u0131"]]
    assert remover.set_locale("tr_TR").transform(words).tolist() == [["ti"]]
    assert remover.set_case_sensitive(True).transform(words).tolist() == [["ti", "t\u0131", "X"]]
