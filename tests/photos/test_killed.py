"""The command line killed at any moment: the next run ends as if nothing had been."""

import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_sample_images

MAIN = [sys.executable, "-c", "from unseen.cli import main; main()"]
MOMENTS = 10


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """300 photos, so that a shard is flushed on the way."""
    home = tmp_path_factory.mktemp("killed") / "photos"
    rng = np.random.default_rng(0)
    pictures = [Image.fromarray(pixels) for pixels in load_sample_images().images]
    for i in range(300):
        side = int(rng.integers(120, 400))
        left, top = int(rng.integers(0, 640 - side)), int(rng.integers(0, 427 - side))
        path = home / f"{i % 5}" / f"{i:03d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        crop = pictures[i % 2].crop((left, top, left + side, top + side))
        crop.resize((90, 70)).save(path)
    return home


def commands(home, photos):
    at = {"cwd": home, "env": os.environ | {"UNSEEN_CACHE": str(home / "cache")}}
    label = ["label", str(photos), "--classes", "palace, flower", "--out", "l.csv"]
    encode = ["encode", str(photos), "--out", "f.npz"]
    return ([*MAIN, *label], at), ([*MAIN, *encode], at)


def answers(home):
    with np.load(home / "f.npz") as file:
        return (home / "l.csv").read_bytes(), file["features"], file["paths"].tolist()


def finish(home, photos):
    for command, at in commands(home, photos):
        subprocess.run([*command, *forced(command)], check=True, **at)


def forced(command):
    """Return what lets an earlier output be replaced, if the command knows it."""
    from typer.testing import CliRunner

    from unseen.cli import app

    known = CliRunner().invoke(app, [command[3], "--help"]).stdout
    return ["--force"] if "--force" in known else []


@pytest.mark.slow
def test_a_run_killed_at_ten_moments_answers_as_if_it_had_not_been(photos, tmp_path):
    (tmp_path / "whole").mkdir()
    started = time.monotonic()
    finish(tmp_path / "whole", photos)
    took = time.monotonic() - started
    whole = answers(tmp_path / "whole")
    home = tmp_path / "killed"
    home.mkdir()
    rng, killed = np.random.default_rng(0), 0
    while killed < MOMENTS:
        command, at = commands(home, photos)[killed % 2]
        quiet = {"stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        run = subprocess.Popen(
            [*command, *forced(command)], start_new_session=True, **quiet, **at
        )
        try:
            run.wait(took * rng.uniform())
            took *= 0.8  # it ended before: aim earlier
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
            killed += 1
        if killed % 3 == 2:  # some start from nothing, some go on
            shutil.rmtree(home / "cache", ignore_errors=True)
    finish(home, photos)
    label, features, paths = answers(home)
    assert label == whole[0] and paths == whole[2]
    np.testing.assert_array_equal(features, whole[1])
    assert not list(home.glob("**/*.damaged"))
