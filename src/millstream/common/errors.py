"""The errors Millstream raises: a stable code, the user's own line, and what to do about it."""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from types import CodeType, FrameType, TracebackType
from typing import Any, ClassVar

from millstream.common.secrets import masked_code, masked_uris

__all__ = [
    "CheckpointError",
    "ConfigurationError",
    "EnvironmentSetupError",
    "FormatError",
    "Location",
    "MillstreamError",
    "PlanError",
    "TypeMismatchError",
    "UserCodeError",
    "short_repr",
    "stopped_by_user",
    "user_code_error",
    "user_location",
]

_PACKAGE_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_STANDARD_LIBRARY = sysconfig.get_path("stdlib") + os.sep
_ENGINE_DIRS = ("pyspark", "py4j")
_REPR_LIMIT = 200
_NO_RECORD = object()


@dataclass(frozen=True)
class Location:
    """A line of the user's program.

    Parameters
    ----------
    file : str
        The file as Python names it (may be ``<stdin>``).
    line : int
        The line number, from 1.
    function : str
        The function the line is in.
    code : str or None
        The source line without indentation, None if the source cannot be read.

    Examples
    --------
    >>> str(Location("app.py", 12, "main", "env.execute()"))
    'app.py:12: env.execute()'
    """

    file: str
    line: int
    function: str
    code: str | None = None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}"
        return f"{place}: {self.code}" if self.code else place


def _location(code: CodeType, line: int, module_globals: dict[str, Any]) -> Location:
    text = masked_code(linecache.getline(code.co_filename, line, module_globals).strip())
    return Location(code.co_filename, line, code.co_name, text or None)


def _in_package(file: str, module: object) -> bool:
    if file.startswith("<"):
        # The methods that `dataclass` generates have no file, only the globals of their class.
        return file == "<string>" and f"{module}.".startswith("millstream.")
    return os.path.abspath(file).startswith(_PACKAGE_DIR)


def user_location() -> Location | None:
    """The nearest calling line that is not Millstream's own.

    Returns
    -------
    Location or None
        None if every frame on the stack belongs to Millstream.

    Examples
    --------
    >>> user_location().function
    '<module>'
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__")
        # Millstream's own calls may go through them.
        if name not in ("functools", "threading") and not _in_package(
            frame.f_code.co_filename, name
        ):
            return _location(frame.f_code, frame.f_lineno, frame.f_globals)
        frame = frame.f_back
    return None


def _json_safe(value: object) -> object:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, (list, tuple)):
        return [_json_safe(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _json_safe(item) for key, item in value.items()}
    return short_repr(value)


class MillstreamError(Exception):
    """The base of all errors that Millstream raises.

    Parameters
    ----------
    code : str
        A stable name for the kind of error, such as ``NULL_KEY``.
    message : str
        What is wrong, in one sentence.
    parameters : dict, optional
        The values that the message mentions. Values that are not plain JSON turn into their repr when
        the error crosses a process border.
    location : Location, optional
        The user's line it is about.
    hint : str, optional
        What the user can do.

    Examples
    --------
    >>> print(MillstreamError("NULL_KEY", "the key is None", hint="filter such records out"))
    [NULL_KEY] the key is None
      what to do: filter such records out
    """

    _extra_fields: ClassVar[tuple[str, ...]] = ()
    _classes: ClassVar[dict[str, type[MillstreamError]]] = {}

    def __init__(
        self,
        code: str,
        message: str,
        *,
        parameters: Mapping[str, object] | None = None,
        location: Location | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.parameters: dict[str, object] = dict(parameters or {})
        self.location = location
        self.hint = hint

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        MillstreamError._classes[cls.__name__] = cls

    def _details(self) -> list[str]:
        """Lines a subclass adds between the location and the hint."""
        return []

    def __str__(self) -> str:
        lines = [f"[{self.code}] {self.message}"]
        if self.location is not None:
            lines.append(f"  at {self.location}")
        lines.extend(f"  {line}" for line in self._details())
        if self.hint:
            lines.append(f"  what to do: {self.hint}")
        return masked_uris("\n".join(lines))

    def to_dict(self) -> dict[str, object]:
        """Everything about the error as plain JSON values.

        Examples
        --------
        >>> MillstreamError("X", "broken").to_dict()["code"]
        'X'
        """
        data: dict[str, object] = {
            "class": type(self).__name__,
            "code": self.code,
            "message": self.message,
            "parameters": _json_safe(self.parameters),
            "location": None if self.location is None else asdict(self.location),
            "hint": self.hint,
        }
        return data | {name: getattr(self, name) for name in self._extra_fields}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> MillstreamError:
        """The error that `to_dict` described, of the same class if that class is loaded.

        Examples
        --------
        >>> MillstreamError.from_dict(PlanError("X", "broken").to_dict())
        PlanError('X', 'broken')
        """
        cls = MillstreamError._classes.get(data["class"], MillstreamError)
        return _rebuild(cls, data)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.to_dict())


def _rebuild(cls: type[MillstreamError], data: Mapping[str, Any]) -> MillstreamError:
    location = data["location"]
    return cls(
        data["code"],
        data["message"],
        parameters=data["parameters"],
        location=None if location is None else Location(**location),
        hint=data["hint"],
        **{name: data[name] for name in cls._extra_fields},
    )


class PlanError(MillstreamError):
    """The program is wrong: found before anything starts to run.

    Examples
    --------
    >>> print(PlanError("NO_SINK", "the stream ends nowhere"))
    [NO_SINK] the stream ends nowhere
    """


class ConfigurationError(MillstreamError):
    """An option is unknown or has a value that makes no sense.

    Examples
    --------
    >>> print(ConfigurationError("BAD_OPTION", "parallelism must be at least 1, got 0"))
    [BAD_OPTION] parallelism must be at least 1, got 0
    """


class TypeMismatchError(MillstreamError):
    """A value does not fit the type declared for it.

    Examples
    --------
    >>> print(TypeMismatchError("TYPE_MISMATCH", "'a' is not a LONG"))
    [TYPE_MISMATCH] 'a' is not a LONG
    """


class CheckpointError(MillstreamError):
    """A checkpoint cannot be written, read, or used with this program.

    Examples
    --------
    >>> print(CheckpointError("CHECKPOINT_CORRUPT", "manifest 7 is cut short"))
    [CHECKPOINT_CORRUPT] manifest 7 is cut short
    """


class EnvironmentSetupError(MillstreamError):
    """Something Millstream needs around it is missing, such as Java.

    Examples
    --------
    >>> print(EnvironmentSetupError("NO_JAVA", "no Java found", hint="install a JDK, version 17"))
    [NO_JAVA] no Java found
      what to do: install a JDK, version 17
    """


class FormatError(ValueError):
    """A message cannot be decoded, or a record cannot be encoded: the data are wrong, not the program.

    It is not a `MillstreamError`, but an exception like those of functions. So an operator whose
    policy is ``on_error("skip", tag)`` makes a dead letter of the record.

    Parameters
    ----------
    code : str
        A stable name for the kind of error, such as ``BAD_JSON``.
    message : str
        What is wrong, with the beginning of the data.
    hint : str, optional
        What the user can do.

    Examples
    --------
    >>> print(FormatError("BAD_JSON", "b'{' is no JSON object"))
    [BAD_JSON] b'{' is no JSON object
    """

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(code, message, hint)
        self.code = code
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        hint = f"; {self.hint}" if self.hint else ""
        return f"[{self.code}] {self.message}{hint}"


class UserCodeError(MillstreamError):
    """An exception left a function that the user wrote.

    Parameters
    ----------
    code, message, parameters, location, hint
        As in `MillstreamError`.
    operator : str
        The name of the operator that called the function.
    uid : str or None
        The operator's uid.
    record : str or None
        The repr of the record it was called with, at most 200 characters.
    user_traceback : str
        The exception and the user's frames, innermost first.

    Examples
    --------
    >>> error = UserCodeError("USER_CODE", "it failed", operator="Map", uid="m", record="'x'")
    >>> print(error)
    [USER_CODE] it failed
      operator: Map (uid m)
      record: 'x'
    """

    _extra_fields = ("operator", "uid", "record", "user_traceback")

    def __init__(
        self,
        code: str,
        message: str,
        *,
        parameters: Mapping[str, object] | None = None,
        location: Location | None = None,
        hint: str | None = None,
        operator: str = "",
        uid: str | None = None,
        record: str | None = None,
        user_traceback: str = "",
    ) -> None:
        super().__init__(code, message, parameters=parameters, location=location, hint=hint)
        self.operator = operator
        self.uid = uid
        self.record = record
        self.user_traceback = user_traceback

    def _details(self) -> list[str]:
        uid = "" if self.uid is None else f" (uid {self.uid})"
        lines = [f"operator: {self.operator}{uid}"]
        if self.record is not None:
            lines.append(f"record: {self.record}")
        return lines + self.user_traceback.splitlines()


def short_repr(value: object, limit: int = _REPR_LIMIT) -> str:
    """The repr of a value, cut to a length, that never fails.

    Examples
    --------
    >>> short_repr("abcdefghij", limit=8)
    "'abcd..."
    """
    try:
        text = repr(value)
    except Exception as exc:
        text = f"<{type(value).__name__}: its repr raised {type(exc).__name__}>"
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _explains_itself(exc: BaseException) -> bool:
    """Whether the data or the SQL are wrong: then no class and no line of Python says more."""
    return bool(getattr(exc, "explains_itself", False))


def _exception_line(exc: BaseException) -> str:
    if _explains_itself(exc):
        return str(exc)
    return "".join(traceback.format_exception_only(exc)).strip()


def _is_user_frame(code: CodeType, module_globals: Mapping[str, Any]) -> bool:
    return is_users_file(code.co_filename, module_globals.get("__name__"))


def _in_standard_library(file: str) -> bool:
    return file.startswith(_STANDARD_LIBRARY) and "-packages" not in file


def is_users_file(file: str, module: object = None) -> bool:
    """Whether code of a file is neither Millstream's nor the engine's.

    Examples
    --------
    >>> is_users_file("app.py"), is_users_file("/lib/pyspark/worker.py"), is_users_file(__file__)
    (True, False, False)
    """
    if file.startswith("<frozen") or _in_package(file, module) or _in_standard_library(file):
        return False
    return not any(part in _ENGINE_DIRS for part in os.path.normpath(file).split(os.sep))


def location_in(file: str, line: int, function: str) -> Location:
    """A line of a file, with its text if that can be read.

    Examples
    --------
    >>> location_in("nowhere.py", 3, "main")
    Location(file='nowhere.py', line=3, function='main', code=None)
    """
    return Location(
        file, line, function, masked_code(linecache.getline(file, line).strip()) or None
    )


def _user_frames(trace: TracebackType | None) -> Iterator[Location]:
    for frame, line in traceback.walk_tb(trace):
        if _is_user_frame(frame.f_code, frame.f_globals):
            yield _location(frame.f_code, line, frame.f_globals)


def _cause(exc: BaseException) -> BaseException | None:
    if exc.__cause__ is not None or exc.__suppress_context__:
        return exc.__cause__
    return exc.__context__


def _user_traceback(exc: BaseException) -> str:
    lines: list[str] = []
    seen: set[int] = set()
    current: BaseException | None = exc
    while current is not None and id(current) not in seen and not _explains_itself(current):
        seen.add(id(current))
        lines.append(("caused by " if lines else "") + _exception_line(current))
        frames = reversed(list(_user_frames(current.__traceback__)))
        lines.extend(
            f"  at {place.file}:{place.line} in {place.function}: {place.code or '?'}"
            for place in frames
        )
        current = _cause(current)
    return "\n".join(lines)


def user_code_error(
    exc: BaseException,
    operator: str,
    uid: str | None = None,
    record: object = _NO_RECORD,
    location: Location | None = None,
    subject: str | None = None,
    hint: str | None = None,
) -> UserCodeError:
    """Describe an exception that left a user function.

    An error of this kind that passes through a second operator is returned as it is, so that the
    operator next to the cause is the one reported.

    Parameters
    ----------
    exc : BaseException
        What the user function raised.
    operator : str
        The name of the operator that called it.
    uid : str, optional
        The operator's uid.
    record : object
        The record the function was called with, if any; its repr goes into the error.
    location : Location, optional
        Where the program defines the operator; without it, the innermost user frame.
    subject : str, optional
        What failed, if that is more exact than the operator: a method of a connector.
    hint : str, optional
        What the user can do, if it is no matter of the record.

    Returns
    -------
    UserCodeError
        To be raised ``from exc``.

    Examples
    --------
    >>> try:
    ...     int("x")
    ... except ValueError as exc:
    ...     error = user_code_error(exc, "Map", "parse", "x")
    >>> error.message
    "operator 'Map' failed: ValueError: invalid literal for int() with base 10: 'x'"
    >>> error.record
    "'x'"
    """
    if isinstance(exc, UserCodeError):
        return exc
    frames = list(_user_frames(exc.__traceback__))
    summary = _exception_line(exc).splitlines()[0]
    return UserCodeError(
        "USER_CODE",
        f"{subject or f'operator {operator!r}'} failed: {summary}",
        parameters={"exception": type(exc).__name__},
        location=location or (frames[-1] if frames else None),
        hint=getattr(exc, "what_to_do", None)
        or hint
        or "handle such records in the function, or filter them out before it",
        operator=operator,
        uid=uid,
        record=None if record is _NO_RECORD else short_repr(record),
        user_traceback=_user_traceback(exc),
    )


def stopped_by_user(what: str, frames: Iterable[tuple[FrameType, int]]) -> UserCodeError | None:
    """Describe an attempt of a user function to end the process that runs it.

    Parameters
    ----------
    what : str
        How it tried, such as ``SystemExit: 3``.
    frames : iterable of (frame, line)
        The calls that led there, the innermost last.

    Returns
    -------
    UserCodeError or None
        None if no line of the user's is among the calls.

    Examples
    --------
    >>> def leave():
    ...     return stopped_by_user("os._exit(1)", [(sys._getframe(), 2)])
    >>> leave().message
    'a function tried to end its worker process: os._exit(1)'
    """
    calls = list(frames)
    mine = [i for i, (f, _) in enumerate(calls) if _is_user_frame(f.f_code, f.f_globals)]
    if not mine:
        return None
    places = [_location(calls[i][0].f_code, calls[i][1], calls[i][0].f_globals) for i in mine]
    # The operator that called the function is Millstream's last frame before the function's first line.
    owners = (getattr(f.f_locals.get("self"), "info", None) for f, _ in reversed(calls[: mine[-1]]))
    info = next((owner for owner in owners if hasattr(owner, "uid")), None)
    lines = [f"  at {p.file}:{p.line} in {p.function}: {p.code or '?'}" for p in reversed(places)]
    name = getattr(info, "name", "")
    where = f" of operator {name!r}" if name else ""
    return UserCodeError(
        "USER_CODE",
        f"a function{where} tried to end its worker process: {what}",
        parameters={"exception": what.split(":")[0]},
        location=getattr(info, "location", None) or places[-1],
        hint="raise an exception of your own instead, or filter such records out before the function",
        operator=name,
        uid=getattr(info, "uid", None),
        user_traceback="\n".join([what, *lines]),
    )
