"""Writes docs/reference/commands.md from the parser of the command line.

python tools/command_page.py
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from millstream.cli.parser import make_parser

PAGE = Path(__file__).resolve().parents[1] / "docs/reference/commands.md"
_INTRODUCTION = """\
# Commands

All commands of `millstream` and their options. The script
`tools/command_page.py` makes this page from the help of the program.
[The command line](../operate/cli.md) explains how to work with them.
"""
_MAIN = re.compile(r"__\w+__")  # Else Markdown makes it bold.
_IN_ALL = ("json", "quiet", "debug", "root", "help")


def render() -> str:
    """The whole page."""
    parser = make_parser()
    parts = [_INTRODUCTION, "## Options of all commands\n", _table(_common(parser))]
    for name, summary, command in _commands(parser):
        parts += [f"## {name}\n", f"{summary[0].upper()}{summary[1:]}.\n"]
        parts += _details(command)
        rows = [row for action in command._actions if (row := _row(action))]
        parts += [_table(rows)] if rows else []
    return "\n".join(parts)


def _commands(
    parser: argparse.ArgumentParser, before: str = "millstream"
) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """The commands that do something: name, summary and parser; a group's own commands for a group."""
    for action in parser._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}
        for name, command in action.choices.items():
            inner = list(_commands(command, f"{before} {name}"))
            yield from inner or [(f"{before} {name}", summaries[name], command)]


def _details(command: argparse.ArgumentParser) -> list[str]:
    """The rest of the description, and the examples."""
    about = (command.description or "").partition("\n\n")[2]
    examples = (command.epilog or "").partition("examples:\n")[2].partition("\n\n")[0]
    lines = [line.removeprefix("  ") for line in examples.splitlines()]
    parts = [_MAIN.sub(r"`\g<0>`", about) + "\n"] if about else []
    return parts + (["```console", *(f"$ {line}" for line in lines), "```\n"] if lines else [])


def _common(parser: argparse.ArgumentParser) -> list[str]:
    return [_line(a) for a in parser._actions if a.dest in _IN_ALL and a.dest != "help"]


def _row(action: argparse.Action) -> str | None:
    if action.dest in _IN_ALL or action.help == argparse.SUPPRESS:
        return None
    return _line(action)


def _line(action: argparse.Action) -> str:
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    takes_value = action.nargs != 0
    choices = "\\|".join(map(str, action.choices)) if action.choices else metavar
    value = f" {choices}" if takes_value else ""
    names = ", ".join(f"`{name}{value}`" for name in action.option_strings) or f"`{choices}`"
    return f"| {names} | {' '.join((action.help or '').split()).replace('|', chr(92) + '|')} |"


def _table(rows: list[str]) -> str:
    return "\n".join(["| Option | Meaning |", "|---|---|", *rows, ""])


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
