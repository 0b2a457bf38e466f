"""UnivariateFeatureSelector: the values of flink-ml's tests, and the selections of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_selection import GenericUnivariateSelect, f_classif, f_regression

from millstream.ml.feature.univariatefeatureselector import (
    UnivariateFeatureSelector,
    UnivariateFeatureSelectorModel,
)
from millstream.ml.linalg import Vectors
from tests.support.ml import DENSE, INT, Tables, arrays

ROWS = """
1 4.65415496e-03 1.03550567e-01 -1.17358140e+00 1.61408773e-01 3.92492111e-01 7.31240882e-01
1 -9.01651741e-01 -5.28905302e-01 1.27636785e+00 7.02154563e-01 6.21348351e-01 1.88397353e-01
1 3.85692159e-01 -9.04639637e-01 5.09782604e-02 8.40043971e-01 7.45977857e-01 8.78402288e-01
1 1.36264353e+00 2.62454094e-01 7.96306202e-01 6.14948000e-01 7.44948187e-01 9.74034830e-01
1 9.65874070e-01 2.52773665e+00 -2.19380094e+00 2.33408080e-01 1.86340919e-01 8.23390433e-01
2 1.12324305e+01 -2.77121515e-01 1.12740513e-01 2.35184013e-01 3.46668895e-01 9.38500782e-02
2 1.06195839e+01 -1.82891238e+00 2.25085601e-01 9.09979851e-01 6.80257535e-02 8.24017480e-01
2 1.12806837e+01 1.30686889e+00 9.32839108e-02 3.49784755e-01 1.71322408e-02 7.48465194e-02
2 9.98689462e+00 9.50808938e-01 -2.90786359e-01 2.31253009e-01 7.46270968e-01 1.60308169e-01
2 1.08428551e+01 -1.02749936e+00 1.73951508e-01 8.92482744e-02 1.42651730e-01 7.66751625e-01
3 -1.98641448e+00 1.12811990e+01 -2.35246756e-01 8.22809049e-01 3.26739456e-01 7.88268404e-01
3 -6.09864090e-01 1.07346276e+01 -2.18805509e-01 7.33931213e-01 1.42554396e-01 7.11225605e-01
3 -1.58481268e+00 9.19364039e+00 -5.87490459e-02 2.51532056e-01 2.82729807e-01 7.16245686e-01
3 -2.50949277e-01 1.12815254e+01 -6.94806734e-01 5.93898886e-01 5.68425656e-01 8.49762330e-01
3 7.63485129e-01 1.02605138e+01 1.32617719e+00 5.49682879e-01 8.59931442e-01 4.88677978e-02
4 9.34900015e-01 4.11379043e-01 8.65010205e+00 9.23509168e-01 1.16995043e-01 5.91894106e-03
4 4.73734933e-01 -1.48321181e+00 9.73349621e+00 4.09421563e-01 5.09375719e-01 5.93157850e-01
4 3.41470679e-01 -6.88972582e-01 9.60347938e+00 3.62654055e-01 2.43437468e-01 7.13052838e-01
4 -5.29614251e-01 -1.39262856e+00 1.01354144e+01 8.24123861e-01 5.84074506e-01 6.54461558e-01
4 -2.99454508e-01 2.20457263e+00 1.14586015e+01 5.16336729e-01 9.99776159e-01 3.15769738e-01
"""
DATA = np.array([[float(each) for each in line.split()] for line in ROWS.strip().splitlines()])
FEATURES, LABELS = DATA[:, 1:], DATA[:, 0]
CLASSES = {"feature_type": "continuous", "label_type": "categorical"}


def test_values_of_flink(tmp_path) -> None:
    tables = Tables()
    rows = [(int(row[0]), Vectors.dense(row[1:])) for row in DATA]
    table = tables.of({"label": INT, "features": DENSE}, rows)
    model = UnivariateFeatureSelector(selection_threshold=3.0, **CLASSES).fit(table)
    (data,) = model.get_model_data()
    assert data.get_schema().get_field_names() == ["indices"]
    assert tables.column(data, "indices") == [[0, 2, 1]]
    model.save(str(tmp_path / "model"))
    path = str(tmp_path / "model")
    again = UnivariateFeatureSelectorModel().set_model_data(data)
    for each in (model, UnivariateFeatureSelectorModel.load(tables.t_env, path), again):
        (output,) = each.transform(table)
        assert output.get_schema().get_field_names() == ["label", "features", "output"]
        assert arrays(tables.column(output, "output")) == FEATURES[:, :3].tolist()


@pytest.mark.parametrize(
    ("mode", "oracle", "threshold"),
    [
        ("numTopFeatures", "k_best", 2),
        ("percentile", "percentile", 0.5),
        ("fpr", "fpr", 0.3),
        ("fdr", "fdr", 0.6),
        ("fwe", "fwe", 0.5),
    ],
)
def test_selections_of_scikit_learn(mode, oracle, threshold) -> None:
    for kind, test in (("categorical", f_classif), ("continuous", f_regression)):
        selector = UnivariateFeatureSelector(feature_type="continuous", label_type=kind)
        selector.set_selection_mode(mode).set_selection_threshold(threshold)
        param = threshold * 100 if oracle == "percentile" else threshold
        expected = GenericUnivariateSelect(test, mode=oracle, param=param)
        expected.fit(FEATURES, LABELS)
        found = selector.fit(FEATURES, LABELS).rows[0]["indices"]
        assert sorted(found) == expected.get_support(indices=True).tolist()


def test_categories_by_chi_square() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 200).astype(float)
    features = np.column_stack([rng.integers(0, 3, 200), labels, rng.integers(0, 2, 200)])
    selector = UnivariateFeatureSelector(feature_type="categorical", label_type="categorical")
    selector.set_selection_mode("fwe")
    assert selector.fit_transform(features, labels).tolist() == labels[:, None].tolist()


def test_bad_parameters() -> None:
    selector = UnivariateFeatureSelector()
    with pytest.raises(ValueError, match="should not be None"):
        selector.get_feature_type()
    assert selector.selection_threshold is None
    selector.set_feature_type("categorical").set_label_type("continuous")
    with pytest.raises(ValueError, match="unsupported combination"):
        selector.fit(FEATURES, LABELS)
    selector = UnivariateFeatureSelector(selection_threshold=1.5, **CLASSES)
    with pytest.raises(ValueError, match="a positive integer for numTopFeatures"):
        selector.fit(FEATURES, LABELS)
    with pytest.raises(ValueError, match=r"in the range \[0, 1\] for fdr"):
        selector.set_selection_mode("fdr").fit(FEATURES, LABELS)
