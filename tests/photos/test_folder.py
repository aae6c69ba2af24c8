"""Every file of a folder is found once, in order, or skipped with a reason."""

import os

import pytest

from unseen.files import replace_folder
from unseen.photos.folder import find_photos


def touch(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def test_paths_are_sorted_whatever_the_order_of_creation(tmp_path):
    names = [
        "b/2.jpg",
        "a.jpg",
        "b/1.jpg",
        "Z.jpg",
        "b/c/d/deep.png",
        "ä.jpg",
        "🦓.gif",
    ]
    touch(tmp_path, *names)
    assert find_photos(tmp_path).paths == sorted(names)
    assert find_photos(tmp_path).skipped == []


def test_links_are_followed_once_and_loops_end(tmp_path):
    touch(tmp_path, "in/real/1.jpg", "outside/2.jpg")
    folder = tmp_path / "in"
    (folder / "again").symlink_to(folder / "real")  # sorts before the real one
    (folder / "loop").symlink_to(folder)
    (folder / "real" / "up").symlink_to("..")
    (folder / "to outside").symlink_to(tmp_path / "outside")
    (folder / "nowhere").symlink_to(tmp_path / "gone")
    (folder / "photo.jpg").symlink_to(folder / "real" / "1.jpg")
    found = find_photos(folder)
    assert found.paths == ["photo.jpg", "real/1.jpg", "to outside/2.jpg"]
    walked = "a link to a folder that was searched already"
    assert found.skipped == [
        ("again", walked),
        ("loop", walked),
        ("nowhere", "a link that leads nowhere"),
        ("real/up", walked),
    ]


def test_hidden_files_and_folders_are_left_alone_and_listed(tmp_path):
    touch(tmp_path, ".DS_Store", ".thumbs/1.jpg", "1.jpg")
    found = find_photos(tmp_path)
    assert found.paths == ["1.jpg"]
    assert [path for path, _ in found.skipped] == [".DS_Store", ".thumbs"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.jpg")
    assert find_photos(tmp_path).skipped == [
        ("pipe.jpg", "not a file (a pipe, socket or device)")
    ]


def test_one_photo_or_no_folder(tmp_path):
    touch(tmp_path, "one.jpg", "other.jpg")
    assert find_photos(tmp_path / "one.jpg") == (tmp_path, ["one.jpg"], [])
    with pytest.raises(FileNotFoundError, match="there is no such folder"):
        find_photos(tmp_path / "none")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotADirectoryError, match="neither a folder nor a photo"):
        find_photos(tmp_path / "pipe")


def test_thumbnails_of_a_page_are_no_photos(tmp_path):
    touch(tmp_path, "a.jpg", "labels.html")
    with replace_folder(tmp_path / "labels-thumbnails-0123456789abcdef") as draft:
        touch(draft, "00000.jpg")
    found = find_photos(tmp_path)
    assert "a.jpg" in found.paths and not any("00000" in path for path in found.paths)
    (skipped,) = [entry for entry in found.skipped if "thumbnails" in entry.path]
    assert skipped.reason == "made by unseen: no photos of yours"
