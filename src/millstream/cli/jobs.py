"""Commands on jobs: list, info, cancel, stop, savepoint, checkpoint list, rescale."""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING, Any

from millstream.cli.console import Console
from millstream.cli.errors import CommandError, ExitCode
from millstream.cli.launch import command_for, parsed, shown, start_again, wait_for
from millstream.cli.lookup import find_job, latest_runs, require_path, state_of
from millstream.cli.metrics import metrics_text
from millstream.cli.sessions import spark_session
from millstream.cli.text import ago, fields, local_time, size, table
from millstream.common.paths import absolute_path
from millstream.common.secrets import masked_command

if TYPE_CHECKING:
    from millstream.checkpoint.registry import JobRecord

__all__ = ["cancel", "checkpoints", "dispose", "info", "list_jobs", "rescale", "savepoint", "stop"]

_STOP_SECONDS = 120


def list_jobs(args: argparse.Namespace, console: Console) -> int:
    """``millstream list``."""
    from millstream.checkpoint.registry import find_jobs

    records = find_jobs(args.where or args.root)
    if not args.all:
        records = latest_runs(records)
    if args.running:
        records = [record for record in records if record.alive]
    records = sorted(records, key=lambda record: (-(record.started_ms or 0), record.path))
    now = console.now_ms()
    rows = [_row(record, now) for record in records]
    head = ["JOB", "NAME", "STATUS", "EPOCH", "IN", "OUT", "STARTED", "UPDATED", "DIRECTORY"]
    text = table(head, rows, console.width) if rows else f"No jobs under {args.where or args.root}."
    brief = "\n".join(record.job_id for record in records if record.problem is None)
    console.result({"jobs": [as_data(record) for record in records]}, text, brief)
    return ExitCode.OK


def _row(record: JobRecord, now: int) -> list[str]:
    if record.problem is not None:
        blank = ["-"] * 5
        return ["-", "-", state_of(record), *blank, f"{record.path} ({record.problem})"]
    updated = "-" if record.updated_ms is None else ago(record.updated_ms, now)
    return [
        record.job_id[:12],
        record.name,
        state_of(record),
        _number(record.epoch),
        _number(record.records_in),
        _number(record.records_out),
        local_time(record.started_ms),
        updated,
        record.directory,
    ]


def _number(value: int | None) -> str:
    # The epoch before the first one is -1.
    return "-" if value is None or value < 0 else f"{value:,}"


def as_data(record: JobRecord) -> dict[str, Any]:
    """A job for ``--json``: everything in its record."""
    data = dataclasses.asdict(record)
    if record.command is not None:
        data["command"] = masked_command(record.command)
    data["metrics"] = None if record.metrics is None else record.metrics.to_dict()
    return {**data, "status": str(record.status), "state": state_of(record)}


def info(args: argparse.Namespace, console: Console) -> int:
    """``millstream info``."""
    record = find_job(args.job, args.root)
    now = console.now_ms()

    def moment(ms: int | None) -> str:
        return "-" if ms is None else f"{local_time(ms)} ({ago(ms, now)})"

    pairs = [
        ("job", record.job_id),
        ("name", record.name),
        ("status", state_of(record)),
        ("started", moment(record.started_ms)),
        ("updated", moment(record.updated_ms)),
        ("epoch", _number(record.epoch)),
        ("records in", _number(record.records_in)),
        ("records out", _number(record.records_out)),
        ("watermark", local_time(record.watermark)),
        ("parallelism", _number(record.parallelism)),
        ("restarts", _number(record.restarts)),
        ("process", "-" if record.pid is None else f"{record.pid} on {record.host}"),
        ("command", shown(record.command) if record.command else "-"),
        ("Spark UI", record.ui or "-"),
        ("run", record.path),
        ("trusted", "yes" if record.distrust is None else f"no: {record.distrust}"),
        ("error", record.error or "-"),
    ]
    text = fields(pairs)
    if record.metrics is not None:
        text = f"{text}\n\n{metrics_text(record.metrics, console.width)}"
    console.result({"job": as_data(record)}, text, state_of(record))
    return ExitCode.OK


def cancel(args: argparse.Namespace, console: Console) -> int:
    """``millstream cancel``."""
    from millstream.checkpoint.registry import request

    record = _running(args)
    request(record, "cancel")
    text = f"Job {record.job_id} is cancelled; run it again and it goes on from its last epoch."
    console.result({"job_id": record.job_id, "status": "CANCELED"}, text, record.job_id)
    return ExitCode.OK


def stop(args: argparse.Namespace, console: Console) -> int:
    """``millstream stop``."""
    record = _running(args)
    path = _stopped(record, args.savepoint_path, args.drain, console)
    data = {"job_id": record.job_id, "savepoint": path, "drained": args.drain}
    console.result(data, f"Job {record.job_id} has stopped. Its savepoint:\n  {path}", path)
    return ExitCode.OK


def _stopped(record: JobRecord, path: str | None, drain: bool, console: Console) -> str:
    from millstream.checkpoint.registry import request

    target = None if path is None else absolute_path(path)
    console.note(f"Stopping job {record.job_id} ({record.name}) with a savepoint ...")
    with console.progress("savepoint") as progress:
        made = request(record, "stop", path=target, drain=drain, on_progress=progress)
    return made or target or ""


def savepoint(args: argparse.Namespace, console: Console) -> int:
    """``millstream savepoint``: of a job that runs, or of one that does not."""
    if args.job == "dispose":
        return dispose(args, console)
    record = _unfinished(args)
    if record.alive:
        made = _savepoint_of_running(record, args, console)
    else:
        made = _savepoint_of_dead(record, args.path, args.epoch, console)
    data = {"job_id": record.job_id, "savepoint": made, "epoch": args.epoch}
    console.result(data, f"The savepoint of job {record.job_id} is complete:\n  {made}", made)
    return ExitCode.OK


def _savepoint_of_running(record: JobRecord, args: argparse.Namespace, console: Console) -> str:
    from millstream.checkpoint.registry import request

    if args.epoch is not None:
        raise CommandError(
            "JOB_RUNNING",
            f"job {record.job_id} is running: its savepoint is of the epoch it is in",
            exit_code=ExitCode.WRONG_STATE,
            hint="leave --epoch away, or stop the job before",
        )
    target = None if args.path is None else absolute_path(args.path)
    with console.progress("savepoint") as progress:
        made = request(record, "savepoint", path=target, on_progress=progress)
    return made or target or ""


def _savepoint_of_dead(
    record: JobRecord, path: str | None, epoch: int | None, console: Console
) -> str:
    from millstream.spark.savepoint.take import take_offline

    target = absolute_path(path or _own_folder(record))
    console.note(f"Job {record.job_id} does not run: the savepoint is made of its checkpoint ...")
    with spark_session() as spark, console.progress("savepoint") as progress:
        return take_offline(spark, record.path, target, epoch=epoch, on_progress=progress)


def _own_folder(record: JobRecord) -> str:
    return f"{record.directory}/savepoints"


def dispose(args: argparse.Namespace, console: Console) -> int:
    """``millstream savepoint dispose``."""
    path = require_path(args.path)
    from millstream.checkpoint.savepoints import dispose as delete

    delete(path)
    console.result({"disposed": path}, f"Savepoint {path} is deleted.")
    return ExitCode.OK


def checkpoints(args: argparse.Namespace, console: Console) -> int:
    """``millstream checkpoint list``."""
    record = find_job(args.job, args.root)
    from millstream.checkpoint.savepoints import retained

    found = sorted(retained(record.path), key=lambda one: (one["epoch"], one["query"]))
    now = console.now_ms()
    rows = [
        [
            str(one["epoch"]),
            str(one["query"]),
            local_time(one["committed_ms"]),
            "-" if one["committed_ms"] is None else ago(one["committed_ms"], now),
            size(one.get("bytes")),
        ]
        for one in found
    ]
    head = ["EPOCH", "QUERY", "COMMITTED", "AGE", "SIZE"]
    text = table(head, rows, console.width) if rows else f"{record.path} keeps no epoch yet."
    brief = "\n".join(dict.fromkeys(row[0] for row in rows))
    console.result({"job_id": record.job_id, "checkpoints": found}, text, brief)
    return ExitCode.OK


def rescale(args: argparse.Namespace, console: Console) -> int:
    """``millstream rescale``: stop with a savepoint, start again with another parallelism."""
    record = _unfinished(args)
    command = command_for(record, args)
    own = parsed(command)
    console.note(f"Its command: {shown(command)}")
    folder = args.savepoint_path or _own_folder(record)
    if record.alive:
        made = _stopped(record, folder, False, console)
        _wait_for_end(record)
    else:
        made = _savepoint_of_dead(record, folder, None, console)
    console.note(f"Starting it again with parallelism {args.parallelism} from {made} ...")
    started = start_again(command, own, made, args.parallelism, record, args)
    data = {
        **started,
        "job_id": started["job_id"] or record.job_id,
        "name": record.name,
        "savepoint": made,
        "parallelism": args.parallelism,
    }
    text = (
        f"Job {record.name} is {started['status']} with parallelism {args.parallelism}: "
        f"process {started['pid']}, log {started['log']}\n"
        f"It began from the savepoint {made}"
    )
    console.result(data, text, made)
    return ExitCode.OK


def _wait_for_end(record: JobRecord) -> None:
    from millstream.checkpoint.lease import Watch
    from millstream.checkpoint.registry import lives

    watch = Watch(record.directory)
    if not wait_for(lambda: not lives(record, watch), _STOP_SECONDS):
        raise CommandError(
            "JOB_RUNNING",
            f"job {record.job_id} has made its savepoint, but its process {record.pid} "
            f"is still there after {_STOP_SECONDS} s",
            exit_code=ExitCode.WRONG_STATE,
            hint="end that process, then start the job with --from-savepoint",
        )


def _running(args: argparse.Namespace) -> JobRecord:
    record = _trusted(args)
    if not record.alive:
        raise CommandError(
            "JOB_NOT_RUNNING",
            f"job {record.job_id} ({record.name}) does not run: it is {state_of(record)}",
            exit_code=ExitCode.WRONG_STATE,
            hint="`millstream list --running` shows those that do",
        )
    return record


def _trusted(args: argparse.Namespace) -> JobRecord:
    """The job that is meant, and whether its driver lives.

    An error if others may have written what is to be read or run of it.
    """
    from millstream.checkpoint.registry import known

    record = find_job(args.job, args.root)
    if record.distrust is not None and not args.trust:
        from millstream.checkpoint.trust import not_trusted

        raise not_trusted(f"job {record.job_id} ({record.name})", record.distrust)
    return known(record)


def _unfinished(args: argparse.Namespace) -> JobRecord:
    record = _trusted(args)
    if record.status == "FINISHED":
        raise CommandError(
            "JOB_FINISHED",
            f"job {record.job_id} ({record.name}) has finished: there is nothing to go on from",
            exit_code=ExitCode.WRONG_STATE,
        )
    return record
