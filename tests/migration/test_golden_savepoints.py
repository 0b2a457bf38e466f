"""Savepoints of every format there has been are restored for ever."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millstream.checkpoint.savepoints import FORMAT
from millstream.datastream import StreamExecutionEnvironment
from tests.support.spark.savepoint_programs import everything, lines

GOLDEN = sorted(Path(__file__).parent.glob("savepoint-v*"))
MakeEnv = Callable[..., StreamExecutionEnvironment]


def test_every_format_has_its_golden_savepoint() -> None:
    assert [path.name for path in GOLDEN] == [f"savepoint-v{n}" for n in range(1, FORMAT + 1)]


@pytest.mark.spark
@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.name)
@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_a_golden_savepoint_is_restored(
    make_env: MakeEnv, tmp_path: Path, golden: Path, mode: str
) -> None:
    everything(make_env("batch"), tmp_path / "whole").execute()
    written = (golden / "written.txt").read_text().splitlines()
    # A checkout may belong to another user than the one who runs the tests.
    env: Any = make_env(mode, {"millstream.trust": True})
    env.set_parallelism(3).restore_from_savepoint(str(golden))
    everything(env, tmp_path / "rest").execute()
    assert sorted(written + lines(tmp_path / "rest")) == lines(tmp_path / "whole")
