"""Whatever call to the system fails, no file is lost, torn or changed in the input.

A double for open, write, fsync, rename, link and mkdir lets the k-th call that
concerns the files of a command fail. Afterwards every file under a final
name is the old one or the new one, whole, with its companions; nothing else is there;
the input is as it was; the error is one line about a file the user knows; and the same
command, run again, ends as if nothing had happened.
"""

import builtins
import errno
import io
import os
import shutil
from hashlib import sha256

import numpy as np
import pytest

from tests.checks import invoke, quick_plan
from unseen import load_model
from unseen.experiments.run import Finding
from unseen.naming import register_encoder
from unseen.naming.encoders import _KNOWN

pytestmark = pytest.mark.filterwarnings("default")
pytest.importorskip("PIL")

ERRORS = {
    "open": errno.EMFILE,
    "write": errno.ENOSPC,
    "fsync": errno.EIO,
    "replace": errno.EIO,
    "link": errno.EPERM,
    "mkdir": errno.ENOSPC,
}


class Faults:
    """Let one call that concerns files below a folder fail; count all of them."""

    def __init__(self, home, fails_at):
        self.home, self.fails_at = str(home), fails_at
        self.n_calls, self.fired = 0, ""

    def concerns(self, place):
        if isinstance(place, int):
            try:
                place = os.readlink(f"/proc/self/fd/{place}")
            except OSError:
                return False
        place = os.fspath(place)
        photo = f"{self.home}/in/photos/"  # those that cannot be read are skipped
        return place.startswith(self.home) and not place.startswith(photo)

    def double(self, kind, real, place=lambda args: args[0]):
        def call(*args, **more):
            if self.concerns(place(args)):
                self.n_calls += 1
                if self.n_calls == self.fails_at:
                    self.fired = kind
                    code = ERRORS[kind]
                    raise OSError(code, os.strerror(code))
            return real(*args, **more)

        return call

    def __enter__(self):
        self.patch = pytest.MonkeyPatch()
        opened = self.double("open", builtins.open)
        self.patch.setattr(builtins, "open", opened)
        self.patch.setattr(io, "open", opened)
        for name in ("open", "write", "fsync", "replace", "link", "mkdir"):
            self.patch.setattr(os, name, self.double(name, getattr(os, name)))
        return self

    def __exit__(self, *error):
        self.patch.undo()


class Colours:
    name, version, dimension, size = "colours", "1", 3, 8

    def encode(self, images):
        return images.mean(axis=(1, 2), dtype=np.float32)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Inputs of all commands, an encoder that is quick, findings without running."""
    from PIL import Image

    monkeypatch.setenv("UNSEEN_CACHE", str(tmp_path / "cache"))
    (tmp_path / "in" / "photos").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    for i in range(4):
        colour = (200 - 50 * i, 10, 50 * i)
        Image.new("RGB", (9, 9), colour).save(tmp_path / "in" / "photos" / f"{i}.png")
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)
    rows[:2, 0] += 9
    rows[2:, 1] += 9
    np.save("in/f.npy", rows)
    np.save("in/t.npy", np.eye(8, dtype=np.float32)[:2])
    np.save("in/x.npy", np.random.default_rng(1).random((5, 1280), dtype=np.float32))
    names, unseen = ["ant", "bee", "cow"], ["cow"]
    np.savez("in/zoo.npz", X=rows[:3], y=names, class_names=names, unseen=unseen,
             att=np.eye(3))  # fmt: skip
    (tmp_path / "in" / "quick.toml").write_text(quick_plan("eszsl", "cca"))
    made = run("run photos-200 --method eszsl --save in/m.unseen --out in/l.csv")
    assert made.exit_code == 0, made.output
    register_encoder("image", "colours", Colours)
    monkeypatch.setattr("unseen.experiments.run.run_all", fake_runs)
    yield tmp_path
    _KNOWN.pop("colours")


def fake_runs(runs, n_jobs):
    for run in runs:
        yield run, [Finding("final", value=0.5), Finding("done", seconds=1.0)]


def run(words):
    return invoke(*words.split())


# What is there before, and what is run.
COMMANDS = {
    "model": (
        "run photos-200 --model in/m.unseen --out out/l.csv",
        "run in/x.npy --model in/m.unseen --out out/l.csv --save out/a.unseen",
    ),
    "label": (
        "label in/photos --classes a,b --encoder in/f.npy+in/t.npy --out out/l",
        "label in/photos --classes b,a --encoder in/f.npy+in/t.npy "
        "--out out/l --save out/n.unseen",
    ),
    "encode": (
        "encode in/photos --encoder colours --out out/f.npz",
        "encode in/photos --encoder colours --out out/f.npz",
    ),
    "convert": (
        "data convert in/zoo.npz out/d.csv --unseen ant",
        "data convert in/zoo.npz out/d.csv",
    ),
    "reproduce": ("", "reproduce in/quick.toml --out out/r --jobs 1"),
}


def contents(folder):
    """Return every file below a folder by name; marks and locks are set aside.

    Of a model only that it is whole: keys of its head come in any order.
    """
    aside = (".made-by-unseen", ".results-of", ".results.csv.lock")
    return {
        path.relative_to(folder).as_posix(): (
            str(load_model(path)) if path.suffix == ".unseen" else path.read_bytes()
        )
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith((".unseen-", *aside))
    }


def digests(folder):
    return {
        path: sha256(path.read_bytes()).digest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def start(home, state):
    for place in ("out", "cache"):
        shutil.rmtree(home / place, ignore_errors=True)
        shutil.copytree(home / state / place, home / place)


def keep(home, state):
    for place in ("out", "cache"):
        (home / place).mkdir(exist_ok=True)
        shutil.copytree(home / place, home / state / place)


def check(name, home, ended, faults, old, new):
    """See that what a command left behind is whole, whatever happened to it."""
    left = contents(home / "out")
    told = f"{name}: {faults.fired} call {faults.fails_at}: {ended.output}"
    assert ended.exit_code in (0, 2), (told, ended.exception)
    leftovers = list((home / "out").rglob(".unseen-*"))
    assert not leftovers or faults.fired == "open", told  # its removal failed
    assert left.keys() <= old.keys() | new.keys(), told
    for file, data in left.items():
        whole = [side[file] for side in (old, new) if file in side]
        if file.endswith("results.csv"):  # grows run by run
            assert new[file].startswith(data) and data.endswith(b"\n"), (file, told)
        else:
            assert data in whole, (file, told)
    assert old.keys() - left.keys() <= old.keys() - new.keys(), told
    if ended.exit_code == 2:
        said = [x for x in ended.stderr.splitlines() if x.startswith("unseen: ")]
        (line,) = [x for x in said if not x.startswith("unseen: warning: ")]
        assert ".tmp" not in line and ".unseen-" not in line, told
    else:
        assert left == new, told


@pytest.mark.parametrize("name", COMMANDS)
def test_some_calls_fail(home, name):
    """Let call after call fail, over what was there before."""
    before, command = COMMANDS[name]
    command += " --force"
    inputs, old = digests(home / "in"), {}
    if before:
        assert run(before).exit_code == 0
        old = contents(home / "out")
    keep(home, "first")
    assert run(command).exit_code == 0
    new = contents(home / "out")
    for k in (2, 11, 26):
        start(home, "first")
        with Faults(home, k) as faults:
            ended = run(command)
        if not faults.fired:
            break
        check(name, home, ended, faults, old, new)
        assert digests(home / "in") == inputs
        again = run(command)
        assert again.exit_code == 0, (k, faults.fired, again.output)
        assert contents(home / "out") == new
    assert k > 2  # the double is in the way at all
