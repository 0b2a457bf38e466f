"""Files that outlive a power failure: first their content is on the disk, then their name.

A file that is written may lie in memory for half a minute, and so may the entry of its folder. On a
local disk everything here asks the system to write both before it returns. Other file systems (object
stores, HDFS) keep a file when its stream is closed, and need nothing more.
"""

from __future__ import annotations

import errno
import os
import uuid
from contextlib import suppress

import pyarrow.fs as pafs

from millstream.checkpoint.trust import private, private_folder

NO_LINKS = {
    errno.EPERM,
    errno.ENOTSUP,
    errno.EOPNOTSUPP,
    errno.ENOSYS,
    errno.EMLINK,
    errno.EXDEV,
}
"""What a file system answers that has no hard links, or none from one folder to another."""

NO_FOLDER_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EBADF}
"""What a file system answers that cannot sync a folder: some of FUSE and SMB."""


def is_local(fs: pafs.FileSystem) -> bool:
    """Whether a file system is that of this machine, where files and folders can be synced."""
    return isinstance(fs, pafs.LocalFileSystem)


def exists(fs: pafs.FileSystem, path: str) -> bool:
    """Whether there is a file or folder."""
    return bool(fs.get_file_info(path).type != pafs.FileType.NotFound)


def write_at(fs: pafs.FileSystem, path: str, data: bytes, *, sync: bool = True) -> None:
    """Write a file in one step: readers see all of it or nothing.

    ``sync=False`` is for what may be lost with the machine, such as the status of a driver.
    """
    folder, _, name = path.rpartition("/")
    hidden = f"{folder}/{_hidden(name)}"
    try:
        make_file(fs, hidden)
        with fs.open_output_stream(hidden, compression=None) as stream:
            stream.write(data)
        if sync:
            sync_file(fs, hidden)
        fs.move(hidden, path)
    except BaseException:
        # On a full disk they would be more and more.
        with suppress(OSError):
            fs.delete_file(hidden)
        raise
    if sync:
        sync_folder(fs, folder)


def create(fs: pafs.FileSystem, path: str, data: bytes, aside: str) -> bool:
    """Write a file that nobody else has written; whether that worked. Readers see all of it or nothing.

    ``aside`` is where its content is written first. If this folder is gone, `FileNotFoundError` is
    raised and nothing is written: so somebody else can take away the right to create files.

    Other file systems than the local one cannot promise it: of two that write at the same moment both
    may believe that they were the only one.
    """
    if not is_local(fs):
        if not exists(fs, aside):
            raise FileNotFoundError(aside)
        if exists(fs, path):
            return False
        write_at(fs, path, data)
        return True
    folder, _, name = path.rpartition("/")
    hidden = f"{aside}/{_hidden(name)}"
    try:
        with open(hidden, "wb", opener=private) as file:
            file.write(data)
        sync_file(fs, hidden)
        created = _link(hidden, path, data)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(hidden)
    sync_folder(fs, folder)
    return created


def move(fs: pafs.FileSystem, old: str, new: str) -> None:
    """Rename a file or folder."""
    fs.move(old, new)
    sync_folder(fs, new.rpartition("/")[0])


def make_folder(fs: pafs.FileSystem, path: str, *, shared: bool = False, sync: bool = True) -> None:
    """Make a folder and those that it lies in, as far as they are missing.

    They are for the user of this process or its group alone; ``shared``: as the umask says.
    ``sync=False`` is for folders that are synced later, all at once.
    """
    if not is_local(fs):
        # Who may write below a prefix of an object store may not look above it.
        fs.create_dir(path, recursive=True)
        return
    missing = []
    while path and not exists(fs, path):
        missing.append(path)
        path = path.rpartition("/")[0]
    if missing and shared:
        fs.create_dir(missing[0], recursive=True)
    for made in reversed(missing):
        if not shared:
            private_folder(made)
        if sync:
            sync_folder(fs, made.rpartition("/")[0] or "/")


def make_file(fs: pafs.FileSystem, path: str) -> None:
    """Make an empty file for the user of this process or its group alone; its content comes next."""
    if is_local(fs):
        os.close(private(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC))


def sync_file(fs: pafs.FileSystem, path: str) -> None:
    """Make sure that the content of a file is on the disk."""
    if is_local(fs):
        _sync(path, os.O_RDONLY)


def sync_folder(fs: pafs.FileSystem, path: str) -> None:
    """Make sure that the names in a folder are on the disk."""
    if is_local(fs):
        try:
            _sync(path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            if error.errno not in NO_FOLDER_SYNC:
                raise


def sync_folders(fs: pafs.FileSystem, path: str) -> None:
    """Make sure of the names in a folder and in all folders below it."""
    if is_local(fs):
        for folder, _, _ in os.walk(path, topdown=False):
            sync_folder(fs, folder)


def _hidden(name: str) -> str:
    """A name that nobody else uses: processes in containers have the same numbers."""
    return f".{name}.{uuid.uuid4().hex}.tmp"


def _sync(path: str, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _link(hidden: str, path: str, data: bytes) -> bool:
    """Give a whole file its second name, if nobody has it."""
    try:
        os.link(hidden, path)
    except FileExistsError:
        # Over a network the answer to a link that worked may be lost, and the link tried again.
        return os.path.samefile(hidden, path)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        return _write_new(hidden, path, data)
    return True


def _write_new(hidden: str, path: str, data: bytes) -> bool:
    """Make a file where there are no links; a crash may leave a part of it.

    The right to create it is looked for when the file has its name, and before it has its content.
    Somebody who takes the right away after that finds the file. Somebody who took it away before that
    finds nothing, or a file without content.
    """
    os.stat(hidden)
    try:
        descriptor = private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return False
    with open(descriptor, "wb") as file:
        try:
            os.stat(hidden)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        except OSError:
            with suppress(OSError):
                # Another process may have set it aside and made its own file.
                if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                    os.unlink(path)
            raise
    return True
