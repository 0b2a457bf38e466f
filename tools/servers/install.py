"""Where the servers come from: packages of Debian, and Kafka's jars from Maven; fetched once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

KAFKA_VERSION = "4.1.0"

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>millstream</groupId><artifactId>kafka</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId>
      <version>{version}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId>
      <version>{version}</version>
    </dependency>
  </dependencies>
</project>
"""


class NotInstalled(Exception):
    """A server that is not here; says why."""


def say(text: str) -> None:
    print(f"servers: {text}", file=sys.stderr, flush=True)


def cache() -> Path:
    """The folder that keeps what was fetched, between runs and checkouts."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "millstream"


def run(command: Sequence[str | Path], *, folder: Path | None = None) -> None:
    """Run a command; `NotInstalled` with the end of its output if it fails."""
    say(" ".join(map(str, command)))
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["it says nothing"]
        raise NotInstalled(f"{command[0]} failed with exit code {done.returncode}: {last[0]}")


def program(name: str, *folders: str) -> str:
    """The path of a program on the PATH, or in one of some folders with patterns."""
    found = shutil.which(name)
    if found is not None:
        return found
    places = (place for pattern in folders for place in Path("/").glob(pattern.lstrip("/")))
    there = sorted(place / name for place in places if (place / name).exists())
    if not there:
        raise NotInstalled(f"there is no program {name}")
    return str(there[-1])


def debian_package(name: str) -> None:
    """Install a package of the system, as root or with a sudo that asks for no password."""
    if shutil.which("apt-get") is None:
        raise NotInstalled(f"there is no apt-get to install {name} with")
    before = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if before and shutil.which("sudo") is None:
        raise NotInstalled(f"only root can install {name}, and there is no sudo")
    quiet = [*before, "env", "DEBIAN_FRONTEND=noninteractive"]
    install = [*quiet, "apt-get", "install", "-y", "-qq", "--no-install-recommends", name]
    try:
        run(install)
    except NotInstalled:
        run([*before, "apt-get", "update", "-qq"])  # the lists may be old
        run(install)


def kafka_jars() -> Path:
    """The folder with Kafka's jars."""
    folder = cache() / f"kafka-{KAFKA_VERSION}" / "jars"
    if not folder.is_dir():
        raise NotInstalled(f"Kafka's jars are not in {folder}")
    return folder


def fetch_kafka() -> None:
    """Let Maven fetch Kafka's jars."""
    target = cache() / f"kafka-{KAFKA_VERSION}" / "jars"
    if shutil.which("mvn") is None:
        debian_package("maven")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as made:
        folder = Path(made)
        (folder / "pom.xml").write_text(_POM.format(version=KAFKA_VERSION))
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime"]
        run(["mvn", "-q", "-B", *goal, "-DoutputDirectory=jars"], folder=folder)
        if not target.is_dir():
            (folder / "jars").rename(target)
