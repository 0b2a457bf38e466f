"""What importing the package costs."""

from __future__ import annotations

import subprocess
import sys


def test_importing_the_api_loads_neither_pyspark_nor_pandas() -> None:
    code = (
        "import sys, millstream, millstream.datastream, millstream.testing;"
        "print([name for name in ('pyspark', 'pandas') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
