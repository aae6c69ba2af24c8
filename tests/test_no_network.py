"""Nothing is looked up, sent or listened to while a command runs.

Python's own sockets are watched by an audit hook in every process; what libraries do
below Python is watched by strace where it is installed.
"""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from PIL import Image

WATCH = """
import socket, sys

def watch(event, args):
    local = event == "socket.__new__" and args[1] == getattr(socket, "AF_UNIX", None)
    if event.startswith("socket.") and not local and event != "socket.gethostname":
        with open({log!r}, "a") as file:
            file.write(f"{{event}} {{args!r}}\\n")
        raise RuntimeError(f"{{event}} was called")

sys.addaudithook(watch)
"""
# One process for several commands: most of the time would go to imports.
MAIN = """
import json, sys
from unseen.cli import app
for words in json.loads(sys.argv[1]):
    if code := app(words, prog_name="unseen", standalone_mode=False):
        sys.exit(f"{words} ended with {code}")
"""
STRACE = shutil.which("strace")
TRACED = [
    "strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=socket,connect,sendto,bind",
]  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home with two photos, and a module that reports whoever opens a socket."""
    home = tmp_path_factory.mktemp("home")
    (home / "photos").mkdir()
    for name in ("green", "red"):
        Image.new("RGB", (40, 30), name).save(home / "photos" / f"{name}.png")
    (home / "notes").mkdir()
    for number, text in enumerate(("my dog barks", "it rains", "a wet day", "cats")):
        (home / "notes" / f"{number}.txt").write_text(text)
    (home / "site").mkdir()
    watch = WATCH.format(log=str(home / "sockets.txt"))
    (home / "site" / "sitecustomize.py").write_text(watch)
    return home


def run(home, *commands, before=()):
    """Run commands of unseen in that home; nothing silences telemetry but itself."""
    drop = ("ORT_DISABLE_TELEMETRY", "CI", "XDG_CACHE_HOME")
    environment = {key: value for key, value in os.environ.items() if key not in drop}
    path = os.pathsep.join([str(home / "site"), os.environ.get("PYTHONPATH", "")])
    environment |= {"HOME": str(home), "PYTHONPATH": path, "UNSEEN_CACHE": str(home)}
    started = [*before, sys.executable, "-c", MAIN, json.dumps(commands)]
    return subprocess.run(
        started, cwd=home, env=environment, capture_output=True, text=True
    )


COMMANDS = {
    "run": ["run", "photos-200", "--save", "d.unseen", "--out", "p.csv"],
    "model": ["run", "photos-200", "--model", "d.unseen", "--out", "m.csv"],
    "encode": ["encode", "photos", "--out", "f.npz"],
    "label": ["label", "photos", "--classes", "meadow, fire", "--out", "l.csv"],
    "texts": ["label", "notes", "--classes", "dog, rain", "--out", "t.csv"],
    "demo": ["demo", "--out", "demo"],
}


def test_the_watch_sees_a_socket(tmp_path):
    watch = WATCH.format(log=str(tmp_path / "sockets.txt"))
    script = f"{watch}import socket; socket.getaddrinfo('localhost', 80)"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True)
    assert b"socket.getaddrinfo was called" in ended.stderr
    assert "localhost" in (tmp_path / "sockets.txt").read_text()


def test_no_command_opens_a_socket(home):
    pytest.importorskip("onnxruntime")
    ended = run(home, *COMMANDS.values())
    log = home / "sockets.txt"
    assert not log.exists(), log.read_text()
    assert ended.returncode == 0, ended.stderr
    assert len(list(home.glob("*.csv"))) == 4 and (home / "demo").exists()
    # onnxruntime keeps an identity of the machine there, unless it was silenced
    assert not list(home.glob("**/*onnxruntime*/deviceid"))


@pytest.mark.slow
@pytest.mark.skipif(STRACE is None, reason="strace is not installed")
@pytest.mark.parametrize("name", ["label", "encode", "run"])
def test_no_library_below_python_opens_a_socket(home, name):
    log = home / f"{name}.trace"
    words = [*COMMANDS[name], "--force"]
    ended = run(home, words, before=[*TRACED, "-o", str(log)])
    assert ended.returncode == 0, ended.stderr
    lines = log.read_text().splitlines()
    assert not [line for line in lines if re.search("AF_INET|NETLINK", line)]
