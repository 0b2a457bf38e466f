"""Lets these tests, and Spark's workers, import the ported programs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.support.parity.catalogue import port
from tests.support.parity.flink_env import NoFlinkError, flink_python

# It is for PyFlink's own virtual environment.
collect_ignore = ["on_flink"]

_ported = TemporaryDirectory(prefix="ported-")
port(Path(_ported.name))
sys.path.insert(0, _ported.name)
# Workers inherit it from the JVM, which starts with the first Spark test.
os.environ["PYTHONPATH"] = os.pathsep.join([_ported.name, os.environ.get("PYTHONPATH", "")])


@pytest.fixture(scope="session")
def examples(request: pytest.FixtureRequest) -> Path:
    """The folder of the examples, in PyFlink's environment."""
    if "parity" not in request.config.getoption("-m"):
        pytest.skip("may install Flink: ask for it with -m parity")
    try:
        python = flink_python()
    except NoFlinkError as error:
        pytest.skip(str(error))
    (folder,) = (python.parents[1] / "lib").glob(
        "python*/site-packages/pyflink/examples/datastream"
    )
    return folder
