"""Options that the command line passes to the programs it starts."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["VARIABLE", "Launch"]

VARIABLE = "MILLSTREAM_OPTIONS"


@dataclass(frozen=True)
class Launch:
    """The options of ``millstream run``. ``explain``: show the plan of the job, and do not run it."""

    configuration: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] | None = None
    explain: bool = False

    @staticmethod
    def read() -> Launch | None:
        """Read the environment variable; None if the program was not started by the command line.

        Examples
        --------
        >>> os.environ[VARIABLE] = '{"configuration": {"parallelism.default": "3"}}'
        >>> Launch.read()
        Launch(configuration={'parallelism.default': '3'}, command=None, explain=False)
        >>> del os.environ[VARIABLE]
        """
        text = os.environ.get(VARIABLE)
        if not text:
            return None
        content = json.loads(text)
        command = content.get("command")
        return Launch(
            content.get("configuration") or {},
            None if command is None else tuple(command),
            bool(content.get("explain")),
        )
