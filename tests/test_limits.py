"""What is no plain file."""

import os

import pytest

from unseen.limits import check_plain_file


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
