"""Swing and Als with flink-ml's values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from millstream.common import Types
from millstream.ml.errors import MLError
from millstream.ml.recommendation.als import Als, AlsModel
from millstream.ml.recommendation.swing import Swing
from millstream.testing import in_memory
from tests.support.ml import rows_of_table, table_of

PURCHASES = [
    (0, 10), (0, 11), (0, 12), (1, 13), (1, 12), (2, 10), (2, 11), (2, 12), (3, 13), (3, 12)
]  # fmt: skip
SIMILAR = [
    (10, "11,0.058845768947156235;12,0.058845768947156235"),
    (11, "10,0.058845768947156235;12,0.058845768947156235"),
    (12, "13,0.09134833828228624;10,0.058845768947156235;11,0.058845768947156235"),
    (13, "12,0.09134833828228624"),
]
RATINGS = [
    (1, 5, 0.1), (2, 8, 0.5), (3, 5, 0.8), (4, 7, 0.1), (1, 7, 0.7), (2, 5, 0.9), (3, 8, 0.1),
    (2, 6, 0.7), (2, 7, 0.4), (1, 8, 0.3), (4, 6, 0.4), (3, 7, 0.6), (1, 6, 0.5), (4, 8, 0.3),
]  # fmt: skip


def test_swing_as_in_flinks_test(tmp_path: Path) -> None:
    assert Swing().seed == 438758276
    swing = Swing().set_min_user_behavior(1)
    with in_memory():
        t_env, table = table_of(PURCHASES, ["user", "item"], [Types.LONG(), Types.LONG()])
        swing.save(str(tmp_path / "stage"))
        (output,) = Swing.load(t_env, str(tmp_path / "stage")).transform(table)
        assert output.get_schema().get_field_names() == ["item", "output"]
        assert [tuple(row) for row in rows_of_table(output)] == SIMILAR
        swing.set_max_user_num_per_item(2)
        one, other = (swing.set_seed(seed).transform(table)[0] for seed in (3, 438758276))
        assert len(rows_of_table(one)) != len(rows_of_table(other))


def test_swing_on_frames() -> None:
    frame = pd.DataFrame(PURCHASES, columns=["user", "item"])
    found = Swing(min_user_behavior=1).transform(frame)
    assert [*found.itertuples(index=False, name=None)] == SIMILAR


@pytest.mark.parametrize("user", [None, "a", 0.5])
def test_swing_refuses_bad_data(user: Any) -> None:
    with pytest.raises(MLError, match="ML_INVALID_VALUE"):
        Swing().transform(pd.DataFrame({"user": [user, 1], "item": [1, 2]}, dtype=object))
    with pytest.raises(MLError, match="ML_PARAM_VALUE"):
        Swing(max_user_behavior=1).transform(PURCHASES)
    with pytest.raises(MLError, match="ML_EMPTY_INPUT"):
        Swing().transform(np.empty((0, 2), np.int64))


def prediction(params: dict[str, Any], ratings: Any = RATINGS) -> float:
    common = {"alpha": 0.1, "reg_param": 0.1, **params}
    return float(Als(**common).fit(np.array(ratings)).predict([[1, 6]])[0])


def test_als_as_in_flinks_tests() -> None:
    found = prediction({"max_iter": 10, "non_negative": True})
    assert found == pytest.approx(0.37558552399494904, abs=1e-7)
    assert prediction({"max_iter": 5}) == pytest.approx(0.37476815535599206, abs=1e-7)
    implicit = {"max_iter": 5, "implicit_prefs": True}
    found = prediction({**implicit, "non_negative": True})
    assert found == pytest.approx(0.8342121792822439, abs=1e-7)
    assert prediction(implicit) == pytest.approx(0.8345180300543498, abs=1e-7)
    small = [(1, 5, 0.7), (2, 6, 0.4)]
    found = prediction({"max_iter": 5, "non_negative": True}, small)
    assert found == pytest.approx(0.3317218226859576, abs=1e-7)


def test_als_on_tables(tmp_path: Path) -> None:
    with in_memory():
        types = [Types.LONG(), Types.LONG(), Types.DOUBLE()]
        t_env, table = table_of(RATINGS, ["user", "item", "rating"], types)
        model = Als().fit(table)
        assert model.get_model_data()[0].get_schema().get_field_names() == [
            "userFactors",
            "itemFactors",
        ]
        model.save(str(tmp_path / "model"))
        again = AlsModel.load(t_env, str(tmp_path / "model"))
        for each in (model, again, AlsModel().set_model_data(*model.get_model_data())):
            (output,) = each.transform(table)
            row = rows_of_table(output)[12]
            assert row.prediction == pytest.approx(0.37558552399494904, abs=1e-7)


def test_als_finds_the_factors_that_made_ratings() -> None:
    random = np.random.default_rng(4)
    users, items = random.uniform(0, 1, (30, 3)), random.uniform(0, 1, (20, 3))
    known = [(u, i) for u in range(30) for i in range(20) if random.uniform() < 0.7]
    rows = np.array([(u, i, users[u] @ items[i]) for u, i in known])
    model = Als(rank=3, reg_param=1e-6, max_iter=50).fit(rows)
    assert model.predict(rows[:, :2]) == pytest.approx(rows[:, 2], abs=0.05)


def test_als_refuses_bad_data() -> None:
    with pytest.raises(MLError, match="ML_EMPTY_INPUT"):
        Als().fit(np.empty((0, 3)))
    with pytest.raises(MLError, match="ML_NOT_FINITE"):
        Als().fit([[1.0, 2.0, float("nan")]])
    with pytest.raises(MLError, match="no whole number"):
        Als().fit([[1.5, 2.0, 3.0]])
    assert np.isnan(Als().fit(RATINGS).predict([[99, 5]])[0])
    assert Als().set_implicit_refs(True).get_implicit_refs()
