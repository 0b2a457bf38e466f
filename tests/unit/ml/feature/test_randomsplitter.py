"""RandomSplitter: sizes, and parts that do not depend on the order of rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from millstream.ml.feature.randomsplitter import RandomSplitter
from tests.support.ml import INT, TEXT, Tables


def test_sizes_of_flink(tmp_path) -> None:
    tables = Tables()
    table = tables.of({"f0": INT}, [(n,) for n in range(1, 4000)])
    splitter = RandomSplitter().set_weights(0.4, 0.6).set_seed(0)
    splitter.save(str(tmp_path / "stage"))
    for each in (splitter, RandomSplitter.load(tables.t_env, str(tmp_path / "stage"))):
        parts = each.transform(table)
        rows = [tables.column(part, "f0") for part in parts]
        assert len(rows[0]) / 1600 == pytest.approx(1.0, abs=0.1)
        assert sorted(rows[0] + rows[1]) == list(range(1, 4000))
    assert parts[0].get_schema().get_field_names() == ["f0"]


def test_the_order_of_rows_does_not_matter_and_equal_rows_are_drawn_apart() -> None:
    tables = Tables()
    rows = [(n % 3, "a") for n in range(600)]
    splitter = RandomSplitter(weights=[1.0, 1.0, 2.0])
    parts = []
    for given in (rows, rows[::-1]):
        table = tables.of({"n": INT, "t": TEXT}, given)
        found = [tables.rows(part) for part in splitter.transform(table)]
        assert [len(part) for part in found] == pytest.approx([150, 150, 300], abs=45)
        parts.append([sorted(map(tuple, part)) for part in found])
    assert parts[0] == parts[1]
    (stream, _, _) = splitter.transform(tables.t_env.to_data_stream(table))
    assert sorted(map(tuple, stream.execute_and_collect())) == parts[0][0]


def test_local_data() -> None:
    splitter = RandomSplitter(weights=[3.0, 1.0], seed=5)
    values = np.arange(1000.0)
    expected = splitter.transform(values)
    assert [len(part) for part in expected] == pytest.approx([750, 250], abs=40)
    assert np.sort(np.concatenate(expected)).tolist() == values.tolist()
    for frame in (pd.DataFrame({"x": values}), pa.table({"x": values})):
        found = [part["x"].to_numpy().tolist() for part in splitter.transform(frame)]
        assert found == [part.tolist() for part in expected]
    assert [len(part) for part in splitter.clone().set_seed(6).transform(values)] != [
        len(part) for part in expected
    ]


@pytest.mark.parametrize("weights", [[1.0], [1.0, 0.0], [], [1.0, -1.0]])
def test_weights(weights) -> None:
    with pytest.raises(ValueError, match="at least two numbers above 0"):
        RandomSplitter(weights=weights)
