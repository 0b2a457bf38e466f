"""The commands of ``millstream``, their options, and their help."""

from __future__ import annotations

import argparse
from typing import Any

from millstream import __version__
from millstream.cli.arguments import (
    EXIT_CODES,
    Format,
    add_command,
    add_common,
    add_group,
    natural,
    positive,
    setting,
)
from millstream.cli.lookup import DEFAULT_ROOT

__all__ = ["make_parser"]

_ABOUT = """\
Starts Millstream programs, looks at the jobs they run, stops them, and reads their savepoints.

JOB, where a command asks for one, is a checkpoint directory, one run in it, the id of a job or
the beginning of one, or a job's name if no other job has it. Ids and names are looked for under
--root."""

_JOB = "checkpoint directory, run directory, id or the beginning of one, or name of the job"


def make_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line.

    Examples
    --------
    >>> args = make_parser().parse_args(["run", "-p", "4", "app.py", "--input", "words.txt"])
    >>> args.command, args.parallelism, args.program
    ('run', 4, ['app.py', '--input', 'words.txt'])
    """
    parser = argparse.ArgumentParser(
        prog="millstream",
        description=_ABOUT,
        formatter_class=Format,
        allow_abbrev=False,
        epilog="`millstream COMMAND --help` describes a command.\n\n" + EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"millstream {__version__}")
    add_common(parser, first=True)
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, title="commands"
    )
    for add in (_run, _explain, _list, _info, _cancel, _stop, _savepoint, _checkpoint, _state):
        add(commands)
    _rescale(commands)
    _sql(commands)
    _completion(commands)
    return parser


def _add_trust(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--trust",
        action="store_true",
        help="use the folder although others can write to it: they can run code as you",
    )


def _add_program(parser: argparse.ArgumentParser) -> None:
    """The program, and the options that `run` and `explain` share."""
    parser.add_argument(
        "program",
        # The first argument and all after it, options too: they are the program's own.
        nargs="A...",
        metavar="TARGET",
        help="script, or with -m a module; all that follows it are its own arguments",
    )
    parser.add_argument(
        "-m", dest="module", action="store_true", help="TARGET is the name of a module"
    )
    parser.add_argument(
        "-C", "--directory", metavar="DIR", help="go to this folder before anything else"
    )
    _add_settings(parser)


def _add_settings(parser: argparse.ArgumentParser) -> None:
    """Settings of jobs."""
    parser.add_argument(
        "-p",
        "--parallelism",
        type=positive,
        metavar="N",
        help="how many tasks run at once (key parallelism.default)",
    )
    parser.add_argument(
        "-D",
        dest="settings",
        type=setting,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting by its key, Flink's, Spark's or Millstream's; may be repeated",
    )
    parser.add_argument(
        "--mode",
        choices=("batch", "streaming", "automatic"),
        help="how to run (key execution.runtime-mode)",
    )


def _run(commands: Any) -> None:
    parser = add_command(
        commands,
        "run",
        "run a program",
        """
        The program runs as Python would run it: as __main__, with the arguments after TARGET.
        Settings given here override those of the program.

        With --detached the program is a process of its own that outlives the terminal; the
        command returns when the job runs, or has failed. With --supervise a job that is killed,
        or loses its JVM, is started again and goes on from its last epoch, each time after a
        longer pause; give it a checkpoint directory.
        """,
        """
        millstream run app.py --input words.txt
        millstream run -p 8 --checkpoint-dir /data/words -m my.words
        millstream run -D millstream.slots=32 -D spark.driver.memory=8g app.py
        millstream run --from-savepoint /data/savepoints/1 app.py
        millstream run --detached --supervise --checkpoint-dir /data/words app.py
        """,
        usage="millstream run [options] [-m] TARGET [argument ...]",
    )
    _add_program(parser)
    parser.add_argument("--name", help="name of the job (key pipeline.name)")
    parser.add_argument(
        "--checkpoint-dir",
        metavar="DIR",
        help="where its checkpoints are; a job that is unfinished there goes on "
        "(key execution.checkpointing.dir)",
    )
    parser.add_argument(
        "-s",
        "--from-savepoint",
        metavar="PATH",
        help="begin with the state of this savepoint (key execution.savepoint.path)",
    )
    parser.add_argument(
        "-n",
        "--allow-non-restored-state",
        action="store_true",
        help="leave out state of the savepoint that no operator of the program claims",
    )
    parser.add_argument(
        "--detached",
        action="store_true",
        help="run as a process of its own; its output goes to a log file in the checkpoint "
        f"directory, or in {DEFAULT_ROOT}/logs",
    )
    parser.add_argument(
        "--wait",
        type=float,
        default=120.0,
        metavar="SECONDS",
        help="with --detached: how long to wait until the job runs (default: 120)",
    )
    parser.add_argument(
        "--supervise", action="store_true", help="start the job again when its process dies"
    )
    parser.add_argument(
        "--max-restarts",
        type=natural,
        default=3,
        metavar="N",
        help="with --supervise: how often in a row the supervisor restarts a job that failed by "
        "itself (default: 3); it always restarts a job that was killed",
    )
    _add_trust(parser)
    parser.add_argument("--attempt", type=natural, help=argparse.SUPPRESS)


def _explain(commands: Any) -> None:
    parser = add_command(
        commands,
        "explain",
        "show the plan of a program's first job, and run nothing",
        """
        The program runs up to its first execute(): then its plan is printed, and the program
        ends. What it does before that, it does.
        """,
        """
        millstream explain app.py --input words.txt
        millstream explain -p 8 -m my.words
        """,
        usage="millstream explain [options] [-m] TARGET [argument ...]",
    )
    _add_program(parser)


def _list(commands: Any) -> None:
    parser = add_command(
        commands,
        "list",
        "list jobs",
        """
        Shows the jobs whose checkpoint directories are under ROOT, the latest first. DEAD is a
        job whose process is gone without having said so: it can be started again, and a
        savepoint can be made of it. With --quiet: their ids.
        """,
        """
        millstream list
        millstream list /data/checkpoints --running
        millstream --json list | jq '.jobs[] | select(.alive) | .job_id'
        """,
    )
    parser.add_argument(
        "where", nargs="?", metavar="ROOT", help="where to look (default: what --root says)"
    )
    parser.add_argument("-r", "--running", action="store_true", help="only those that run")
    parser.add_argument(
        "-a", "--all", action="store_true", help="all runs of a job, not only its last one"
    )


def _info(commands: Any) -> None:
    parser = add_command(
        commands,
        "info",
        "show everything about a job",
        "Status, epoch, records, watermark, process, command and error. With --quiet: the status.",
        """
        millstream info words
        millstream --json info 3f2a
        """,
    )
    parser.add_argument("job", metavar="JOB", help=_JOB)


def _cancel(commands: Any) -> None:
    parser = add_command(
        commands,
        "cancel",
        "stop a job at once",
        """
        Its checkpoint stays: the same program, started again, goes on from its last epoch.
        To stop with a savepoint use `millstream stop`.
        """,
        "millstream cancel words",
    )
    parser.add_argument("job", metavar="JOB", help=_JOB)
    _add_trust(parser)


def _stop(commands: Any) -> None:
    parser = add_command(
        commands,
        "stop",
        "stop a job with a savepoint",
        """
        The epoch under way ends and is committed, then the savepoint is made: it holds all that
        sinks have seen and nothing more. With --drain all sources end first, so that windows
        and timers fire; do that only to a job that will not go on. With --quiet: the path.
        """,
        """
        millstream stop words --savepoint-path /data/savepoints
        millstream stop words --savepoint-path /data/savepoints --drain
        """,
    )
    parser.add_argument("job", metavar="JOB", help=_JOB)
    parser.add_argument(
        "-p",
        "--savepoint-path",
        metavar="PATH",
        help="the folder to put the savepoint in (default: where the job says)",
    )
    parser.add_argument(
        "-d", "--drain", action="store_true", help="end all sources first: the job is over"
    )
    _add_trust(parser)


def _savepoint(commands: Any) -> None:
    parser = add_command(
        commands,
        "savepoint",
        "make or delete a savepoint",
        """
        Of a job that runs, which goes on meanwhile; or of the checkpoint of one that does not,
        of its last epoch or, with --epoch, of one that `millstream checkpoint list` shows. With
        --quiet: the path.

        `savepoint dispose PATH` deletes a savepoint, and refuses what is none.
        """,
        """
        millstream savepoint words
        millstream savepoint words /data/savepoints
        millstream savepoint words /data/savepoints --epoch 41
        millstream savepoint dispose /data/savepoints/1
        """,
        usage="millstream savepoint [options] JOB [PATH] [--epoch N]\n"
        "       millstream savepoint dispose PATH",
    )
    parser.add_argument("job", metavar="JOB", help=f"{_JOB}; or dispose")
    parser.add_argument(
        "path",
        nargs="?",
        metavar="PATH",
        help="the folder to put it in (default: where the job says; of a job that does not run, the "
        "folder savepoints in its checkpoint directory)",
    )
    parser.add_argument(
        "--epoch", type=natural, metavar="N", help="a retained epoch of a job that does not run"
    )
    _add_trust(parser)


def _checkpoint(commands: Any) -> None:
    inner = add_group(commands, "checkpoint", "look at the checkpoints of a job")
    shown = add_command(
        inner,
        "list",
        "list the epochs that are kept",
        "A savepoint can be made of each, see `millstream savepoint --epoch`. With --quiet: "
        "their numbers.",
        "millstream checkpoint list words",
    )
    shown.add_argument("job", metavar="JOB", help=_JOB)


def _state(commands: Any) -> None:
    inner = add_group(commands, "state", "read the state in a savepoint")
    listed = add_command(
        inner,
        "list",
        "list the operators of a savepoint and their states",
        "Reads the manifest only, no state. With --quiet: uid and state, a tab between.",
        "millstream state list /data/savepoints/1",
    )
    listed.add_argument("path", metavar="PATH", help="the savepoint")
    shown = add_command(
        inner,
        "show",
        "show the rows of one state",
        "Starts a local Spark session. With --quiet: rows with tabs between values.",
        """
        millstream state show /data/savepoints/1 --uid counts --name count
        millstream --json state show /data/savepoints/1 --uid counts --name count --limit 5
        """,
    )
    shown.add_argument("path", metavar="PATH", help="the savepoint")
    shown.add_argument("--uid", required=True, help="uid of the operator")
    shown.add_argument("--name", required=True, help="name of the state, as in its descriptor")
    shown.add_argument(
        "--limit", type=positive, default=20, metavar="N", help="most rows (default: 20)"
    )
    trust = shown.add_mutually_exclusive_group()
    trust.add_argument(
        "--trust",
        action="store_true",
        help="unpickle values although others can write to the savepoint: they can run code as you",
    )
    trust.add_argument(
        "--untrusted",
        action="store_true",
        help="unpickle nothing, although the savepoint is your own",
    )
    compared = add_command(
        inner,
        "diff",
        "compare two savepoints",
        "Says for each state whether it was added, removed or changed, and how many rows "
        "differ. Starts a local Spark session.",
        "millstream state diff /data/savepoints/1 /data/savepoints/2",
    )
    compared.add_argument("left", metavar="LEFT", help="a savepoint")
    compared.add_argument("right", metavar="RIGHT", help="another one")
    _add_trust(compared)


def _rescale(commands: Any) -> None:
    parser = add_command(
        commands,
        "rescale",
        "go on with another parallelism",
        """
        Stops the job with a savepoint, or makes one of its checkpoint if it does not run, and
        runs the command that has started it again, as a process of its own, from that savepoint
        and with the new parallelism. The command is shown. It is taken from the job's folder if
        nobody but you and root can write there; --run gives another one. With --quiet: the path
        of the savepoint.
        """,
        """
        millstream rescale words -p 8
        millstream rescale words -p 8 --savepoint-path /data/savepoints
        millstream rescale words -p 8 --run -D db.password=s3cret app.py --input words.txt
        """,
    )
    parser.add_argument("job", metavar="JOB", help=_JOB)
    parser.add_argument(
        "-p", "--parallelism", type=positive, required=True, metavar="N", help="the new one"
    )
    parser.add_argument(
        "--savepoint-path",
        metavar="PATH",
        help="where to put the savepoint (default: the folder savepoints in its checkpoint "
        "directory)",
    )
    parser.add_argument(
        "--wait",
        type=float,
        default=120.0,
        metavar="SECONDS",
        help="how long to wait until the job runs again (default: 120)",
    )
    _add_trust(parser)
    parser.add_argument(
        "--run",
        nargs=argparse.REMAINDER,
        metavar="...",
        help="how to start the job: all that follows are options and arguments of `millstream run`",
    )


def _sql(commands: Any) -> None:
    parser = add_command(
        commands,
        "sql",
        "run SQL statements from a file, from the command line, or at a prompt",
        """
        Without -e and -f, statements are asked for at a prompt with history and completion; or
        they are read from the standard input if it is no terminal. Statements end with
        semicolons. A script whose statements cannot all be read runs none of them; the first
        statement that fails ends it.

        The jobs of INSERT statements run in this process: the command waits for them, and
        ctrl-C stops them. With --json each statement writes one JSON document.
        """,
        """
        millstream sql
        millstream sql -f report.sql
        millstream sql -i tables.sql -e "SELECT COUNT(*) FROM orders" --mode batch
        millstream sql -D execution.checkpointing.dir=/data/orders -f orders.sql
        """,
    )
    parser.add_argument(
        "-f", "--file", metavar="FILE", help="run the statements of a file; - is the standard input"
    )
    parser.add_argument(
        "-i",
        "--init",
        action="append",
        default=[],
        metavar="FILE",
        help="run the statements of a file first; may be repeated",
    )
    parser.add_argument(
        "-e", "--execute", dest="statements", metavar="SQL", help="run these statements"
    )
    parser.add_argument("--history", metavar="FILE", help="where the prompt keeps its history")
    _add_settings(parser)


def _completion(commands: Any) -> None:
    parser = add_command(
        commands,
        "completion",
        "print a script with which a shell completes commands",
        "Completes commands, options, and the ids of jobs.",
        """
        eval "$(millstream completion bash)"      in ~/.bashrc
        eval "$(millstream completion zsh)"       in ~/.zshrc, after compinit
        millstream completion fish > ~/.config/fish/completions/millstream.fish
        """,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="which shell")
