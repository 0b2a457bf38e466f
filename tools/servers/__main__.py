"""Installs servers, or runs one until Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys

from tools.servers import SERVERS, NotInstalled
from tools.servers.install import say

STRICT = "MILLSTREAM_NO_SKIPS"
"""Where it is set, a server that is missing is an error, and its tests are not skipped."""


def install(names: list[str]) -> int:
    missing = []
    for name in names:
        try:
            try:
                SERVERS[name].find()
            except NotInstalled:
                SERVERS[name].install()
                SERVERS[name].find()
        except NotInstalled as error:
            missing.append(f"{name}: {error}")
    if missing:
        say(f"not installed, so their tests are left out: {'; '.join(missing)}")
    return 1 if missing and os.environ.get(STRICT) else 0


def run(name: str) -> int:
    with SERVERS[name]() as server:
        say(f"{name} listens at {server.address}, its folder is {server.folder}; Ctrl-C ends it")
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
    return 0


def main(words: list[str]) -> int:
    match words:
        case ["install", *names] if set(names) <= set(SERVERS):
            return install(names or list(SERVERS))
        case ["run", name] if name in SERVERS:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
            return run(name)
    say(f"usage: python -m tools.servers install [NAME ...] | run NAME; of {', '.join(SERVERS)}")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
