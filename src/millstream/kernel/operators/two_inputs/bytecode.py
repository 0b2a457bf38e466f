"""Facts about the user's code that its instructions show.

They hold for the versions of Python that this was tried on. Of other versions nothing is known, so each
answer is the careful one there: more instances speak, and no record is lost.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Collection, Iterator
from functools import lru_cache
from types import CodeType

KNOWN_VERSIONS = ((3, 11), (3, 12), (3, 13))
_LOCAL_STORES = {
    "STORE_FAST",
    "STORE_FAST_LOAD_FAST",
    "STORE_FAST_MAYBE_NULL",
    "STORE_FAST_STORE_FAST",
    "DELETE_FAST",
    "STORE_NAME",
}
_CONTAINER_STORES = {"STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"}
_RETURNS = {"RETURN_VALUE", "RETURN_CONST"}
_THROWN = "CLEANUP_THROW"
"""Of a ``yield from``, for exceptions that are thrown into a generator from outside: there are none."""
_JUMPS = frozenset([*dis.hasjrel, *dis.hasjabs])
_LOADS = {"LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_DEREF", "LOAD_GLOBAL"}
_TAKEN = {"BUILD_TUPLE", "BUILD_LIST", "BUILD_STRING"}
"""Instructions that make one value out of as many others as their argument says."""
_CHANGED = {"LOAD_ATTR": 1, "FORMAT_SIMPLE": 1, "FORMAT_VALUE": 1, "BINARY_SUBSCR": 2}
"""Instructions that make one value out of others, with the number of values that they take."""


def is_understood() -> bool:
    """Whether instructions mean here what this module takes them for."""
    return sys.version_info[:2] in KNOWN_VERSIONS


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """A code and those of the functions in it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from codes_in(const)


@lru_cache(256)
def stored_names(code: CodeType) -> frozenset[str]:
    """The attributes, globals and variables of outer functions that a code sets or deletes."""
    return frozenset(
        str(one.argval)
        for one in dis.get_instructions(code)
        if one.opname.startswith(("STORE_", "DELETE_"))
        and one.opname not in _LOCAL_STORES | _CONTAINER_STORES
    )


@lru_cache(256)
def changes_containers(code: CodeType) -> bool:
    """Whether a code sets or deletes items, or changes something by an operator such as ``+=``."""
    return not is_understood() or any(
        one.opname in _CONTAINER_STORES or (one.opname == "BINARY_OP" and one.argrepr.endswith("="))
        for one in dis.get_instructions(code)
    )


@lru_cache(256)
def always_comes_to(code: CodeType, since: int, offset: int) -> bool:
    """Whether a generator that was at one instruction always comes to another one, and once.

    What it decided before ``since`` did not depend on the instance. From there on nothing may jump over
    the other instruction, return, lead back, or be caught.
    """
    if not is_understood() or offset <= since:
        return False
    before = ""
    for one in dis.get_instructions(code):
        target = one.argval if one.opcode in _JUMPS and before != _THROWN else None
        before = one.opname
        if one.offset > offset:
            if target is not None and target <= offset:
                return False
        elif one.offset > since:
            if one.opname in _RETURNS:
                return False
            if target is not None and target > offset:
                return False
    return not any(first <= offset and end > since for first, end in _caught(code))


def _caught(code: CodeType) -> Iterator[tuple[int, int]]:
    """Where exceptions may be caught, from one instruction to another."""
    instructions = list(dis.get_instructions(code))
    for entry in dis.Bytecode(code).exception_entries:  # type: ignore[attr-defined]
        if not _raises_again([one for one in instructions if one.offset >= entry.target]):
            yield entry.start, entry.end


def _raises_again(handler: list[dis.Instruction]) -> bool:
    """Whether what handles an exception surely raises it again, or handles none of a function."""
    if handler and handler[0].opname == _THROWN:
        return True
    for one in handler:
        if one.opname == "RERAISE":
            return True
        if one.opname == "POP_EXCEPT" or one.opcode in _JUMPS or one.opname in _RETURNS:
            return False
    return False


@lru_cache(256)
def yields_what_follows_from(code: CodeType, offset: int, names: Collection[str]) -> bool:
    """Whether the value of a ``yield`` is made of some variables and constants alone, without a branch.

    ``names`` is a frozenset; a variable that the code sets does not count.
    """
    if not is_understood():
        return False
    before = [one for one in dis.get_instructions(code) if one.offset <= offset]
    if before and before[-1].opname == "RESUME":  # there a generator of Python 3.13 stands
        before.pop()
    if not before or before[-1].opname != "YIELD_VALUE" or before.pop().is_jump_target:
        return False
    usable = {name for name in names if not _sets(code, name)}
    missing = 1
    while missing and before:
        one = before.pop()
        if one.opname in _TAKEN:
            missing += (one.arg or 0) - 1
        elif one.opname in _CHANGED and _is_plain(one):
            missing += _CHANGED[one.opname] - 1
        elif one.opname == "LOAD_CONST" or (one.opname in _LOADS and one.argval in usable):
            missing -= 1
        elif one.opname not in ("EXTENDED_ARG", "NOP"):
            return False
        if missing and one.is_jump_target:
            return False
    return missing == 0


def _is_plain(one: dis.Instruction) -> bool:
    """Whether an instruction reads an attribute and not a method, or formats without a specification."""
    if one.opname == "FORMAT_VALUE":
        return not (one.arg or 0) & 4
    return one.opname != "LOAD_ATTR" or sys.version_info < (3, 12) or not (one.arg or 0) & 1


def _sets(code: CodeType, name: str) -> bool:
    """Whether a code, or a function in it, sets a variable."""
    stores = (
        one
        for inner in codes_in(code)
        for one in dis.get_instructions(inner)
        if one.opname.startswith(("STORE_", "DELETE_")) and one.opname not in _CONTAINER_STORES
    )
    return any(name == one.argval or name in _as_tuple(one.argval) for one in stores)


def _as_tuple(value: object) -> tuple[object, ...]:
    """The names of an instruction that stands for two."""
    return value if isinstance(value, tuple) else ()
