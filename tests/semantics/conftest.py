"""Lets the tests of this folder, and Spark's workers, import their helpers."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent

for folder in (HERE, HERE.parent / "properties"):
    sys.path.insert(0, str(folder))
# Workers inherit it from the JVM, which starts with the first Spark test.
os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
