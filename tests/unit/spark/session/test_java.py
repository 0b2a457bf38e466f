"""A missing or old Java is one line that says what to install."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.common.errors import EnvironmentSetupError
from millstream.spark.session.session import require_java


def fake_java(folder: Path, version: str) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2020-01-01' >&2\n")
    java.chmod(0o755)
    return folder


def test_missing_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentSetupError, match="no java was found") as caught:
        require_java()
    assert "openjdk-17" in str(caught.value)


@pytest.mark.parametrize("version", ["1.8.0_362", "11.0.2"])
def test_old_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, version)))
    with pytest.raises(EnvironmentSetupError, match="Java 17 or later"):
        require_java()


@pytest.mark.parametrize("version", ["17.0.15", "21"])
def test_fitting_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, version)))
    require_java()
