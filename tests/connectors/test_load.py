"""A sample of `make load`: some seconds of a steady load from Kafka to Kafka."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tools.servers import Kafka

pytestmark = [pytest.mark.servers, pytest.mark.spark]
ROOT = Path(__file__).parents[2]


def test_a_steady_load_loses_nothing(kafka: Kafka, tmp_path: Path) -> None:
    samples, chart = tmp_path / "samples.csv", tmp_path / "load.svg"
    options = ["--seconds", "6", "--rate", "2000", "--keys", "100"]
    places = ["--bootstrap", kafka.bootstrap, "--samples", str(samples), "--chart", str(chart)]
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "load.py"), *options, *places],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        timeout=300,
    )

    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "records were counted, each once" in done.stdout
    with samples.open() as file:
        written = [int(row["written"]) for row in csv.DictReader(file)]
    assert written[-1] - written[0] >= 6_000
    assert chart.read_text().startswith("<svg")
