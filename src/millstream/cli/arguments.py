"""Shared parts of the parsers of all commands: help, common options, types of values."""

from __future__ import annotations

import argparse
import textwrap
from typing import Any

from millstream.cli.lookup import DEFAULT_ROOT

__all__ = ["EXIT_CODES", "Format", "add_command", "add_common", "natural", "positive", "setting"]

EXIT_CODES = """\
exit codes:
  0    success
  1    the job, or the command, failed
  2    wrong usage
  3    there is no such job or savepoint
  4    the job is in the wrong state, for example finished, or its folder is not trusted
  130  interrupted"""


class Format(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of descriptions, and leaves room for the names of options."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=32)

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            # argparse leaves out how far the names of commands are set in.
            self._action_max_length += 2


def add_common(parser: argparse.ArgumentParser, *, first: bool = False) -> None:
    """The options that stand before or after the command."""

    def default(value: Any) -> Any:
        # What stands before the command must not be undone by what does not stand after it.
        return value if first else argparse.SUPPRESS

    group = parser.add_argument_group("options of all commands")
    group.add_argument(
        "--json",
        action="store_true",
        default=default(False),
        help="write the result as JSON to stdout, and nothing else; errors too",
    )
    group.add_argument(
        "--quiet",
        action="store_true",
        default=default(False),
        help="write only what a script needs, such as ids or a path; no progress",
    )
    group.add_argument(
        "--debug",
        action="store_true",
        default=default(False),
        help="show where in the code an error came from",
    )
    group.add_argument(
        "--root",
        metavar="DIR",
        default=default(DEFAULT_ROOT),
        help="where to look for jobs: a folder or URI of checkpoint directories "
        f"(default: {DEFAULT_ROOT})",
    )


def add_command(
    commands: Any, name: str, summary: str, about: str, examples: str, **options: Any
) -> argparse.ArgumentParser:
    """A command with its help: what it does, examples, exit codes."""
    listed = textwrap.indent(textwrap.dedent(examples).strip(), "  ")
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=f"{_sentence(summary)}\n\n{textwrap.dedent(about).strip()}",
        epilog=f"examples:\n{listed}\n\n{EXIT_CODES}",
        formatter_class=Format,
        allow_abbrev=False,
        **options,
    )
    add_common(parser)
    parser.set_defaults(usage_error=parser.error)
    return parser


def add_group(commands: Any, name: str, summary: str) -> Any:
    """A command that has commands of its own; they are added to what is returned."""
    parser = commands.add_parser(
        name,
        help=summary,
        description=_sentence(summary),
        epilog=EXIT_CODES,
        formatter_class=Format,
        allow_abbrev=False,
    )
    return parser.add_subparsers(dest="subcommand", metavar="COMMAND", required=True)


def _sentence(summary: str) -> str:
    return f"{summary[0].upper()}{summary[1:]}."


def positive(text: str) -> int:
    """A whole number from 1 on."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number


def natural(text: str) -> int:
    """A whole number from 0 on."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    return number


positive.__name__ = natural.__name__ = "whole number"  # argparse's message has it


def setting(text: str) -> tuple[str, str]:
    """A key and its value.

    Examples
    --------
    >>> setting("spark.x=a=b")
    ('spark.x', 'a=b')
    """
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not key=value")
    return key, value
