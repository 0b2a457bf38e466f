"""What importing the package costs, and what it brings."""

from __future__ import annotations

import subprocess
import sys

import pytest

import millstream as ms
from millstream.datastream.streams import data_stream

HEAVY = ("pyspark", "pandas", "pyarrow", "numpy")


def loaded_by(code: str, names: tuple[str, ...]) -> str:
    """Those of some modules that a new interpreter has loaded after some code."""
    program = f"import sys\n{code}\nprint([name for name in {names!r} if name in sys.modules])"
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_importing_the_api_loads_neither_pyspark_nor_pandas() -> None:
    code = "import millstream, millstream.datastream, millstream.testing"
    assert loaded_by(code, ("pyspark", "pandas")) == "[]"


def test_importing_the_package_loads_nothing_of_the_api() -> None:
    assert (
        loaded_by("import millstream", (*HEAVY, "millstream.common", "millstream.datastream"))
        == "[]"
    )


def test_names_of_the_package_load_nothing_heavy() -> None:
    code = "import millstream as ms\nfor name in ms.__all__: getattr(ms, name)"
    assert loaded_by(code, ("pyspark", "pandas", "pyarrow")) == "[]"
    assert loaded_by("import millstream as ms\nms.Types", ("millstream.datastream",)) == "[]"


def test_the_parser_of_sql_loads_nothing_heavy() -> None:
    names = (*HEAVY, "millstream.datastream", "millstream.kernel")
    assert loaded_by("import millstream.table.sql.parser", names) == "[]"


@pytest.mark.parametrize("name", ms.__all__)
def test_names_of_the_package_are_those_of_the_api(name: str) -> None:
    """Type checkers see other imports than those that run."""
    found = getattr(ms, name)
    if name != "__version__":
        assert found.__name__ == name
        assert vars(ms)[name] is found, "found at once the next time"


def test_the_package_lists_its_names() -> None:
    assert {*ms.__all__, "__name__", "missing_modules"} <= set(dir(ms))
    assert ms.DataStream is data_stream.DataStream


def test_other_names_are_no_part_of_the_package() -> None:
    with pytest.raises(AttributeError, match="module 'millstream' has no attribute 'Nonsense'"):
        ms.Nonsense  # type: ignore[attr-defined]  # noqa: B018
