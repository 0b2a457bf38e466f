"""Lets the tests of this folder import their helpers, and the programs of other tests of savepoints."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), *(str(HERE.parent / name) for name in ("spark", "properties"))]
