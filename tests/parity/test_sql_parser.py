"""Our parser of SQL against Flink's own: recorded statements, and thousands of fresh ones."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.parity.flink_env import NoFlinkError, flink_python
from tests.support.parity.sql_statements import mutants, recorded
from tests.unit.table.sql.test_verdicts import takes

pytestmark = pytest.mark.parity

SCRIPT = Path(__file__).resolve().parent / "on_flink" / "parse_sql.py"
FRESH = 4_000


def verdicts_of_flink(statements: list[str], folder: Path) -> list[bool]:
    try:
        python = flink_python()
    except NoFlinkError as error:
        pytest.skip(str(error))
    asked, answered = folder / "statements.json", folder / "verdicts.json"
    asked.write_text(json.dumps(statements), encoding="utf-8")
    done = subprocess.run(
        [python, SCRIPT, asked, answered], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-5_000:]
    found: list[bool] = json.loads(answered.read_text(encoding="utf-8"))
    return found


def test_verdicts_are_those_of_flink(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if "parity" not in request.config.getoption("-m"):
        pytest.skip("may install Flink: ask for it with -m parity")
    taken = [*recorded("taken"), *recorded("stricter")]
    refused = [*recorded("refused"), *recorded("laxer")]
    fresh = mutants(taken, FRESH, seed=len(taken))
    statements = [*taken, *refused, *fresh]
    verdicts = dict(zip(statements, verdicts_of_flink(statements, tmp_path), strict=True))
    assert [text for text in taken if not verdicts[text]] == []
    assert [text for text in refused if verdicts[text]] == []
    differ = [text for text in fresh if takes(text) != verdicts[text]]
    assert len(differ) <= FRESH // 100, differ
