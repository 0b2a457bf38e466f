"""The command line as a whole: its help, its usage errors, its completion, what it loads."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from millstream import __version__
from millstream.cli.completion import script_for
from millstream.cli.main import COMMANDS
from millstream.cli.parser import make_parser
from tests.support.cli.fakes import Registry, Run

SOURCE = Path(__file__).parents[3] / "src"
TOP = sorted({name.split()[0] for name in COMMANDS})


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env={"PYTHONPATH": str(SOURCE), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_module_is_the_command() -> None:
    done = python("-m", "millstream.cli", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    listed = {line.split()[0] for line in done.stdout.splitlines() if line.startswith("    ")}
    assert set(TOP) <= listed
    assert "exit codes:" in done.stdout


@pytest.mark.slow
def test_help_and_lists_do_not_load_pyspark(tmp_path: Path) -> None:
    code = (
        "import sys; from millstream.cli.main import main; main({!r}); "
        "print([name for name in ('pyspark', 'pandas', {}) if name in sys.modules])"
    )
    done = python("-c", code.format(["completion", "bash"], "'pyarrow'"))
    assert done.stdout.splitlines()[-1:] == ["[]"], done.stderr
    done = python("-c", code.format(["list", str(tmp_path)], "'py4j'"))
    assert done.stdout.splitlines() == [f"No jobs under {tmp_path}.", "[]"], done.stderr


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_help_with_examples_and_exit_codes(run: Run, command: str) -> None:
    code, out, _ = run(*command.split(), "--help")
    assert code == 0
    assert f"millstream {command}" in out.partition("examples:")[2]
    assert out.rstrip().endswith("130  interrupted")


def test_the_version_is_the_packages(run: Run) -> None:
    assert run("--version")[:2] == (0, f"millstream {__version__}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["fly"],
        ["run"],
        ["run", "-p", "0", "app.py"],
        ["run", "-p", "many", "app.py"],
        ["run", "-D", "key", "app.py"],
        ["run", "-D", "=value", "app.py"],
        ["run", "--mode", "slow", "app.py"],
        ["run", "--allow-non-restored-state", "app.py"],
        ["info"],
        ["rescale", "words"],
        ["savepoint", "words", "/sp", "--epoch", "-1"],
        ["savepoint", "dispose", "/sp", "--epoch", "1"],
        ["state", "show", "/sp", "--uid", "u"],
        ["state"],
        ["completion", "tcsh"],
    ],
)
def test_wrong_usage_ends_with_2(run: Run, registry: Registry, arguments: list[str]) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("usage: millstream")
    assert "error: " in err


def test_options_of_all_commands_stand_before_or_after_the_command() -> None:
    parse = make_parser().parse_args
    for line in (["--json", "--root", "r", "list"], ["list", "--json", "--root", "r"]):
        args = parse(line)
        assert (args.json, args.root, args.quiet) == (True, "r", False)
    args = parse(["run", "--quiet", "app.py", "--json", "--root", "r"])
    assert (args.json, args.quiet, args.root) == (False, True, ".millstream")
    assert args.program == ["app.py", "--json", "--root", "r"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_all_commands_and_options(run: Run, shell: str) -> None:
    code, script, _ = run("completion", shell)
    assert code == 0
    for word in " ".join(COMMANDS).split():
        assert word in script
    for option in ("from-savepoint", "checkpoint-dir", "drain", "untrusted", "dispose"):
        assert option in script
    assert "attempt" not in script


def complete(*words: str) -> list[str]:
    """What bash proposes for the last of these words."""
    script = script_for("bash", make_parser())
    line = " ".join(f"'{word}'" for word in ("millstream", *words))
    code = (
        "millstream() { echo 0a1b; }\n"
        f"{script}\nCOMP_WORDS=({line})\nCOMP_CWORD={len(words)}\n_millstream\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_commands_options_and_jobs() -> None:
    assert complete("s") == ["stop", "savepoint", "state", "sql"]
    assert complete("state", "") == ["list", "show", "diff", "-h", "--help"]
    assert complete("state", "show", "--u") == ["--uid", "--untrusted"]
    assert complete("--json", "run", "--f") == ["--from-savepoint"]
    assert complete("cancel", "0") == ["0a1b"]
    assert complete("savepoint", "d") == ["dispose"]
    assert complete("completion", "f") == ["fish"]
