"""A savepoint of each way to keep state, and of keys of each type, is restored for ever."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from golden import ALL_CASES, file_name, load, shown
from savepoint_runs import before, going_on, rest

from millstream.checkpoint.savepoints import FORMAT

FOLDERS = sorted(Path(__file__).parent.glob("layouts-v*"))


def test_every_format_has_its_golden_savepoints() -> None:
    assert [folder.name for folder in FOLDERS] == [f"layouts-v{n}" for n in range(1, FORMAT + 1)]
    for folder in FOLDERS:
        assert {path.name for path in folder.glob("*.zip")} >= {
            file_name(case) for case in ALL_CASES.values()
        }


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
@pytest.mark.parametrize("name", ALL_CASES)
def test_a_job_goes_on_from_a_golden_savepoint(folder: Path, name: str, tmp_path: Path) -> None:
    """Together with what the job had given before, all is as if it had run to its end today.

    Compared as a multiset: the order of results of one instant is not a part of the state.
    """
    case = ALL_CASES[name]
    data, setting, savepoint, given = load(folder / file_name(case), tmp_path)
    whole = before(case, data, setting)
    rest(whole, data, setting)
    for later in (1, 3):
        run = going_on(case, data, replace(setting, later_slots=later), savepoint)
        rest(run, data, setting)
        assert sorted([*given, *shown(run.results)]) == shown(whole.results)
