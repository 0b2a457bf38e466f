"""Lets these tests, and Spark's workers, import the ported programs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.parity.catalogue import port

# It is for PyFlink's own virtual environment.
collect_ignore = ["on_flink"]

_ported = TemporaryDirectory(prefix="ported-")
port(Path(_ported.name))
sys.path.insert(0, _ported.name)
# Workers inherit it from the JVM, which starts with the first Spark test.
os.environ["PYTHONPATH"] = os.pathsep.join([_ported.name, os.environ.get("PYTHONPATH", "")])
