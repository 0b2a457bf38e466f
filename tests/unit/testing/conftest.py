"""Lets the tests of this folder import their helpers under any import mode of pytest."""

from __future__ import annotations

import sys
from pathlib import Path

for folder in (Path(__file__).parent, Path(__file__).parent.parent.parent):
    sys.path.insert(0, str(folder))
