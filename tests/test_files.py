"""Files and folders are written whole or not at all, and nobody else's are touched."""

import errno
import os
import socket
import stat

import pytest

from unseen.files import (
    check_folder,
    check_outputs,
    check_results,
    check_target,
    replace_file,
    replace_folder,
)

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


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "model"
    path.write_text("old")
    path.chmod(mode)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_pipes_sockets_devices_and_folders_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        for path, kind in {
            tmp_path / "pipe": "a device or a pipe",
            tmp_path / "socket": "a device or a pipe",
            tmp_path / "folder": "a folder",
            "/dev/null": "a device or a pipe",
        }.items():
            with pytest.raises(FileExistsError, match=f"{path} is {kind}"):
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
        with pytest.raises(FileExistsError, match=f"{name} is being read"):
            check_target(tmp_path / name, reading=[features])
    (tmp_path / "way").symlink_to(photos)
    for folder in ("photos", "way", "photos/deep"):
        with pytest.raises(FileExistsError, match=r"labels\.csv would lie in"):
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

    def full(fd):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device") as found:
        write(path)
    assert found.value.filename == str(path)
    assert path.read_text() == "old" and names(tmp_path) == ["labels.csv"]


def test_errors_name_the_file_that_was_asked_for_and_keep_their_words(tmp_path):
    path = tmp_path / "out.h5"
    with pytest.raises(OSError, match=r"out\.h5: no room in /.*/out\.h5 for X$"):
        with replace_file(path) as file:
            raise OSError(f"no room in {file.name} for X")
    with pytest.raises(OSError, match="Is a directory") as found:
        with replace_file(path) as file:
            raise OSError(errno.EISDIR, f"h5: filename = '{file.name}'")
    assert found.value.filename == str(path) and ".tmp" not in str(found.value)
    with pytest.raises(FileNotFoundError) as found, replace_file(path):
        open(tmp_path / "absent")
    assert found.value.filename == str(tmp_path / "absent") and names(tmp_path) == []


def test_a_file_that_exists_stays_and_another_name_is_offered(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("mine")
    (tmp_path / "labels-2.csv").touch()
    with pytest.raises(FileExistsError, match=r"labels-3\.csv"):
        check_outputs(path)
    check_outputs(path, None, tmp_path / "new.csv", force=True)
    with pytest.raises(ValueError, match="written twice"):
        check_outputs(tmp_path / "new.csv", tmp_path / "new.csv")


def test_results_are_made_again_by_the_same_question_alone(tmp_path):
    folder = tmp_path / "results"
    check_results(folder, "one", folder / "page.html")
    (folder / "page.html").write_text("made")
    check_results(folder, "one", folder / "page.html")
    with pytest.raises(FileExistsError, match=r"of 'one'.*results-2"):
        check_results(folder, "two", folder / "page.html")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"with other files.*mine-2"):
        check_results(tmp_path / "mine", "one")
    check_results(tmp_path / "mine", "one", force=True)


def test_a_folder_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    folder = tmp_path / "new" / "small"
    with pytest.raises(ZeroDivisionError), replace_folder(folder) as draft:
        (draft / "labels.csv").write_text(str(1 / 0))
    assert names(folder.parent) == []
    folder.mkdir()
    with replace_folder(folder) as draft:
        (draft / "deep").mkdir()
        (draft / "deep" / "labels.csv").write_text("cat")
    assert (folder / "deep" / "labels.csv").read_text() == "cat"
    assert names(folder.parent) == ["small"]
    with pytest.raises(FileExistsError, match="small-2"), replace_folder(folder):
        raise AssertionError("never reached")
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError, match="file-2"):
        check_folder(tmp_path / "file")
