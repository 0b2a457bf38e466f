"""The lists of stop words that Spark brings along, read from its archive without a JVM."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

from millstream.ml.errors import ml_error

__all__ = ["LANGUAGES", "stop_words_of"]

LANGUAGES = (
    "danish",
    "dutch",
    "english",
    "finnish",
    "french",
    "german",
    "hungarian",
    "italian",
    "norwegian",
    "portuguese",
    "russian",
    "spanish",
    "swedish",
    "turkish",
)


@lru_cache(maxsize=len(LANGUAGES))
def stop_words_of(language: str) -> tuple[str, ...]:
    """The stop words of a language.

    Examples
    --------
    >>> {"i", "would"} <= set(stop_words_of("english"))
    True
    """
    spec = find_spec("pyspark")
    folders = (spec and spec.submodule_search_locations) or []
    for folder in folders:
        for archive in sorted(Path(folder, "jars").glob("spark-mllib_*.jar")):
            with ZipFile(archive) as file:
                text = file.read(f"org/apache/spark/ml/feature/stopwords/{language}.txt")
            return tuple(line for line in text.decode("utf-8").split("\n") if line)
    message = f"this PySpark has no list of stop words in {language}"
    hint = "give the words to set_stop_words(...), or install pyspark with its archives"
    raise ml_error("ML_STOP_WORDS", message, hint)
