"""Lets the tests of this folder import the programs of the Spark tests."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "spark"))
