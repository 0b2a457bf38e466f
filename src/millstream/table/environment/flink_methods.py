"""Methods of PyFlink's environment that set what its jobs get, or that are not here."""

from __future__ import annotations

from typing import Any

from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
from millstream.table.environment.absent import MODELS, PLANS, not_here

__all__ = ["FlinkMethods"]


class FlinkMethods:
    """The part of `TableEnvironment` for files of user functions, stored plans and models."""

    _env: StreamExecutionEnvironment

    # -- files, packages -------------------------------------------------------------------------

    def add_python_file(self, file_path: str) -> None:
        """Make a Python file, or what is in a folder or a zip, importable for functions."""
        self._env.add_python_file(file_path)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Unpack an archive where functions run, under its own name or another one."""
        self._env.add_python_archive(archive_path, target_dir)

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> None:
        """Install packages for functions, with pip, when a job starts."""
        self._env.set_python_requirements(requirements_file_path, requirements_cache_dir)

    # -- stored plans ----------------------------------------------------------------------------

    def load_plan(self, plan_reference: Any) -> Any:
        """Refuse: plans are not stored."""
        raise not_here("load_plan", PLANS)

    def compile_plan_sql(self, stmt: str) -> Any:
        """Refuse: plans are not stored."""
        raise not_here("compile_plan_sql", PLANS)

    def execute_plan(self, plan_reference: Any) -> Any:
        """Refuse: plans are not stored."""
        raise not_here("execute_plan", PLANS)

    # -- models ----------------------------------------------------------------------------------

    def list_models(self) -> list[str]:
        """An empty list: there are no models."""
        return []

    def list_temporary_models(self) -> list[str]:
        """An empty list: there are no models."""
        return []

    def create_model(
        self, model_path: str, model_descriptor: Any, ignore_if_exists: bool | None = False
    ) -> None:
        """Refuse: there are no models."""
        raise not_here("create_model", MODELS)

    def create_temporary_model(
        self, model_path: str, model_descriptor: Any, ignore_if_exists: bool | None = False
    ) -> None:
        """Refuse: there are no models."""
        raise not_here("create_temporary_model", MODELS)

    def drop_model(self, model_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Refuse: there are no models."""
        raise not_here("drop_model", MODELS)

    def drop_temporary_model(self, model_path: str) -> bool:
        """Refuse: there are no models."""
        raise not_here("drop_temporary_model", MODELS)
