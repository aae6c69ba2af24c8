"""Nothing is looked up, sent or listened to while a command runs.

Python's own sockets are watched by an audit hook in every process; what libraries do
below Python is watched by strace where it is installed.
"""

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
MAIN = [sys.executable, "-c", "from unseen.cli import main; main()"]
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


def run(home, *command, before=()):
    """Run a command of unseen in that home; nothing silences telemetry but itself."""
    drop = ("ORT_DISABLE_TELEMETRY", "CI", "XDG_CACHE_HOME")
    environment = {key: value for key, value in os.environ.items() if key not in drop}
    path = os.pathsep.join([str(home / "site"), os.environ.get("PYTHONPATH", "")])
    environment |= {"HOME": str(home), "PYTHONPATH": path, "UNSEEN_CACHE": str(home)}
    command = [*before, *MAIN, *command]
    return subprocess.run(
        command, cwd=home, env=environment, capture_output=True, text=True
    )


COMMANDS = {
    "run": ["run", "digits", "--save", "d.unseen", "--out", "p.csv"],
    "model": ["run", "digits", "--model", "d.unseen", "--out", "m.csv"],
    "encode": ["encode", "photos", "--out", "f.npz"],
    "label": ["label", "photos", "--classes", "meadow, fire", "--out", "l.csv"],
    "texts": ["label", "notes", "--classes", "dog, rain", "--out", "t.csv"],
    "demo": ["demo", "--out", "demo"],
}


def test_the_watch_sees_a_socket(home, tmp_path):
    spy = tmp_path / "spied"
    shutil.copytree(home, spy)
    watch = WATCH.format(log=str(spy / "sockets.txt"))
    (spy / "site" / "sitecustomize.py").write_text(watch)
    environment = os.environ | {"PYTHONPATH": str(spy / "site")}
    script = "import socket; socket.getaddrinfo('localhost', 80)"
    ended = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True
    )
    assert "socket.getaddrinfo was called" in ended.stderr
    assert "localhost" in (spy / "sockets.txt").read_text()


def test_no_command_opens_a_socket(home):
    pytest.importorskip("onnxruntime")
    for name, command in COMMANDS.items():
        ended = run(home, *command)
        log = home / "sockets.txt"
        assert not log.exists(), f"{name}: {log.read_text()}"
        assert ended.returncode == 0, f"{name}: {ended.stderr}"
    # onnxruntime keeps an identity of the machine there, unless it was silenced
    assert not list(home.glob("**/*onnxruntime*/deviceid"))


@pytest.mark.slow
@pytest.mark.skipif(STRACE is None, reason="strace is not installed")
@pytest.mark.parametrize("name", ["label", "encode", "run"])
def test_no_library_below_python_opens_a_socket(home, name):
    log = home / f"{name}.trace"
    ended = run(home, *COMMANDS[name], "--force", before=[*TRACED, "-o", str(log)])
    assert ended.returncode == 0, ended.stderr
    lines = log.read_text().splitlines()
    assert not [line for line in lines if re.search("AF_INET|NETLINK", line)]
