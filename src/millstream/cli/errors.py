"""Errors and exit codes of commands."""

from __future__ import annotations

from enum import IntEnum

from millstream.common.errors import MillstreamError

__all__ = ["CommandError", "ExitCode", "exit_code_of"]


class ExitCode(IntEnum):
    """The exit codes of all commands.

    Examples
    --------
    >>> int(ExitCode.NOT_FOUND)
    3
    """

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    WRONG_STATE = 4
    JVM_DIED = 75
    """Only between a supervisor and its job."""
    INTERRUPTED = 130


class CommandError(MillstreamError):
    """A command cannot do what it was asked to.

    Parameters
    ----------
    code, message, hint
        As in `MillstreamError`.
    exit_code : int
        What the process ends with.

    Examples
    --------
    >>> error = CommandError("NO_SUCH_JOB", "there is no job 'x'", exit_code=ExitCode.NOT_FOUND)
    >>> exit_code_of(error)
    3
    """

    _extra_fields = ("exit_code",)

    def __init__(
        self, code: str, message: str, *, exit_code: int = ExitCode.FAILED, **details: object
    ) -> None:
        super().__init__(code, message, **details)  # type: ignore[arg-type]
        self.exit_code = int(exit_code)


# Errors of the layers below that say more than "failed".
_BY_CODE = {
    "NO_SAVEPOINT": ExitCode.NOT_FOUND,
    "MANY_SAVEPOINTS": ExitCode.USAGE,
    "NO_SUCH_EPOCH": ExitCode.NOT_FOUND,
    "NO_SUCH_OPERATOR": ExitCode.NOT_FOUND,
    "NO_SUCH_STATE": ExitCode.NOT_FOUND,
    "JOB_NOT_RUNNING": ExitCode.WRONG_STATE,
    "CHECKPOINT_IN_USE": ExitCode.WRONG_STATE,
    "NO_SAVEPOINT_OF_BATCH": ExitCode.WRONG_STATE,
    "NOT_TRUSTED": ExitCode.WRONG_STATE,
}


def exit_code_of(error: BaseException) -> int:
    """The exit code of a process that ends with this error.

    Examples
    --------
    >>> exit_code_of(MillstreamError("JOB_NOT_RUNNING", "it has ended")), exit_code_of(OSError())
    (4, 1)
    """
    if isinstance(error, CommandError):
        return error.exit_code
    if isinstance(error, MillstreamError):
        return int(_BY_CODE.get(error.code, ExitCode.FAILED))
    return int(ExitCode.FAILED)
