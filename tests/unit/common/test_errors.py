"""Errors: their text, where they point, and that they survive a process border."""

from __future__ import annotations

import json
import pickle
import threading
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

import millstream.common.errors as errors
from millstream.common.errors import (
    CheckpointError,
    ConfigurationError,
    EnvironmentSetupError,
    Location,
    MillstreamError,
    PlanError,
    TypeMismatchError,
    UserCodeError,
    is_users_file,
    short_repr,
    user_code_error,
    user_location,
)

PACKAGE = Path(errors.__file__).parent.parent
ALL = [
    MillstreamError,
    PlanError,
    ConfigurationError,
    TypeMismatchError,
    UserCodeError,
    CheckpointError,
    EnvironmentSetupError,
]


def call_as(file: str, function: Any, name: str = "elsewhere") -> Any:
    """Call a function from a frame that seems to be in another file."""
    code: CodeType = compile("result = function()", file, "exec")
    scope = {"function": function, "__name__": name}
    exec(code, scope)
    return scope["result"]


def full(cls: type[MillstreamError]) -> MillstreamError:
    extra: dict[str, Any] = {}
    if cls is UserCodeError:
        extra = {"operator": "Map", "uid": "m", "record": "1", "user_traceback": "E: x\n  at a:1"}
    return cls(
        "A_CODE",
        "it broke",
        parameters={"key": "k", "count": 3, "list": [1, None]},
        location=Location("app.py", 12, "main", "env.execute()"),
        hint="mend it",
        **extra,
    )


def test_text_has_code_message_place_and_hint() -> None:
    assert str(full(PlanError)) == (
        "[A_CODE] it broke\n  at app.py:12: env.execute()\n  what to do: mend it"
    )


def test_text_leaves_out_what_is_missing() -> None:
    assert str(PlanError("A", "b")) == "[A] b"
    assert str(PlanError("A", "b", location=Location("x.py", 1, "f"))) == "[A] b\n  at x.py:1"


@pytest.mark.parametrize("cls", ALL)
def test_pickle_and_json_round_trips(cls: type[MillstreamError]) -> None:
    error = full(cls)
    for copy in (
        pickle.loads(pickle.dumps(error)),
        MillstreamError.from_dict(json.loads(json.dumps(error.to_dict()))),
    ):
        assert type(copy) is cls
        assert copy.to_dict() == error.to_dict()
        assert str(copy) == str(error)
        assert copy.location == error.location


def test_parameters_that_are_not_json_become_text() -> None:
    error = PlanError("A", "b", parameters={"f": print, "t": (1, object)})
    copy = pickle.loads(pickle.dumps(error))
    assert copy.parameters == {"f": repr(print), "t": [1, repr(object)]}


def test_error_of_a_class_not_loaded_is_still_readable() -> None:
    data = PlanError("A", "b").to_dict() | {"class": "FromANewerVersion"}
    assert str(MillstreamError.from_dict(data)) == "[A] b"


def test_subclass_defined_elsewhere_survives_pickling() -> None:
    copy = pickle.loads(pickle.dumps(ElsewhereError("A", "b", hint="c")))
    assert isinstance(copy, ElsewhereError) and copy.hint == "c"


class ElsewhereError(MillstreamError):
    pass


def test_user_location_is_the_caller_outside_the_package() -> None:
    here = user_location()
    assert here is not None
    assert here.file == __file__
    assert here.function == "test_user_location_is_the_caller_outside_the_package"
    assert here.code == "here = user_location()"


def test_user_location_skips_millstream_frames() -> None:
    inside = str(PACKAGE / "datastream" / "stream.py")
    found = call_as(inside, user_location)
    assert found.function == "call_as" and found.file == __file__


def test_user_location_skips_generated_methods_of_millstream() -> None:
    assert call_as("<string>", user_location, "millstream.plan").function == "call_as"
    assert call_as("<string>", user_location, "__main__").file == "<string>"


def test_directory_with_a_similar_name_is_user_code() -> None:
    similar = str(PACKAGE) + "_app/app.py"
    found = call_as(similar, user_location)
    assert found == Location(similar, 1, "<module>", None)


def raise_inner(record: Any) -> Any:
    return 1 // record


def caught(function: Any) -> BaseException:
    try:
        function()
    except Exception as exc:
        return exc
    raise AssertionError("nothing was raised")


def test_user_code_error_names_operator_record_and_cause() -> None:
    error = user_code_error(caught(lambda: raise_inner(0)), "Map", "my-map", 0)
    assert error.message.startswith("operator 'Map' failed: ZeroDivisionError: ")
    assert (error.operator, error.uid, error.record) == ("Map", "my-map", "0")
    assert error.location is not None and error.location.function == "raise_inner"
    assert "  operator: Map (uid my-map)\n  record: 0\n" in str(error)
    assert error.user_traceback in str(error).replace("\n  ", "\n")


def test_user_traceback_starts_with_the_innermost_frame() -> None:
    error = user_code_error(caught(lambda: raise_inner(0)), "Map")
    lines = error.user_traceback.splitlines()
    assert lines[0].startswith("ZeroDivisionError")
    assert " in raise_inner: return 1 // record" in lines[1]
    assert error.record is None


@pytest.mark.parametrize(
    "file",
    [
        str(PACKAGE / "kernel" / "loop.py"),
        "/site-packages/pyspark/worker.py",
        "/x/py4j/java_gateway.py",
        "<frozen runpy>",
    ],
)
def test_user_traceback_leaves_out_engine_frames(file: str) -> None:
    exc = caught(lambda: call_as(file, lambda: raise_inner(0)))
    error = user_code_error(exc, "Map")
    assert file not in error.user_traceback
    assert "raise_inner" in error.user_traceback and "call_as" in error.user_traceback


def test_user_traceback_shows_the_cause() -> None:
    def wrap() -> None:
        try:
            raise_inner(0)
        except ZeroDivisionError as exc:
            raise ValueError("bad record") from exc

    text = user_code_error(caught(wrap), "Map").user_traceback
    assert text.startswith("ValueError: bad record\n")
    assert "\ncaused by ZeroDivisionError" in text


def test_user_traceback_hides_a_suppressed_context() -> None:
    def wrap() -> None:
        try:
            raise_inner(0)
        except ZeroDivisionError:
            raise ValueError("bad record") from None

    assert "caused by" not in user_code_error(caught(wrap), "Map").user_traceback


def test_given_location_wins() -> None:
    place = Location("app.py", 3, "main", "ds.map(f)")
    assert user_code_error(ValueError("x"), "Map", location=place).location == place
    assert user_code_error(ValueError("x"), "Map").location is None


def test_user_code_error_is_not_wrapped_twice() -> None:
    inner = user_code_error(ValueError("x"), "Filter", "f", 1)
    assert user_code_error(inner, "Map", "m", 2) is inner


class Rude:
    def __repr__(self) -> str:
        raise RuntimeError("no")


def test_record_repr_is_short_and_never_fails() -> None:
    assert len(user_code_error(ValueError(), "Map", None, "x" * 999).record or "") == 200
    assert short_repr(Rude()) == "<Rude: its repr raised RuntimeError>"
    assert short_repr("ab") == "'ab'"


def test_passwords_of_uris_are_not_shown() -> None:
    error = MillstreamError(
        "X", "no s3://key:hunter2@bucket/x", hint="look at pg://me:hunter2@host"
    )
    assert "hunter2" not in str(error)
    assert "s3://key:*****@bucket/x" in str(error)


def test_a_password_in_the_users_line_is_not_shown() -> None:
    location = {"password": "s3cret99", "location": user_location()}["location"]
    assert isinstance(location, Location)
    assert "s3cret99" not in str(location)


def test_the_standard_library_is_not_the_users() -> None:
    assert not is_users_file(threading.__file__)
    assert is_users_file(str(Path(threading.__file__).parent / "site-packages" / "mine.py"))
