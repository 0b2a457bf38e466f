"""Checks of who may have written a folder or a file, and the access rights of new ones.

State is unpickled, and the command of a job may be run again: who can write them can run code as the
user who reads them. So a folder or file of this machine is trusted only if it belongs to the user of
this process or to root, and nobody else can write to it. The same holds for every folder above it,
where the sticky bit (as of ``/tmp``) is enough, and for the links on the way. A group may write if it is
shown to be the private group of the owner or of the user of this process. What Millstream makes has the
rights 0700 (a folder) and 0600 (a file).

A group that shares jobs on purpose sets the environment variable ``MILLSTREAM_SHARED_GROUP`` to its
name or number. Then members of that group are trusted too, and the rights are 2770 and 0660.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

from millstream.common.errors import CheckpointError, ConfigurationError
from millstream.common.paths import local_path

__all__ = [
    "distrust",
    "distrust_of",
    "distrust_of_run",
    "give_rights_of",
    "not_trusted",
    "private",
    "private_folder",
    "require_trusted",
    "require_trusted_run",
]

SHARED_GROUP = "MILLSTREAM_SHARED_GROUP"
"""The environment variable with the name or number of the group that shares jobs."""


# -- reading ---------------------------------------------------------------------------------------


def distrust(path: str) -> str | None:
    """Why a folder or file is not trusted; None if it is, or is not on this machine.

    Of one that does not exist yet the folders above are looked at: it would not be trusted later if
    somebody could put another one into its place. A store elsewhere has access rights of its own, which
    decide there.
    """
    inner = local_path(path)
    if inner is None:
        return None
    try:
        link, found = os.lstat(inner), os.stat(inner)
    except OSError:
        return _open_above(inner)
    # A link of somebody else can be turned to another folder at any time.
    return distrust_of(link, inner) or distrust_of(found, inner) or _open_above(inner)


def distrust_of(found: os.stat_result, path: str) -> str | None:
    """Why what `os.stat` says of a path is not trusted; None if it is."""
    if not _is_trusted_user(found.st_uid):
        return f"{path} {_BELONGS} {_user(found.st_uid)}"
    if stat.S_ISLNK(found.st_mode):
        return None  # The rights of a link mean nothing.
    who = _other_writers(found, path)
    return None if who is None else f"{path} can be written to by {who}"


def require_trusted(path: str, what: str, *, hint: str = "") -> None:
    """Refuse a folder that somebody else may have written to.

    Raises
    ------
    CheckpointError
        ``NOT_TRUSTED``.
    """
    why = distrust(path)
    if why is not None:
        raise not_trusted(what, why, hint)


def distrust_of_run(path: str) -> str | None:
    """Why the folder of a run is not trusted; None if it is. Its manifest says how its state is read."""
    return distrust(path) or distrust(f"{path}/job.json")


def require_trusted_run(path: str) -> None:
    """Refuse the folder of a run that somebody else may have written, be its directory trusted or not.

    Raises
    ------
    CheckpointError
        ``NOT_TRUSTED``.
    """
    why = distrust_of_run(path)
    if why is not None:
        raise not_trusted(f"the run {path}", why)


def not_trusted(what: str, why: str, hint: str = "") -> CheckpointError:
    """Somebody else may have written what is to be read or run."""
    return CheckpointError(
        "NOT_TRUSTED",
        f"{what} is not used: {why}, and could let this process run any code",
        hint=hint
        or f"{_remedy(why)}; --trust (the key millstream.trust) if you trust everybody who can write "
        f"there; to share jobs with a group, set {SHARED_GROUP} to its name or number",
    )


_BELONGS = "belongs to user"
_MOVES = "can move what is in"


def _remedy(why: str) -> str:
    """Advice how to make a folder trusted."""
    if _MOVES in why:
        return "use a folder below one that only you or root can write to, or `chmod go-w` that one"
    if _BELONGS in why:
        return "run as that user, or `chown -R` it to the user who runs this"
    return "`chmod -R go-w` if it is yours alone"


def _open_above(path: str) -> str | None:
    """Why somebody could put another folder into the place of this one."""
    for place in _way(path):
        # One that does not exist yet will be made, with the rights of this process.
        with suppress(OSError):
            found = os.lstat(place)
            if not _is_trusted_user(found.st_uid):
                return f"user {_user(found.st_uid)} {_MOVES} {place}"
            # In a folder with the sticky bit only the owner of a thing can move it.
            if stat.S_ISLNK(found.st_mode) or found.st_mode & stat.S_ISVTX:
                continue
            who = _other_writers(found, place)
            if who is not None:
                return f"{who} {_MOVES} {place}"
    return None


def _way(path: str) -> Iterator[str]:
    """The folders and links that the system passes before it comes to the last name of a path."""
    place, parts, links = "/", path.split("/")[::-1], 0
    while parts:
        part = parts.pop()
        if part in ("", "."):
            continue
        if part == "..":
            place = os.path.dirname(place)
            continue
        yield place
        inner = os.path.join(place, part)
        if not os.path.islink(inner):
            place = inner
            continue
        links += 1
        if links > _MOST_LINKS:
            return  # The system does not follow so many either.
        target = os.readlink(inner)
        yield inner
        if target.startswith("/"):
            place = "/"
        parts += target.split("/")[::-1]


_MOST_LINKS = 40


def _other_writers(found: os.stat_result, path: str) -> str | None:
    """The users who can write to a folder or file, besides its owner and trusted users."""
    if found.st_mode & stat.S_IWOTH:
        return "everybody"
    if not found.st_mode & stat.S_IWGRP or found.st_gid == _shared_group():
        return None
    # The rights of the group are then the most that the list gives to anybody it names.
    if _has_access_list(path):
        return "the users and groups of its access list (`getfacl`)"
    if any(_is_private_group(found.st_gid, user) for user in (found.st_uid, os.geteuid())):
        return None
    return f"group {_group(found.st_gid)}"


def _is_trusted_user(user: int) -> bool:
    shared = _shared_group()
    return user in (os.geteuid(), 0) or _is_member(user, shared)


# -- making ----------------------------------------------------------------------------------------


def private_folder(path: str) -> None:
    """Make a folder for the user of this process or its group alone; it may be there already."""
    group = _shared_group()
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
        return
    if group is not None:
        os.chown(path, -1, group)
        os.chmod(path, 0o2770)


def private(path: str, flags: int) -> int:
    """Open a file that only the user of this process or its group may read, as the opener of `open`."""
    group = _shared_group()
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        # The file of an earlier process may have had other rights.
        _set_rights(descriptor, 0o600 if group is None else 0o660)
        if group is not None:
            os.fchown(descriptor, -1, group)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def give_rights_of(folder: str, other: str) -> None:
    """Let all who may write to a folder write to another one, as far as this process may allow it."""
    wanted = os.stat(folder)
    mode = stat.S_IMODE(wanted.st_mode)
    with suppress(PermissionError):
        os.chown(other, -1, wanted.st_gid)
    if os.stat(other).st_gid != wanted.st_gid:
        mode &= ~stat.S_IWGRP
    with suppress(PermissionError):
        os.chmod(other, mode)


def _set_rights(descriptor: int, mode: int) -> None:
    try:
        os.fchmod(descriptor, mode)
    except PermissionError:
        # A file system such as FAT has no rights, and refuses even the owner.
        if os.fstat(descriptor).st_uid != os.geteuid():
            raise


# -- users and groups ------------------------------------------------------------------------------


def _shared_group() -> int | None:
    """The group that shares jobs, None if there is none."""
    name = os.environ.get(SHARED_GROUP)
    return _group_number(name) if name else None


@cache
def _group_number(name: str) -> int:
    import grp

    try:
        return grp.getgrnam(name).gr_gid
    except KeyError as error:
        # In a container a group often has no name.
        if name.isascii() and name.isdigit():
            return int(name)
        raise ConfigurationError(
            "INVALID_OPTION_VALUE",
            f"{SHARED_GROUP} is {name!r}, and there is no such group on this machine",
            hint="give the name or the number of a group, or unset it",
        ) from error


def _is_member(user: int, group: int | None) -> bool:
    if group is None:
        return False
    import pwd

    try:
        entry = pwd.getpwuid(user)
    except KeyError:
        return False
    return group in os.getgrouplist(entry.pw_name, entry.pw_gid)


def _is_private_group(group: int, user: int) -> bool:
    """Whether a group has one user alone as a member, as many systems make one for each user.

    It has to be shown: the group has the user's name and is the user's first group, it lists no other
    member, and it is the first group of no other user.
    """
    import grp
    import pwd

    try:
        own, found = pwd.getpwuid(user), grp.getgrgid(group)
    except KeyError:
        return False
    if own.pw_gid != group or own.pw_name != found.gr_name or set(found.gr_mem) - {own.pw_name}:
        return False
    return all(other.pw_uid == user for other in pwd.getpwall() if other.pw_gid == group)


def _has_access_list(path: str) -> bool:
    """Whether a file has rights beside its mode (only Linux tells)."""
    try:
        return bool(os.getxattr(path, "system.posix_acl_access"))
    except (OSError, AttributeError):
        return False


def _user(number: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _group(number: int) -> str:
    import grp

    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
