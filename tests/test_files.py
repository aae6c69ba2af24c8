"""Files and folders are written whole or not at all, and nobody else's are touched."""

import errno
import os
import socket
import stat

import pytest

from unseen._files import check_target, replace_file, replace_together
from unseen._folders import MARK, replace_folder, why_not_ours

root = getattr(os, "geteuid", lambda: 1)() == 0


def write(path, content=b"new"):
    with replace_file(path) as file:
        file.write(content)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_link_stays_and_its_target_is_written(tmp_path):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "labels.csv", tmp_path / "labels.csv"
    target.write_text("old")
    link.symlink_to(target)
    write(link)
    assert link.is_symlink() and target.read_bytes() == b"new"
    assert names(tmp_path) == ["far", "labels.csv"] and names(tmp_path / "far") == [
        "labels.csv"
    ]


def test_a_link_to_nothing_makes_its_target(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "sub" / "made.csv")
    write(tmp_path / "link")
    assert (tmp_path / "sub" / "made.csv").read_bytes() == b"new"


def test_a_link_to_itself_is_named(tmp_path):
    (tmp_path / "round").symlink_to(tmp_path / "round")
    with pytest.raises(OSError, match="round"):
        write(tmp_path / "round")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "model"
    path.write_text("old")
    path.chmod(mode)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_has_the_mode_any_program_gives(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    write(tmp_path / "ours")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_pipes_sockets_devices_and_folders_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        for path, kind in {
            tmp_path / "pipe": "a pipe",
            tmp_path / "socket": "a socket",
            tmp_path / "folder": "a folder",
            "/dev/null": "a device",
        }.items():
            with pytest.raises(FileExistsError, match=f"{path}: is {kind}"):
                write(path)
    assert names(tmp_path) == ["folder", "pipe", "socket"]


@pytest.mark.skipif(root, reason="root may write anything")
def test_a_file_that_is_write_protected_stays(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("mine")
    path.chmod(0o444)
    with pytest.raises(PermissionError, match=r"labels\.csv"):
        write(path)
    assert path.read_text() == "mine"


def test_what_is_being_read_is_not_written(tmp_path):
    photos = tmp_path / "photos"
    photos.mkdir()
    features = tmp_path / "x.npy"
    features.write_text("rows")
    (tmp_path / "link.npy").symlink_to(features)
    os.link(features, tmp_path / "twin.npy")
    for name in ("x.npy", "link.npy", "twin.npy"):
        with pytest.raises(FileExistsError, match=f"{name}: is being read"):
            check_target(tmp_path / name, reading=[features])
    (tmp_path / "way").symlink_to(photos)
    for folder in ("photos", "way", "photos/deep"):
        with pytest.raises(FileExistsError, match=r"labels\.csv: would lie in"):
            check_target(tmp_path / folder / "labels.csv", reading=[photos])
    check_target(tmp_path / "photos.csv", reading=[photos])


def test_a_name_may_be_as_long_as_names_can_be(tmp_path):
    path = tmp_path / ("ä" * 127 + "x")
    write(path)
    write(path, b"again")
    assert path.read_bytes() == b"again"
    with pytest.raises(OSError, match="File name too long") as found:
        write(tmp_path / ("x" * 256))
    assert found.value.filename == str(tmp_path / ("x" * 256))


def test_missing_folders_are_made_and_a_file_is_no_folder(tmp_path):
    write(tmp_path / "a" / "b" / "c.csv")
    assert (tmp_path / "a" / "b" / "c.csv").read_bytes() == b"new"
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="Not a directory") as found:
        write(tmp_path / "file" / "c.csv")
    assert found.value.filename == str(tmp_path / "file" / "c.csv")


def test_a_full_disk_names_the_file_and_leaves_it(tmp_path, monkeypatch):
    path = tmp_path / "labels.csv"
    path.write_text("old")

    def full(fd, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left on device") as found:
        write(path)
    assert found.value.filename == str(path)
    assert path.read_text() == "old" and names(tmp_path) == ["labels.csv"]


def test_an_error_about_another_file_keeps_its_name(tmp_path):
    with pytest.raises(FileNotFoundError) as found, replace_file(tmp_path / "out"):
        open(tmp_path / "absent")
    assert found.value.filename == str(tmp_path / "absent")
    assert names(tmp_path) == []


def test_what_others_write_by_the_name_of_the_draft_is_named_too(tmp_path):
    path = tmp_path / "out.h5"
    with pytest.raises(OSError, match="Is a directory") as found:
        with replace_file(path) as file:
            raise OSError(errno.EISDIR, f"h5: filename = '{file.name}'")
    assert found.value.filename == str(path) and ".tmp" not in str(found.value)


def test_files_go_together(tmp_path):
    (tmp_path / "rows").write_text("old rows")
    with pytest.raises(RuntimeError), replace_together() as replace:
        with replace(tmp_path / "rows") as file:
            file.write(b"new rows")
        with replace(tmp_path / "classes") as file:
            raise RuntimeError
    assert names(tmp_path) == ["rows"]
    assert (tmp_path / "rows").read_text() == "old rows"


@pytest.mark.parametrize("fails", [1, 2, 3])
@pytest.mark.parametrize("links", [True, False])
def test_a_rename_that_fails_undoes_those_before(tmp_path, monkeypatch, fails, links):
    (tmp_path / "b").write_text("old b")
    (tmp_path / "c").write_text("old c")
    calls = []
    rename = os.replace

    def failing(*paths):
        calls.append(paths)
        if len(calls) == fails:
            raise OSError(errno.EIO, "Input/output error", *paths)
        rename(*paths)

    monkeypatch.setattr(os, "replace", failing)
    if not links:
        monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError()))
    with pytest.raises(OSError) as found, replace_together() as replace:
        for name in "abc":
            with replace(tmp_path / name) as file:
                file.write(b"new")
    assert found.value.filename == str(tmp_path / "abc"[fails - 1])
    assert names(tmp_path) == ["b", "c"]
    assert (tmp_path / "b").read_text() == "old b"
    assert (tmp_path / "c").read_text() == "old c"


def test_a_folder_of_ours_is_replaced_whole(tmp_path):
    for content in ("one", "two"):
        with replace_folder(tmp_path / "small") as draft:
            (draft / content).write_text(content)
            (draft / "deep").mkdir()
            (draft / "deep" / "er").write_text(content)
    assert names(tmp_path / "small") == [MARK, "deep", "two"]
    assert names(tmp_path) == ["small"]


def make_folder(path):
    with replace_folder(path) as draft:
        (draft / "labels.csv").write_text("cat")
        (draft / "deep").mkdir()
        (draft / "deep" / "er").write_text("dog")
    return path


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda f: (f / MARK).unlink(), "was not made by unseen"),
        (lambda f: (f / MARK).write_text("{"), "was not made by unseen"),
        (lambda f: (f / MARK).write_text("[]"), "was not made by unseen"),
        (lambda f: (f / "notes.txt").write_text("mine"), "'notes.txt', which unseen"),
        (lambda f: (f / "deep" / "x").write_text("mine"), "'deep/x', which unseen"),
        (lambda f: (f / "mine").mkdir(), "'mine', which unseen did not write"),
        (lambda f: (f / "labels.csv").write_text("cow"), "was changed by hand"),
    ],
)
def test_a_folder_with_anything_of_others_stays(tmp_path, spoil, reason):
    folder = make_folder(tmp_path / "small")
    spoil(folder)
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    with pytest.raises(FileExistsError, match=reason), replace_folder(folder):
        raise AssertionError("never reached")
    assert before == {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    assert names(tmp_path) == ["small"]


def test_force_replaces_what_was_changed_but_nothing_of_others(tmp_path):
    folder = make_folder(tmp_path / "small")
    (folder / "labels.csv").write_text("cow")
    assert not why_not_ours(folder, force=True)
    (folder / "mine.txt").write_text("mine")
    assert "mine.txt" in why_not_ours(folder, force=True)


def test_a_folder_that_cannot_be_renamed_leaves_the_old_one(tmp_path, monkeypatch):
    folder = make_folder(tmp_path / "small")
    rename = os.replace

    def failing(source, target):
        if str(target) == str(folder) and ".tmp" in str(source):
            raise OSError(errno.EIO, "Input/output error", str(source))
        rename(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(OSError) as found, replace_folder(folder) as draft:
        (draft / "labels.csv").write_text("new")
    assert found.value.filename == str(folder)
    assert names(tmp_path) == ["small"] and not why_not_ours(folder)
    assert (folder / "labels.csv").read_text() == "cat"
