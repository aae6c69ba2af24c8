"""How much may be unpacked, and what is no plain file."""

import os

import pytest

from unseen.limits import Limits, check_plain_file, unpacked_allowance


def test_the_allowance_grows_with_the_file_and_never_falls_below_the_free_part(
    monkeypatch,
):
    few = Limits(unpacked_free=1000, unpacked_ratio=10)
    monkeypatch.setattr("unseen.limits.LIMITS", few)
    assert [unpacked_allowance(n) for n in (0, 100, 101)] == [1000, 1000, 1010]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_and_folders_are_no_plain_files(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    check_plain_file(tmp_path / "file")
    check_plain_file(tmp_path / "missing")
    check_plain_file(tmp_path, folders=True)
    with pytest.raises(ValueError, match=r"pipe: is a pipe\. Give a plain file\."):
        check_plain_file(tmp_path / "pipe")
    with pytest.raises(ValueError, match="is a folder"):
        check_plain_file(tmp_path)
