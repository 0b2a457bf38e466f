"""Scripts with which shells complete ``millstream``, made from its parser."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field

from millstream.cli.console import Console
from millstream.cli.errors import ExitCode

__all__ = ["completion", "script_for"]

_ZSH = "autoload -U +X bashcompinit && bashcompinit\n"
_BASH = """\
_millstream() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" path="" part words jobs=""
    for part in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$path $part" in
            {paths}) path="$path $part" ;;
        esac
    done
    case "$path" in
{cases}
    esac
    if [ -n "$jobs" ] && [[ "$word" != -* ]]; then
        words="$words $(millstream list --quiet 2>/dev/null)"
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _millstream millstream
"""


@dataclass
class _Level:
    """Words that may follow some words of the command line."""

    path: tuple[str, ...]
    commands: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    choices: list[str] = field(default_factory=list)
    takes_job: bool = False


def _levels(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[_Level]:
    level = _Level(path)
    inner: list[tuple[str, argparse.ArgumentParser]] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            level.commands = {one.dest: one.help or "" for one in action._choices_actions}
            inner += action.choices.items()
        elif action.help != argparse.SUPPRESS and action.option_strings:
            level.options |= dict.fromkeys(action.option_strings, action.help or "")
        elif action.choices is not None:
            level.choices += action.choices
        level.takes_job |= action.dest == "job"
    if path == ("savepoint",):
        level.choices.append("dispose")
    yield level
    for name, subparser in inner:
        yield from _levels(subparser, (*path, name))


def script_for(shell: str, parser: argparse.ArgumentParser) -> str:
    """The script for a shell: ``bash``, ``zsh`` or ``fish``."""
    levels = list(_levels(parser))
    if shell == "fish":
        return "\n".join(line for level in levels for line in _fish(level)) + "\n"
    paths = "|".join(f'" {" ".join(level.path)}"' for level in levels if level.path)
    cases = []
    for level in levels:
        place = "".join(f" {name}" for name in level.path)
        words = " ".join([*level.commands, *level.choices, *level.options])
        jobs = " jobs=1" if level.takes_job else ""
        cases.append(f'        "{place}") words="{words}"{jobs} ;;')
    script = _BASH.format(paths=paths, cases="\n".join(cases))
    return _ZSH + script if shell == "zsh" else script


def _fish(level: _Level) -> Iterator[str]:
    """Lines of ``complete`` for what may follow."""
    seen = [f"__fish_seen_subcommand_from {name}" for name in level.path]
    if level.commands:
        inner = " ".join(level.commands)
        seen.append(f"not __fish_seen_subcommand_from {inner}")
    condition = f"-n {_quoted('; and '.join(seen))} " if seen else ""
    start = f"complete -c millstream {condition}"
    for name, about in level.commands.items():
        yield f"{start}-f -a {name} -d {_quoted(about)}"
    for name in level.choices:
        yield f"{start}-f -a {name}"
    if level.takes_job:
        yield f"{start}-a '(millstream list --quiet 2>/dev/null)'"
    for option, about in level.options.items():
        kind = "-l" if option.startswith("--") else "-s"
        yield f"{start}{kind} {option.lstrip('-')} -d {_quoted(about)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def completion(args: argparse.Namespace, console: Console) -> int:
    """``millstream completion``."""
    from millstream.cli.parser import make_parser

    script = script_for(args.shell, make_parser())
    console.result({"shell": args.shell, "script": script}, script.rstrip("\n"), script)
    return ExitCode.OK
