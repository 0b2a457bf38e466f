"""The DataStream examples that PyFlink ships run with `millstream` for `pyflink`, in memory.

Those that need what is not here say so in one line. `test_kafka_examples.py` has those of Kafka.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from millstream.datastream.connectors.absent import ABSENT
from millstream.missing_modules import MODULES

pytestmark = pytest.mark.parity

RUN = """
import runpy, sys
from millstream.datastream import StreamExecutionEnvironment
from millstream.testing import run_local

def execute(env, job_name=None):
    print(len(run_local(env).values()), "records")
    env.close()

StreamExecutionEnvironment.execute = execute
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""

ENDLESS = "TableDescriptor.for_connector('datagen')"
"""A table that two examples read forever; here it ends."""


def test_examples_run_or_say_what_is_missing(examples: Path, tmp_path: Path) -> None:
    outcomes = {}
    for path in sorted(set(examples.rglob("*.py")) - set(examples.rglob("kafka_*.py"))):
        ported = tmp_path / path.name
        text = path.read_text(encoding="utf-8")
        text = text.replace(ENDLESS, f"{ENDLESS}.option('number-of-rows', '12')")
        ported.write_text(re.sub(r"\bpyflink\b", "millstream", text), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-c", RUN, str(ported)], capture_output=True, text=True, check=False
        )
        found = done.stdout if done.returncode == 0 else done.stderr
        outcomes[path.relative_to(examples).as_posix()] = found.strip()
    explained = [f"there is no {module}: {instead}" for module, instead in MODULES.items()]
    explained += [f": {absent.instead}\n" for absent in ABSENT.values()]
    missing = [
        name for name, text in outcomes.items() if any(reason in text for reason in explained)
    ]
    ran = [name for name, text in outcomes.items() if re.search(r"^[1-9]\d* records\Z", text, re.M)]
    assert sorted(missing + ran) == sorted(outcomes), outcomes
    assert len(ran) >= 12
    assert [name for name in missing if "connectors/" not in name] == []
