"""StringIndexer: texts become indices, and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from millstream.ml.common.param import HasHandleInvalid, HasInputCols, HasOutputCols
from millstream.ml.errors import ml_value_error
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.statistics import first_of
from millstream.ml.kernel.texts import categories_of
from millstream.ml.param import ParamValidators, StringParam
from millstream.ml.stages.base import Learner
from millstream.ml.stages.columns import refuse_invalid, same_count
from millstream.ml.stages.mapping import FeatureModel, Work

__all__ = ["IndexToStringModel", "StringIndexer", "StringIndexerModel"]

_ORDERS = ["arbitrary", "frequencyDesc", "frequencyAsc", "alphabetDesc", "alphabetAsc"]


class _ModelParams(HasInputCols, HasOutputCols, HasHandleInvalid):
    pass


class StringIndexerModel(FeatureModel, _ModelParams):
    """The model of `StringIndexer`: the texts of each column, in the order of their indices."""

    DATA: ClassVar[dict[str, str]] = {"stringArrays": "array<array<string>>"}
    KIND: ClassVar[str] = "int"
    reads_numbers = False

    def work(self) -> Work:
        places = [
            {text: at for at, text in enumerate(texts)} for texts in _known_texts(self, self.rows)
        ]
        columns = list(zip(self.input_cols, self.output_cols, places, strict=True))
        return partial(_indexed, columns=columns, handling=self.handle_invalid)


def _known_texts(stage: Any, rows: Sequence[Mapping[str, Any]]) -> list[list[str | None]]:
    same_count(stage, "input_cols", "output_cols")
    (row,) = rows
    found = [categories_of(list(texts), "stringArrays") for texts in row["stringArrays"]]
    if len(found) != len(stage.input_cols):
        message = f"the model has {len(found)} columns, the stage reads {len(stage.input_cols)}"
        raise ml_value_error("ML_PARAM_VALUE", message, "set as many input columns")
    return found


def _texts(batch: Batch, name: str) -> list[str | None]:
    """The texts of a column; a number that is missing is NaN in Arrow and pandas."""
    column = batch.column(name)
    if isinstance(column, np.ndarray) and column.ndim == 2 and column.shape[1] == 1:
        column = column.ravel()  # an array of scikit-learn's shape
    values = column.tolist() if isinstance(column, np.ndarray) else list(column)
    return categories_of([None if each != each else each for each in values], name)


def _indexed(
    batch: Batch, columns: Sequence[tuple[str, str, Mapping[Any, int]]], handling: str
) -> Made:
    found = {}
    bad: NDArray[np.bool_] = np.zeros(len(batch), np.bool_)
    for name, made, places in columns:
        texts = _texts(batch, name)
        invalid = np.array([text is None or text not in places for text in texts], np.bool_)
        if invalid.any():
            text = texts[int(invalid.argmax())]
            refuse_invalid(invalid, handling, f"unseen string: {text!r} of column {name!r}")
        found[made] = np.array([places.get(text, len(places)) for text in texts], np.int64)
        bad |= invalid
    return Made(found, ~bad if handling == "skip" else None)


class StringIndexer(Learner, _ModelParams):
    """Give each different text, or number, of a column an index, from 0 on.

    ``string_order_type``: ``arbitrary``, ``frequencyDesc``, ``frequencyAsc``, ``alphabetDesc`` or
    ``alphabetAsc``; texts that are equally frequent are in the order of the alphabet. None has no index.
    A text that was not learned, and None, are invalid: ``error``, ``skip`` leaves the row out, ``keep``
    gives the index behind the last one. `IndexToStringModel` turns indices back.

    Examples
    --------
    >>> indexer = StringIndexer(input_cols=["word"], output_cols=["index"])
    >>> indexer.set_string_order_type("frequencyDesc").fit_transform(["b", "a", "b", "c"])
    array([0, 1, 0, 2])
    """

    MODEL = StringIndexerModel
    reads_numbers = False
    STRING_ORDER_TYPE = StringParam(
        "string_order_type",
        "How to order strings of each column.",
        "arbitrary",
        ParamValidators.in_array(_ORDERS),
    )

    def learn(self, frame: Frame) -> list[dict[str, Any]]:
        names = self.input_cols
        parts = frame.reduce(
            lambda batch: [dict(Counter(_texts(batch, name))) for name in names], names
        )
        first_of(parts, "StringIndexer")
        found = []
        for each in zip(*parts, strict=True):
            counts: Counter[Any] = Counter()
            for part in each:
                counts.update(part)
            counts.pop(None, None)
            found.append(_ordered(counts, self.string_order_type))
        return [{"stringArrays": found}]


def _ordered(counts: Mapping[str, int], order: str) -> list[str]:
    # Java compares texts by their UTF-16 units.
    texts = sorted(counts, key=lambda text: text.encode("utf-16-be", "surrogatepass"))
    if order == "alphabetDesc":
        return texts[::-1]
    if order in ("frequencyAsc", "frequencyDesc"):
        sign = 1 if order == "frequencyAsc" else -1
        return sorted(texts, key=lambda text: sign * counts[text])
    return texts


class IndexToStringModel(FeatureModel, HasInputCols, HasOutputCols):
    """Turn indices back into texts, with the model data of a `StringIndexerModel`.

    Examples
    --------
    >>> indexer = StringIndexer(input_cols=["word"], output_cols=["index"]).fit(["b", "a"])
    >>> back = IndexToStringModel(input_cols=["index"], output_cols=["word"])
    >>> back.set_model_data(*indexer.get_model_data()).transform([1, 0]).tolist()
    ['b', 'a']
    """

    DATA: ClassVar[dict[str, str]] = {"stringArrays": "array<array<string>>"}
    KIND: ClassVar[str] = "string"

    def work(self) -> Work:
        texts = _known_texts(self, self.rows)
        columns = list(zip(self.input_cols, self.output_cols, texts, strict=True))
        return partial(_named, columns=columns)

    def set_model_data(self, *inputs: Any) -> Self:
        super().set_model_data(*inputs)
        texts = [categories_of(list(each), "stringArrays") for each in self.rows[0]["stringArrays"]]
        return self.learned([{"stringArrays": texts}], self._home)


def _named(batch: Batch, columns: Sequence[tuple[str, str, Sequence[Any]]]) -> Made:
    found = {}
    for name, made, texts in columns:
        places = batch.numbers(name)
        bad = ~((places >= 0) & (places < len(texts)) & (places == np.floor(places)))
        if bad.any():
            message = f"the input contains unseen index: {places[int(bad.argmax())]:g}"
            hint = f"the texts of column {name!r} have the indices 0 to {len(texts) - 1}"
            raise ml_value_error("ML_INVALID_VALUE", message, hint)
        found[made] = [texts[at] for at in places.astype(np.int64).tolist()]
    return Made(found)
