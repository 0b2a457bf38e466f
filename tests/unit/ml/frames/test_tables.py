"""Tables as data of machine learning."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from millstream.common.typeinfo import Types
from millstream.ml.errors import MLError
from millstream.ml.feature.standardscaler import StandardScaler
from millstream.ml.feature.tokenizer import Tokenizer
from millstream.ml.frames.tables import StreamFrame, TableFrame
from millstream.ml.linalg import Vectors
from millstream.table import Table
from millstream.testing import in_memory
from tests.support.ml import DENSE, DOUBLE, INT, TEXT, TEXTS, Tables


@pytest.fixture(autouse=True)
def _in_memory() -> Iterator[None]:
    with in_memory():
        yield


def test_only_the_columns_that_are_needed_are_read(monkeypatch) -> None:
    tables = Tables()
    table = tables.of(
        {"a b": DENSE, "text": TEXT}, [(Vectors.dense(1), "x"), (Vectors.dense(3), "y")]
    )
    read: list[list[str]] = []
    inner = type(tables.t_env).final_rows

    def spy(self, table: Table):
        read.append(table.get_schema().get_field_names())
        return inner(self, table)

    monkeypatch.setattr(type(tables.t_env), "final_rows", spy)
    assert StandardScaler(input_col="a b").fit(table).rows[0]["mean"] == Vectors.dense(2)
    assert read == [["a b"]]


def test_kinds_of_columns() -> None:
    tables = Tables()
    kinds = {"v": DENSE, "n": INT, "d": DOUBLE, "t": TEXT, "l": TEXTS}
    row = (Vectors.dense(1), 1, 2.0, "a", ["b"])
    frame = TableFrame(tables.of(kinds, [row]))
    assert [frame.kind(name) for name in kinds] == [
        "vector",
        "int",
        "double",
        "string",
        "array<string>",
    ]
    info = Types.ROW_NAMED(list(kinds), list(kinds.values()))
    stream = StreamFrame(tables.env.from_collection([row], info))
    assert [stream.kind(name) for name in kinds] == [frame.kind(name) for name in kinds]


def test_streams_have_no_whole() -> None:
    tables = Tables()
    stream = tables.t_env.to_data_stream(tables.of({"input": TEXT}, [("a b",)]))
    (row,) = Tokenizer().transform(stream).execute_and_collect()
    assert row.output == ["a", "b"]
    for call in (
        lambda: StreamFrame(stream).batch(),
        lambda: StreamFrame(stream).smallest("input", 1),
        lambda: StreamFrame(tables.env.from_collection([1, 2])),
    ):
        with pytest.raises(MLError, match="ML_INPUT_KIND"):
            call()
