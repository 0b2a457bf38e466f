"""A server as a process of this one."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

PATIENCE_SECONDS = 120
POLL_SECONDS = 0.05


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server(ABC):
    """A server with a folder and a port of its own; both stay when it starts again.

    ``folder``: by default a new one, which `close` removes.
    """

    name: ClassVar[str]
    user: ClassVar[str | None] = None
    """Who runs it if this is root: some servers refuse to run as root."""
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM

    def __init__(self, folder: Path | None = None) -> None:
        self._is_temporary = folder is None
        self.folder = folder or Path(tempfile.mkdtemp(prefix=f"millstream-{self.name}-"))
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    # -- of each server --------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def find(cls) -> None:
        """Look for its programs; `NotInstalled` if they are not there."""

    @classmethod
    @abstractmethod
    def install(cls) -> None:
        """Install it."""

    @abstractmethod
    def prepare(self) -> None:
        """Make its data folder."""

    @abstractmethod
    def command(self) -> Sequence[str | Path]:
        """The command that runs it in the foreground."""

    @abstractmethod
    def ask(self) -> None:
        """Ask it something; any exception means that it is not ready yet."""

    # -- life ------------------------------------------------------------------------------------

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None, f"{self.name} does not run"
        return self.process.pid

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self) -> Self:
        """Start it, and wait until it answers. Its port and data are those of the last time."""
        self.find()
        if not self.is_running:
            self._own(self.folder)
            if not self.data.exists():
                self.prepare()
            with open(self.folder / "log", "ab") as log:
                command = [*self._runner(), *map(str, self.command())]
                self.process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
                )
            self._wait()
        return self

    def stop(self) -> None:
        """Ask it to end, and wait."""
        self._end(self.stop_signal)

    def kill(self) -> None:
        """Kill it with SIGKILL, as a crash does."""
        self._end(signal.SIGKILL)

    def close(self) -> None:
        """End it, and remove its folder."""
        self._end(signal.SIGKILL)
        if self._is_temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    # -- inside ----------------------------------------------------------------------------------

    def run_once(self, command: Sequence[str | Path]) -> None:
        """Run a command that prepares something, as the user of the server."""
        command = [*self._runner(), *map(str, command)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{self.name}: {command[0]} failed\n{done.stdout}{done.stderr}")

    def _runner(self) -> list[str]:
        """What makes the process end with this one, and gives it its user."""
        if shutil.which("setpriv") is None:
            return []
        user = self.user if os.geteuid() == 0 else None
        change = ["--reuid", user, "--regid", user, "--clear-groups"] if user else []
        return ["setpriv", *change, "--pdeathsig", "KILL"]

    def _own(self, folder: Path) -> None:
        folder.chmod(0o755)
        if self.user is not None and os.geteuid() == 0:
            shutil.chown(folder, self.user, self.user)

    def _wait(self) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            reason = self._reason_to_wait()
            if reason is None:
                return
            if not self.is_running or time.monotonic() > end:
                log = (self.folder / "log").read_text(errors="replace")[-4_000:]
                self._end(signal.SIGKILL)
                raise RuntimeError(f"{self.name} did not start: {reason}\n{log}")
            time.sleep(POLL_SECONDS)

    def _reason_to_wait(self) -> str | None:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                pass
            self.ask()
        except Exception as error:
            return str(error)
        return None

    def _end(self, with_signal: signal.Signals) -> None:
        if self.process is not None:
            if self.process.poll() is None:
                self.process.send_signal(with_signal)
            try:
                self.process.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None
