"""The package as a whole: its names, and what it stays away from."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import millstream.common as common

FOLDER = Path(common.__file__).parent
SOURCES = sorted(FOLDER.glob("*.py"))


def test_exports_exist() -> None:
    for name in common.__all__:
        assert getattr(common, name) is not None


def test_pyflinks_names_are_there() -> None:
    expected = [
        "Configuration",
        "ConfigOption",
        "ConfigOptions",
        "ExecutionConfig",
        "TypeInformation",
        "Types",
        "SerializationSchema",
        "DeserializationSchema",
        "SimpleStringSchema",
        "ByteArraySchema",
        "Encoder",
        "JobExecutionResult",
        "JobID",
        "JobStatus",
        "Row",
        "RowKind",
        "WatermarkStrategy",
        "Duration",
        "Instant",
        "Time",
    ]
    assert set(expected) <= set(common.__all__)


def test_import_brings_in_neither_pyspark_nor_pyarrow() -> None:
    # An empty parent package, so that only what `common` itself imports is seen.
    code = (
        "import sys, types\n"
        "parent = sys.modules['millstream'] = types.ModuleType('millstream')\n"
        f"parent.__path__ = [{str(FOLDER.parent)!r}]\n"
        "import millstream.common, millstream.common.state\n"
        "print({'pyspark', 'pyarrow'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "set()"


def test_no_module_uses_other_packages_or_the_clock() -> None:
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"^\s*(import|from) pyspark", text, re.M), path
        for package in re.findall(r"(?:import|from) millstream\.(\w+)", text):
            assert package == "common", path
        assert not re.search(r"^\s*(import time|from time)\b", text, re.M), path
        assert not re.search(r"\b(sleep|utcnow|today|now)\(", text), path
