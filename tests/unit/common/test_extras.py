"""Packages that only some connectors need."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from millstream.common.errors import PlanError
from millstream.common.extras import needed_package


def test_a_missing_package_gives_the_pip_command() -> None:
    with pytest.raises(PlanError, match=r"EXTRA_MISSING.*KafkaSource needs.*'no_such_client'") as e:
        needed_package("no_such_client.api", "kafka", "KafkaSource")
    assert "pip install 'millstream[kafka]'" in str(e.value)


def test_a_package_that_lacks_one_of_its_own_says_so_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "half_client.py").write_text("import what_it_needs")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(ModuleNotFoundError, match="what_it_needs"):
        needed_package("half_client", "kafka", "KafkaSource")
