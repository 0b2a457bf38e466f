"""Which folders are trusted, and the rights of those that are made."""

from __future__ import annotations

import grp
import os
import pwd
from collections.abc import Callable
from pathlib import Path

import pyarrow.fs as pafs
import pytest

from millstream.checkpoint import trust
from millstream.checkpoint.durable import make_file, make_folder
from millstream.checkpoint.trust import distrust, require_trusted
from millstream.common.errors import CheckpointError, ConfigurationError

Foreign = Callable[[Path], None]
LOCAL = pafs.LocalFileSystem()
SOMEBODY = 54_321
UNNAMED = 54_322
"""A group that has no name on this machine."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "job"
    made.mkdir(mode=0o755)
    return made


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o7777


def test_a_folder_of_ones_own_is_trusted(folder: Path) -> None:
    assert distrust(str(folder)) is None
    assert distrust(f"file://{folder}") is None
    require_trusted(str(folder), "the job")


def test_what_does_not_exist_or_is_elsewhere_is_nobodys(folder: Path) -> None:
    assert distrust(str(folder / "new")) is None
    assert distrust("s3://bucket/job") is None


def test_a_folder_of_another_user_is_not_trusted(folder: Path, foreign: Foreign) -> None:
    foreign(folder)
    assert "belongs to user" in str(distrust(str(folder)))
    with pytest.raises(CheckpointError) as caught:
        require_trusted(str(folder), "the savepoint X")
    assert caught.value.code == "NOT_TRUSTED"
    assert "the savepoint X is not used" in str(caught.value)
    assert "--trust" in str(caught.value)


@pytest.mark.parametrize("mode", [0o777, 0o707, 0o1777])
def test_a_folder_that_everybody_can_write_to_is_not_trusted(folder: Path, mode: int) -> None:
    folder.chmod(mode)
    assert distrust(str(folder)) == f"{folder} can be written to by everybody"


def test_a_link_of_another_user_is_not_trusted(folder: Path, foreign: Foreign) -> None:
    link = folder.parent / "link"
    link.symlink_to(folder)
    assert distrust(str(link)) is None
    foreign(link)
    assert "link belongs to user" in str(distrust(str(link)))


def test_a_folder_in_one_where_everybody_moves_things_is_not_trusted(folder: Path) -> None:
    folder.parent.chmod(0o777)
    assert distrust(str(folder)) == f"everybody can move what is in {folder.parent}"
    folder.parent.chmod(0o1777)
    assert distrust(str(folder)) is None, "as in /tmp"


def test_a_new_folder_is_refused_at_its_first_start_or_never(folder: Path) -> None:
    folder.chmod(0o777)
    new = folder / "jobs/words"
    why = distrust(str(new))
    assert why == f"everybody can move what is in {folder}"
    new.mkdir(parents=True, mode=0o700)
    assert distrust(str(new)) == why, "as before it was made"


def test_a_folder_in_one_of_another_user_is_not_trusted(folder: Path, foreign: Foreign) -> None:
    inner = folder / "words"
    inner.mkdir()
    if os.getuid() != 0:
        pytest.skip("only root can give away one folder of two")
    foreign(folder)
    assert distrust(str(inner)) == f"user {SOMEBODY} can move what is in {folder}"
    assert distrust(str(folder / "new")) == f"user {SOMEBODY} can move what is in {folder}"


def test_a_uri_is_read_as_the_file_system_reads_it(tmp_path: Path) -> None:
    folder = tmp_path / "my job"
    folder.mkdir()
    folder.chmod(0o777)
    assert "can be written to by everybody" in str(distrust(folder.as_uri()))
    assert "can be written to by everybody" in str(distrust(f"file:{folder}"))


def test_the_hint_fits_the_cause(folder: Path, foreign: Foreign) -> None:
    def hint() -> str:
        with pytest.raises(CheckpointError) as caught:
            require_trusted(str(folder), "the job")
        return str(caught.value.hint)

    folder.chmod(0o777)
    assert hint().startswith("`chmod -R go-w`")
    folder.chmod(0o755)
    folder.parent.chmod(0o777)
    assert hint().startswith("use a folder below one that only you or root can write to")
    folder.parent.chmod(0o700)
    foreign(folder)
    assert hint().startswith("run as that user, or `chown -R`")


class Group:
    """A group of this machine with other members, as far as the functions of Python say."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.number = os.getgid()
        self.members = ["somebody"]
        name = grp.getgrgid(self.number).gr_name
        group = grp.struct_group((name, "x", self.number, self.members))
        monkeypatch.setattr(grp, "getgrgid", lambda number: group)
        monkeypatch.setattr(grp, "getgrnam", lambda wanted: group)
        monkeypatch.setattr(trust, "_group_number", lambda wanted: self.number)


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> Group:
    return Group(monkeypatch)


def test_a_folder_that_a_group_can_write_to_is_not_trusted(folder: Path, group: Group) -> None:
    folder.chmod(0o775)
    assert f"{folder} can be written to by group" in str(distrust(str(folder)))


def test_a_group_of_one_user_is_that_user(
    folder: Path, group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many systems make a group for each user, and let it write by default."""
    folder.chmod(0o775)
    me = pwd.getpwuid(os.getuid())
    own = grp.struct_group((me.pw_name, "x", me.pw_gid, []))
    os.chown(folder, -1, me.pw_gid)
    monkeypatch.setattr(grp, "getgrgid", lambda number: own)
    assert distrust(str(folder)) is None


def test_a_group_that_shares_jobs_is_trusted(
    folder: Path, group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.chmod(0o2770)
    monkeypatch.setenv("MILLSTREAM_SHARED_GROUP", "team")
    assert distrust(str(folder)) is None
    monkeypatch.setattr(trust, "_group_number", lambda wanted: group.number + 1)
    assert "can be written to by group" in str(distrust(str(folder)))


def test_members_of_a_group_that_shares_jobs_are_trusted(
    folder: Path, group: Group, foreign: Foreign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLSTREAM_SHARED_GROUP", "team")
    foreign(folder)
    monkeypatch.setattr(trust, "_is_member", lambda user, shared: False)
    assert "belongs to user" in str(distrust(str(folder)))
    monkeypatch.setattr(trust, "_is_member", lambda user, shared: shared == group.number)
    assert distrust(str(folder)) is None


def test_a_group_that_does_not_exist_is_an_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLSTREAM_SHARED_GROUP", "there-is-no-such-group")
    with pytest.raises(ConfigurationError, match="there-is-no-such-group"):
        distrust(str(folder))


def test_a_group_may_be_a_number(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container groups have no names."""
    monkeypatch.setenv("MILLSTREAM_SHARED_GROUP", str(UNNAMED))
    assert trust._shared_group() == UNNAMED
    assert distrust(str(folder)) is None


def test_what_is_made_is_for_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        make_folder(LOCAL, str(tmp_path / "a/b"))
        make_file(LOCAL, str(tmp_path / "a/b/file"))
    finally:
        os.umask(before)
    assert [mode_of(tmp_path / name) for name in ("a", "a/b", "a/b/file")] == [0o700, 0o700, 0o600]
    (tmp_path / "a").chmod(0o755)
    make_folder(LOCAL, str(tmp_path / "a/b"))
    assert mode_of(tmp_path / "a") == 0o755, "what is there stays as it is"
    (tmp_path / "a/b/file").chmod(0o644)
    make_file(LOCAL, str(tmp_path / "a/b/file"))
    assert mode_of(tmp_path / "a/b/file") == 0o600


def test_what_is_made_for_a_group_is_for_its_members_alone(
    tmp_path: Path, group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLSTREAM_SHARED_GROUP", "team")
    make_folder(LOCAL, str(tmp_path / "a/b"))
    make_file(LOCAL, str(tmp_path / "a/b/file"))
    assert [mode_of(tmp_path / name) for name in ("a", "a/b", "a/b/file")] == [
        0o2770,
        0o2770,
        0o660,
    ]
    assert (tmp_path / "a/b/file").stat().st_gid == group.number
    assert distrust(str(tmp_path / "a/b")) is None


def test_a_file_is_not_made_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="link"):
        make_file(LOCAL, str(tmp_path / "link"))
    assert not (tmp_path / "elsewhere").exists()
