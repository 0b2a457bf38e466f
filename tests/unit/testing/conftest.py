"""Lets the tests of this folder import their helpers under any import mode of pytest."""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).parents[2]
for folder in (Path(__file__).parent, TESTS, TESTS / "spark"):
    sys.path.insert(0, str(folder))
