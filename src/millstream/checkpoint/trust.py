"""Who may have written a folder or a file, and the rights of those that Millstream makes.

State is unpickled, and the command of a job may be run again: who can write them can run code as the
user who reads them. So a folder or file of this machine is trusted only if it belongs to the user of
this process or to root, and nobody else can write to it. What Millstream makes has the rights 0700 (a
folder) and 0600 (a file).

A group that shares jobs on purpose sets the environment variable ``MILLSTREAM_SHARED_GROUP`` to its
name or number. Then members of that group are trusted too, and the rights are 2770 and 0660.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from functools import cache
from urllib.parse import unquote

from millstream.common.errors import CheckpointError, ConfigurationError

__all__ = [
    "distrust",
    "distrust_of",
    "distrust_of_run",
    "give_rights_of",
    "is_local",
    "not_trusted",
    "private",
    "private_folder",
    "require_trusted",
    "require_trusted_run",
]

SHARED_GROUP = "MILLSTREAM_SHARED_GROUP"
"""The environment variable with the name or number of the group that shares jobs."""


def is_local(path: str) -> bool:
    """Whether a path or URI is a folder of this machine, whose owner can be asked for.

    Examples
    --------
    >>> is_local("/data/words"), is_local("file:///data/words"), is_local("s3://bucket/words")
    (True, True, False)
    """
    return "://" not in path or path.startswith("file://")


def _local(path: str) -> str:
    # As `open_path` reads it: only a URI with slashes is decoded.
    if path.startswith("file://"):
        path = unquote(path.removeprefix("file://"))
    return os.path.abspath(path.removeprefix("file:"))


# -- reading ---------------------------------------------------------------------------------------


def distrust(path: str) -> str | None:
    """Why a folder or file is not trusted; None if it is, or is not on this machine.

    Of one that does not exist yet the folders above are looked at: it would not be trusted later if
    somebody could put another one into its place. A store elsewhere has access rights of its own, which
    decide there.
    """
    if not is_local(path):
        return None
    inner = _local(path)
    try:
        link, found = os.lstat(inner), os.stat(inner)
    except OSError:
        return _open_above(inner)
    # A link of somebody else can be turned to another folder at any time.
    return distrust_of(link, inner) or distrust_of(found, inner) or _open_above(inner)


def distrust_of(found: os.stat_result, path: str) -> str | None:
    """Why what `os.stat` says of a path is not trusted; None if it is."""
    group = _shared_group()
    if not _is_trusted_user(found.st_uid):
        return f"{path} {_BELONGS} {_user(found.st_uid)}"
    if stat.S_ISLNK(found.st_mode):
        return None  # The rights of a link mean nothing.
    if found.st_mode & stat.S_IWOTH:
        return f"{path} can be written to by everybody"
    if found.st_mode & stat.S_IWGRP and found.st_gid != group and not _is_own_group(found):
        return f"{path} can be written to by group {_group(found.st_gid)}"
    return None


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
    """What the owner of the machine can do so that a folder is trusted."""
    if _MOVES in why:
        return "use a folder below one that only you or root can write to"
    if _BELONGS in why:
        return "run as that user, or `chown -R` it to the user who runs this"
    return "`chmod -R go-w` if it is yours alone"


def _open_above(path: str) -> str | None:
    """Why somebody could put another folder into the place of this one."""
    folder = os.path.dirname(os.path.realpath(path))
    while True:
        # One that does not exist yet will be made, with the rights of this process.
        with suppress(OSError):
            found = os.stat(folder)
            if found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
                return f"everybody {_MOVES} {folder}"
            if not _is_trusted_user(found.st_uid):
                return f"user {_user(found.st_uid)} {_MOVES} {folder}"
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _is_trusted_user(user: int) -> bool:
    return user in (os.geteuid(), 0) or _is_member(user, _shared_group())


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


def _is_own_group(found: os.stat_result) -> bool:
    """Whether the group has its owner alone as a member, as many systems make one for each user."""
    import grp
    import pwd

    try:
        owner, group = pwd.getpwuid(found.st_uid), grp.getgrgid(found.st_gid)
    except KeyError:
        return False
    alone = set(group.gr_mem) <= {owner.pw_name}
    return owner.pw_gid == group.gr_gid and owner.pw_name == group.gr_name and alone


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
