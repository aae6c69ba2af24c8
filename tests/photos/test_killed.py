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
    """600 photos, so that shards are flushed and other processes decode."""
    home = tmp_path_factory.mktemp("killed") / "photos"
    rng = np.random.default_rng(0)
    pictures = [Image.fromarray(pixels) for pixels in load_sample_images().images]
    for i in range(600):
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
    started = time.monotonic()
    (tmp_path / "whole").mkdir()
    finish(tmp_path / "whole", photos)
    took = (time.monotonic() - started) / 2
    whole = answers(tmp_path / "whole")
    shutil.rmtree(tmp_path / "whole" / "cache")
    home = tmp_path / "killed"
    home.mkdir()
    done = []
    for moment in range(MOMENTS):
        command, at = commands(home, photos)[moment % 2]
        run = subprocess.Popen(
            [*command, *forced(command)],
            start_new_session=True,
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            **at,
        )
        try:
            run.wait(took * (moment + 1) / (MOMENTS + 1))
            done.append(moment)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
        if moment % 3 == 2:  # some start from nothing, some go on
            shutil.rmtree(home / "cache", ignore_errors=True)
    assert len(done) < MOMENTS // 2, "too few runs were killed"
    finish(home, photos)
    label, features, paths = answers(home)
    assert label == whole[0] and paths == whole[2]
    np.testing.assert_array_equal(features, whole[1])
    assert not list(home.glob("**/*.damaged"))
