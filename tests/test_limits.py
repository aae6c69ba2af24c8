"""The limits: defaults, what raises them, and what is no plain file."""

import os

import pytest

from unseen.limits import (
    Limits,
    check_plain_file,
    limits,
    raised,
    unpacked_allowance,
)


def test_the_environment_raises_limits(monkeypatch):
    monkeypatch.setenv("UNSEEN_LIMITS", "columns=2e5, reader_seconds=0.5")
    assert limits() == Limits(columns=200_000, reader_seconds=0.5)
    assert isinstance(limits().columns, int)


def test_code_raises_limits_over_the_environment_and_gives_them_back(monkeypatch):
    monkeypatch.setenv("UNSEEN_LIMITS", "columns=7 classes=9")
    with raised(columns=8) as inside:
        assert inside == limits() == Limits(columns=8, classes=9)
        with raised(classes=10):
            assert limits() == Limits(columns=8, classes=10)
    assert limits() == Limits(columns=7, classes=9)


@pytest.mark.parametrize(
    "text, told",
    [
        ("colums=3", "'colums' is no limit. The limits are unpacked_ratio"),
        ("columns", "Write it as name=number"),
        ("columns=many", "holds 'columns=many'"),
        ("columns=-1", "Give a number above 0"),
        ("columns=nan", "Give a number above 0"),
        ("columns=inf", "Give a number above 0"),
    ],
)
def test_a_wrong_limit_says_what_would_be_right(monkeypatch, text, told):
    monkeypatch.setenv("UNSEEN_LIMITS", text)
    with pytest.raises(ValueError, match=told):
        limits()


def test_a_command_raises_limits_for_itself_and_what_it_starts(monkeypatch):
    from typer.testing import CliRunner

    from unseen.cli import app

    seen = []
    monkeypatch.setenv("UNSEEN_LIMITS", "classes=9 columns=5")
    monkeypatch.setattr(
        "unseen.loading.read_parts", lambda *_: seen.append(limits()) or 1 / 0
    )
    options = ["--limit", "columns=7", "--limit", "line_bytes=8"]
    CliRunner().invoke(app, [*options, "data", "info", "zoo.csv"])
    assert seen == [Limits(columns=7, line_bytes=8, classes=9)]
    assert limits() == Limits(columns=5, classes=9)
    wrong = CliRunner().invoke(app, ["--limit", "colums=7", "data", "list"])
    assert wrong.exit_code == 2 and "--limit 'colums' is no limit" in wrong.output


def test_the_allowance_grows_with_the_file_and_never_falls_below_the_free_part():
    with raised(unpacked_free=1000, unpacked_ratio=10):
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
