"""Which folders are trusted, and the rights of those that are made."""

from __future__ import annotations

import grp
import os
import pwd
import struct
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
        self.name = grp.getgrgid(self.number).gr_name
        group = grp.struct_group((self.name, "x", self.number, self.members))
        monkeypatch.setattr(grp, "getgrgid", lambda number: group)
        monkeypatch.setattr(grp, "getgrnam", lambda wanted: group)
        monkeypatch.setattr(trust, "_group_number", lambda wanted: self.number)

    def of_its_own(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the group be that of the user of this process alone."""
        me = pwd.getpwuid(os.getuid())
        own = grp.struct_group((me.pw_name, "x", me.pw_gid, []))
        monkeypatch.setattr(grp, "getgrgid", lambda number: own)
        monkeypatch.setattr(pwd, "getpwall", lambda: [me])


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
    group.of_its_own(monkeypatch)
    assert distrust(str(folder)) is None


def test_a_folder_in_one_where_a_group_moves_things_is_not_trusted(
    folder: Path, group: Group
) -> None:
    """Who can write to a folder above can put another folder into the place of the job's."""
    folder.parent.chmod(0o775)
    why = distrust(str(folder))
    assert why == f"group {group.name} can move what is in {folder.parent}"
    assert distrust(str(folder / "jobs/new")) == why, "before it is made, too"
    folder.parent.chmod(0o1775)
    assert distrust(str(folder)) is None, "there only the owner of a thing can move it"


def test_a_folder_above_may_be_writable_for_a_group_that_is_trusted(
    folder: Path, group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.parent.chmod(0o775)
    monkeypatch.setenv("MILLSTREAM_SHARED_GROUP", "team")
    assert distrust(str(folder)) is None, "its members may write to the folder itself, too"
    monkeypatch.delenv("MILLSTREAM_SHARED_GROUP")
    group.of_its_own(monkeypatch)
    assert distrust(str(folder)) is None, "as many systems make a home"


def test_a_group_is_not_of_one_user_if_it_is_the_first_group_of_another(
    folder: Path, group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of members of a group leaves out those whose first group it is."""
    group.of_its_own(monkeypatch)
    folder.chmod(0o775)
    assert distrust(str(folder)) is None
    me = pwd.getpwuid(os.getuid())
    other = pwd.struct_passwd(("other", "x", SOMEBODY, me.pw_gid, "", "/", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwall", lambda: [me, other])
    assert f"{folder} can be written to by group" in str(distrust(str(folder)))


def test_an_access_list_may_name_other_users(
    folder: Path, group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `setfacl -m u:54321:rwx` writes: the mode does not say who it lets write."""
    group.of_its_own(monkeypatch)
    entries = [(1, 7, -1), (2, 7, SOMEBODY), (4, 0, -1), (16, 7, -1), (32, 0, -1)]
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    for place in (folder, folder.parent):
        try:
            os.setxattr(place, "system.posix_acl_access", acl)
        except OSError as error:
            pytest.skip(f"the file system has no access lists: {error}")
        assert "access list" in str(distrust(str(folder)))
        os.removexattr(place, "system.posix_acl_access")
        place.chmod(0o770)
        assert distrust(str(folder)) is None


def test_every_folder_on_the_way_through_a_link_counts(folder: Path) -> None:
    """Who can move a link on the way can lead to another folder."""
    real, links = folder / "real", folder / "links"
    (real / "words").mkdir(parents=True)
    links.mkdir()
    (links / "link").symlink_to("../real")
    assert distrust(str(links / "link/words")) is None
    links.chmod(0o777)
    why = f"everybody can move what is in {links}"
    assert distrust(str(links / "link/words")) == why
    (folder / "two").symlink_to(links / "link")
    assert distrust(str(folder / "two/words")) == why
    links.chmod(0o755)
    real.chmod(0o777)
    assert distrust(str(folder / "two/words")) == f"everybody can move what is in {real}"


def test_a_link_of_another_user_on_the_way_is_not_trusted(folder: Path, foreign: Foreign) -> None:
    (folder / "words").mkdir()
    link = folder.parent / "link"
    link.symlink_to(folder)
    folder.parent.chmod(0o1777)
    assert distrust(str(link / "words")) is None
    foreign(link)
    assert "user" in str(distrust(str(link / "words")))


def test_a_link_to_itself_is_no_way(folder: Path) -> None:
    (folder / "loop").symlink_to("loop")
    assert distrust(str(folder / "loop/words")) is None, "it cannot be read or made"


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
