"""User functions of a session: registered by name, and dropped again."""

from __future__ import annotations

from typing import Any

from millstream.common.errors import PlanError
from millstream.table.catalog.manager import CatalogManager
from millstream.table.sql.parser import parse_identifier
from millstream.table.udf import UserDefinedFunctionWrapper

__all__ = ["FunctionRegistration"]


class FunctionRegistration:
    """The methods of a `TableEnvironment` for user functions."""

    names: CatalogManager

    def create_temporary_system_function(self, name: str, function: Any) -> None:
        """Register a function for the session; it is found from every database.

        Examples
        --------
        >>> from millstream.table.table_environment import TableEnvironment
        >>> from millstream.table.udf import udf
        >>> t_env = TableEnvironment.create()
        >>> double = udf(lambda i: 2 * i, result_type="INT")
        >>> t_env.create_temporary_system_function("double_it", double)
        >>> [tuple(row) for row in t_env.final_rows(t_env.sql_query("SELECT double_it(4)"))]
        [(8,)]
        """
        self._register(name, function, temporary=True, system=True)

    def create_temporary_function(self, path: str, function: Any) -> None:
        """Register a function for the session, in a database."""
        self._register(path, function, temporary=True, system=False)

    def create_function(
        self, path: str, function: Any, ignore_if_exists: bool | None = None
    ) -> None:
        """Register a function in a database of a catalog."""
        self._register(path, function, temporary=False, system=False, ignore=bool(ignore_if_exists))

    def create_java_temporary_system_function(self, name: str, function_class_name: str) -> None:
        """Refuse: functions are written in Python."""
        raise _no_java(function_class_name)

    def create_java_temporary_function(self, path: str, function_class_name: str) -> None:
        """Refuse: functions are written in Python."""
        raise _no_java(function_class_name)

    def create_java_function(
        self, path: str, function_class_name: str, ignore_if_exists: bool | None = None
    ) -> None:
        """Refuse: functions are written in Python."""
        raise _no_java(function_class_name)

    def drop_temporary_system_function(self, name: str) -> bool:
        """Forget a function of the session; False if it was not there."""
        return self._drop(name, temporary=True, system=True)

    def drop_temporary_function(self, path: str) -> bool:
        """Forget a function of the session and a database; False if it was not there."""
        return self._drop(path, temporary=True, system=False)

    def drop_function(self, path: str) -> bool:
        """Forget a function of a database; False if it was not there."""
        return self._drop(path, temporary=False, system=False)

    def list_user_defined_functions(self) -> list[str]:
        """Return the names of the user functions in sight."""
        return self.names.function_names()

    def _register(
        self, path: str, function: Any, *, temporary: bool, system: bool, ignore: bool = False
    ) -> None:
        if not isinstance(function, UserDefinedFunctionWrapper):
            raise PlanError(
                "NOT_A_USER_FUNCTION",
                f"{path} is given a {type(function).__name__}, which is no user function",
                hint="make one with udf(...), udtf(...), udaf(...) or udtaf(...)",
            )
        names = parse_identifier(path).names
        entry = function.registered(names[-1], temporary=temporary, system=system)
        self.names.add_function(self.names.path(names), entry, if_not_exists=ignore)

    def _drop(self, path: str, *, temporary: bool, system: bool) -> bool:
        place = self.names.path(parse_identifier(path).names)
        return self.names.drop_function(place, temporary=temporary, system=system)


def _no_java(name: str) -> PlanError:
    return PlanError(
        "FUNCTION_LANGUAGE",
        f"{name} is a class of Java, and functions are written in Python",
        hint="write it with udf(...) and create_temporary_function(...)",
    )
