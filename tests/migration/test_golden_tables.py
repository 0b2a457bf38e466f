"""A savepoint of each way in which operators of tables keep state is restored forever."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.checkpoint.savepoints import FORMAT
from tests.support.migration.golden_tables import CASES, load, shown, tables
from tests.support.sql_savepoints import SqlJob

FOLDERS = sorted(Path(__file__).parent.glob("tables-v*"))


def test_every_format_has_its_golden_savepoints() -> None:
    assert [folder.name for folder in FOLDERS] == [f"tables-v{n}" for n in range(1, FORMAT + 1)]
    for folder in FOLDERS:
        names = {path.stem.replace("-", " ") for path in folder.glob("*.zip")}
        assert names >= set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_statement_goes_on_from_a_golden_savepoint(name: str, tmp_path: Path) -> None:
    whole = shown(SqlJob(tables(), CASES[name]).run().rows)
    for folder in FOLDERS:
        savepoint, given = load(folder / f"{name.replace(' ', '-')}.zip", tmp_path / folder.name)
        for slots in (1, 3):
            rest = SqlJob(tables(), CASES[name], slots, savepoint).run()
            found = given.copy()
            found.update(shown(rest.rows))
            assert {row: n for row, n in found.items() if n} == dict(whole)


def test_each_of_these_layouts_has_a_golden_savepoint(tmp_path: Path) -> None:
    found = set()
    for path in FOLDERS[0].glob("*.zip"):
        savepoint, _ = load(path, tmp_path / path.stem)
        found |= set(savepoint.layouts.values())
    assert found >= {
        "both sides of a join",
        "groups of a table",
        "last rows of keys",
        "numbers of equal rows",
        "ranked rows",
        "rows of an interval by side",
        "rows of partitions",
        "rows of sessions",
        "rows of windows",
        "rows of windows by side",
        "rows that wait for their time, and the time of the last that has left",
        "states of windows",
        "waiting rows and versions",
    }
