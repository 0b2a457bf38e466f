"""What the command line says comes before what the program says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.environment.launch import VARIABLE


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda **content: monkeypatch.setenv(VARIABLE, json.dumps(content))


def environment() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2).set_runtime_mode("BATCH").set_checkpoint_directory("/program")
    return env


def test_options_of_the_command_line_win(launched: Any) -> None:
    env = environment()
    launched(
        configuration={
            "parallelism.default": "7",
            "execution.runtime-mode": "streaming",
            "execution.checkpointing.dir": "/command",
            "execution.savepoint.path": "/saved",
            "execution.savepoint.ignore-unclaimed-state": "true",
            "pipeline.name": "named",
        },
        command=["millstream", "run", "app.py"],
    )
    options = env._settings.options("of the program")
    assert (options.parallelism, options.mode, options.name) == (7, "streaming", "named")
    assert (options.checkpoint_dir, options.savepoint_path) == ("/command", "/saved")
    assert options.allow_non_restored_state and options.command == ("millstream", "run", "app.py")
    assert env.get_parallelism() == 2, "the program's own settings stay as they are"


def test_without_the_command_line_the_program_decides() -> None:
    env = environment().restore_from_savepoint("/saved", allow_non_restored_state=True)
    options = env._settings.options("of the program")
    assert (options.parallelism, options.checkpoint_dir) == (2, "/program")
    assert (options.name, options.savepoint_path) == ("of the program", "/saved")
    assert options.allow_non_restored_state


def test_explain_shows_the_plan_and_runs_nothing(launched: Any, capsys: Any) -> None:
    launched(configuration={}, explain=True)
    env = environment()
    env.from_collection([1]).map(str).name("As Text").print()
    with pytest.raises(SystemExit) as ended:
        env.execute()
    assert ended.value.code == 0
    assert "As Text" in capsys.readouterr().out
