"""Functions that only read fields of their record are recognised, and no others."""

from __future__ import annotations

from operator import attrgetter, itemgetter
from typing import Any

import pytest

from millstream.common.recognition import field_read_by, fields_read_by


class Selector:
    def get_key(self, record: Any) -> Any:
        return record.a, record["b"]


class Attributes:
    """A class of the program's, whose attributes have a meaning of its own."""

    field = 1
    key_fields = (0, 1)

    def __call__(self, record: Any) -> Any:
        return record[0] * 2


def named(record: Any) -> Any:
    """A docstring is no other work."""
    return record[3], record[1]


READ = [
    (lambda r: r[0], 0),
    (lambda r: r["a"], "a"),
    (lambda r: r.a, "a"),
    (lambda r, _: r[2], 2),
    (lambda r: (r[0], r[2]), (0, 2)),
    (lambda r: (r.a, r["b"]), ("a", "b")),
    (lambda r: (r[1],), (1,)),
    (lambda r: (r.a, r.a, r.b), ("a", "a", "b")),
    (itemgetter(1), 1),
    (itemgetter(1, "b"), (1, "b")),
    (attrgetter("a"), "a"),
    (attrgetter("a", "b"), ("a", "b")),
    (named, (3, 1)),
    (Selector().get_key, ("a", "b")),
]


@pytest.mark.parametrize(("function", "fields"), READ)
def test_fields_that_are_read(function: Any, fields: Any) -> None:
    assert fields_read_by(function) == fields
    assert field_read_by(function) == (None if isinstance(fields, tuple) else fields)


OTHERS = [
    Attributes(),
    lambda r: r,
    lambda r: r[-1],
    lambda r: r[0] + 1,
    lambda r: (r[0], 1),
    lambda r: (r[0], r),
    lambda r: [r[0], r[1]],
    lambda r: (r[0], (r[1], r[2])),
    lambda r: (),
    lambda r: r.a.b,
    lambda r: (r.a, r.b.c),
    lambda r, s: (s[0], s[1]),
    lambda r: (r[0], r[1])[0],
    lambda r: (r[0], len(r)),
    itemgetter(-1),
    itemgetter(slice(1)),
    attrgetter("a.b"),
    str,
]


@pytest.mark.parametrize("function", OTHERS)
def test_what_else_a_function_does_is_not_recognised(function: Any) -> None:
    assert fields_read_by(function) is None
