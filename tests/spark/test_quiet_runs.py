"""A normal run prints what the program prints, and nothing else, on both streams."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.spark.spark_support import ROOT, program_env, run_script

pytestmark = pytest.mark.spark

LOGGING = """
import logging
logging.basicConfig(level=logging.INFO)
"""


def first_program() -> tuple[str, list[str]]:
    """The first program of the README, and its output as the page shows it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```\s*```text\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found[1], found[2].splitlines()


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
@pytest.mark.parametrize("before", ["", LOGGING], ids=["plain", "logging"])
def test_a_program_of_the_readme_prints_its_output_alone(
    mode: str, before: str, tmp_path: Path
) -> None:
    program, output = first_program()
    made = "get_execution_environment()"
    assert program.count(made) == 1
    script = tmp_path / "app.py"
    script.write_text(before + program.replace(made, f'{made}.set_runtime_mode("{mode}")'))
    # PYSPARK_PYTHON of the tests is no part of what a user has.
    done = run_script(script, env=program_env())
    assert done.code == 0, done.err
    assert done.out == output
    assert done.err == ""
