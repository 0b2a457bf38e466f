"""The evaluator with flink-ml's values, and against scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import auc, precision_recall_curve, roc_auc_score

from millstream.common import Types
from millstream.ml.errors import MLError
from millstream.ml.evaluation.binaryclassification import BinaryClassificationEvaluator
from millstream.ml.kernel.curves import metrics_of, weights_by_score
from millstream.ml.linalg import DenseVectorTypeInfo, Vectors
from millstream.testing import in_memory
from tests.support.ml import rows_of_table, table_of
from tests.support.strategies import examples

LABELS = [1.0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1]
SCORES = [0.9, 0.8, 0.7, 0.75, 0.6, 0.65, 0.55, 0.4, 0.3, 0.35, 0.2, 0.1]
TIES = [0.9, 0.9, 0.9, 0.75, 0.6, 0.9, 0.9, 0.4, 0.3, 0.9, 0.2, 0.1]
WEIGHTS = [0.8, 0.7, 0.5, 1.2, 1.3, 1.5, 1.4, 0.3, 0.5, 1.9, 1.2, 1.0]


def test_tables_as_in_flinks_test(tmp_path: Path) -> None:
    names = ["areaUnderPR", "ks", "areaUnderROC"]
    evaluator = BinaryClassificationEvaluator().set_metrics_names(*names)
    expected = [0.7691481137909708, 0.3714285714285714, 0.6571428571428571]
    with in_memory():
        vectors = [Vectors.dense(1 - score, score) for score in SCORES]
        types = [Types.DOUBLE(), DenseVectorTypeInfo()]
        columns = ["label", "rawPrediction"]
        t_env, table = table_of([*zip(LABELS, vectors, strict=True)], columns, types)
        evaluator.save(str(tmp_path / "stage"))
        (output,) = BinaryClassificationEvaluator.load(t_env, str(tmp_path / "stage")).transform(
            table
        )
        assert output.get_schema().get_field_names() == names
        (row,) = rows_of_table(output)
        assert [*row] == pytest.approx(expected)
        labels = [int(label) for label in LABELS]
        types = [Types.INT(), Types.DOUBLE()]
        _, table = table_of([*zip(labels, SCORES, strict=True)], columns, types)
        (row,) = rows_of_table(evaluator.transform(table)[0])
        assert [*row] == pytest.approx(expected)


def test_ties_and_weights_as_in_flinks_test() -> None:
    names = ["areaUnderROC", "areaUnderPR", "ks", "areaUnderLorenz"]
    frame = pd.DataFrame({"label": LABELS, "rawPrediction": TIES, "w": WEIGHTS})
    found = BinaryClassificationEvaluator().set_metrics_names(*names).transform(frame)
    expected = [0.8571428571428571, 0.9377705627705628, 0.8571428571428571, 0.6488095238095237]
    assert found.iloc[0].tolist() == pytest.approx(expected)
    evaluator = BinaryClassificationEvaluator(metrics_names=["areaUnderROC"], weight_col="w")
    assert evaluator.transform(frame).iloc[0].tolist() == pytest.approx([0.8911680911680911])


@examples(50)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(2, 60))
def test_like_scikit_learn_in_any_parts(seed: int, parts: int, values: int) -> None:
    random = np.random.default_rng(seed)
    labels = np.concatenate([[0.0, 1.0], random.integers(0, 2, 40)]).astype(float)
    scores = random.integers(0, values, 42) / values
    weights = random.uniform(0.1, 2, 42)
    split = np.array_split(np.arange(42), parts)
    found = metrics_of([weights_by_score(scores[at], labels[at], weights[at]) for at in split])
    equal = [weights_by_score(scores[at], labels[at], np.ones(len(at))) for at in split]
    expected = roc_auc_score(labels, scores)
    assert metrics_of(equal)["areaUnderROC"] == pytest.approx(expected, abs=1e-9)
    precision, recall, _ = precision_recall_curve(labels, scores, sample_weight=weights)
    assert found["areaUnderPR"] == pytest.approx(auc(recall, precision), abs=1e-9)


@pytest.mark.parametrize(
    ("scores", "labels", "code"),
    [
        ([0.1, 0.2], [1, 1], "the metrics need both classes"),
        ([0.1, 0.2], [1, 3], "ML_LABEL"),
        ([0.1, float("nan")], [1, 0], "ML_NOT_FINITE"),
        ([], [], "ML_EMPTY_INPUT"),
    ],
)
def test_bad_data_are_refused(scores: Any, labels: Any, code: str) -> None:
    with pytest.raises(MLError, match=code):
        BinaryClassificationEvaluator().transform(np.array(scores), labels)
