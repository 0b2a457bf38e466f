"""A job's dealings with other processes, through its checkpoint directory."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future

from millstream.checkpoint.folder import Run
from millstream.checkpoint.lease import Lease
from millstream.checkpoint.registry import Command, Registrar
from millstream.common.errors import MillstreamError
from millstream.common.job import JobStatus
from millstream.plan.options import JobOptions, redactor_of
from millstream.spark.job.client import JobClient

log = logging.getLogger("millstream")
TELL_SECONDS = 1.0
LISTEN_SECONDS = 0.5


class Outside:
    """Renews the lease, publishes status, executes commands from other processes."""

    def __init__(
        self, run: Run, lease: Lease, client: JobClient, options: JobOptions, ui: str | None
    ) -> None:
        self.registrar = Registrar(
            run.path,
            name=options.name,
            job_id=run.job_id,
            parallelism=options.parallelism,
            command=options.command,
            ui=ui,
        )
        self._redact = redactor_of(options)
        self._restarts = 0
        self._error: str | None = None
        self._lease = lease
        self._client = client
        self._told = self._listened = 0.0
        self._told_status: JobStatus | None = None
        self._cancels: list[str] = []

    def tend(self) -> None:
        """Do what is due; a file system that fails for a moment does not end the job."""
        now = time.monotonic()
        try:
            if now - self._listened >= LISTEN_SECONDS:
                self._listened = now
                for command in self.registrar.commands():
                    self._obey(command)
            if now - self._told >= TELL_SECONDS or self._told_status is not self._client._status:
                self._lease.check()
                self.tell()
        except OSError as error:
            log.warning("the job's lease or status could not be written: %s", error)

    def tell(self) -> None:
        """Say where the job stands."""
        self._told, self._told_status = time.monotonic(), self._client._status
        self.registrar.say(
            self._told_status.name,
            self._client.metrics(),
            restarts=self._restarts,
            error=self._error,
        )

    def restarting(self, count: int, failure: BaseException) -> None:
        """Remember that the job has failed and will start again."""
        self._restarts, self._error = count, self._redact(str(failure))

    def last_word(self, error: BaseException | None) -> None:
        """Tell how the job has ended, unless another driver has taken it over."""
        self._lease.check()
        self._error = self._error if error is None else self._redact(str(error))
        self.tell()

    def answer_cancels(self) -> None:
        """Tell those who asked for the end that it has come."""
        for command_id in self._cancels:
            self.registrar.answer(command_id, "done")

    def _obey(self, command: Command) -> None:
        if command.command == "cancel":
            self._cancels.append(command.id)
            self._client._cancelled.set()
            return
        try:
            answer = self._client._ask(
                command.path,
                stop=command.command == "stop",
                drain=command.drain,
                on_progress=self._progress_of(command),
            )
        except MillstreamError as error:
            self._refuse(command, error)
        else:
            self.registrar.answer(command.id, "running")
            answer.add_done_callback(lambda done: self._answer(command, done))

    def _progress_of(self, command: Command) -> Callable[[int, int], None]:
        last = time.monotonic()

        def tell(done: int, total: int) -> None:
            nonlocal last
            if time.monotonic() - last >= LISTEN_SECONDS:
                last = time.monotonic()
                self.registrar.answer(command.id, "running", progress=(done, total))

        return tell

    def _answer(self, command: Command, done: Future[str]) -> None:
        error = done.exception()
        if error is None:
            self.registrar.answer(command.id, "done", result=done.result())
        else:
            self._refuse(command, error)

    def _refuse(self, command: Command, error: BaseException) -> None:
        self.registrar.answer(command.id, "failed", error=self._redact(str(error)))
