"""A review of made-up photos, in this process or served by one of its own."""

import asyncio
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
from PIL import Image

from unseen.labels import label_table, read_labels, write_labels

MAIN = [sys.executable, "-c", "from unseen.cli import main; main()"]
CLASSES = ["cat", "cow", "dog"]


def make_review(home, n=60, ids=None, classes=CLASSES, wrong=10, seed=0, photos=True):
    """Write photos, features and labels of which some are wrong; return the truth."""
    rng = np.random.default_rng(seed)
    truth = np.array(classes)[np.arange(n) % len(classes)]
    codes = np.arange(n) % len(classes)
    centres = np.eye(len(classes), 2 * len(classes)) * 3
    X = centres[codes] + 0.7 * rng.normal(size=(n, centres.shape[1]))
    ids = ids or [f"{i:05d}.jpg" for i in range(n)]
    labels = truth.astype(object)
    rows = rng.choice(n, wrong, replace=False)
    labels[rows] = np.array(classes)[(codes[rows] + 1) % len(classes)]
    sure = rng.uniform(0.82, 1, n).round(4)
    sure[rows] = rng.uniform(0.35, 0.7, wrong).round(4)
    home.mkdir(parents=True, exist_ok=True)
    if photos:
        (home / "photos").mkdir(exist_ok=True)
        for name, code in zip(ids, codes, strict=True):
            shade = tuple(int(90 + 70 * (code == part)) for part in range(3))
            Image.new("RGB", (48, 32), shade).save(home / "photos" / name, "JPEG")
    np.savez(home / "features.npz", features=X, paths=np.array(ids))
    second = np.array(classes)[(codes + 2) % len(classes)]
    table = label_table(labels, ids=ids, reliability=sure, second=second)
    write_labels(table, home / "labels.csv")
    return pd.Series(truth, index=ids)


class Asked:
    """What a page asks a server, and what it waits for."""

    def get(self, path, **headers):
        status, content = self.ask("api/" + path, **headers)
        assert status == 200, content
        return json.loads(content)

    def post(self, path, **body):
        status, content = self.ask("api/" + path, body)
        assert status == 200, content
        return json.loads(content)

    def say(self, rows, label, tab="one", uid=""):
        entry = {"op": "label", "rows": rows, "label": label, "uid": uid}
        return self.post("answers", tab=tab, entries=[entry])

    def corrections(self, folder="labels.review"):
        """Return corrections.csv as it is on the disk, by id."""
        table = read_labels(self.home / folder / "corrections.csv")
        return dict(zip(table["id"], table["label"], strict=True))

    def until(self, holds, seconds=300):
        """Wait until a state holds, and return it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            state = self.get("state")
            if holds(state):
                return state
            time.sleep(0.05)
        raise AssertionError(state)

    def ready(self):
        return self.until(lambda state: not state["hindrance"])

    def taught(self):
        return self.until(
            lambda state: state["learning"]["state"] in ("done", "failed")
        )

    def headed(self, body, headers):
        """Return the headers of a request; what is None is left out."""
        headers = {name.replace("_", "-"): text for name, text in headers.items()}
        if body is not None:
            known = {"Content-Type": "application/json", "Origin": self.origin}
            headers = known | headers
        return {name: text for name, text in headers.items() if text is not None}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stop()


class Opened(Asked):
    """A review in this process: the server's app, asked without a network."""

    def __init__(self, home, labels="labels.csv", **options):
        from unseen.review.app import Guard, make_app  # starlette may be missing
        from unseen.review.opening import open_review

        self.home = Path(home)
        self.session = open_review(self.home / labels, **options)
        self.guard = Guard(make_app(self.session))
        self.root, self.origin = f"/{self.guard.token}/", "http://127.0.0.1:0"

    def ask(self, path, body=None, **headers):
        sent = b"" if body is None else json.dumps(body).encode()
        where = path if path.startswith("/") else self.root + path
        path, _, query = where.partition("?")
        headers = {"host": "127.0.0.1:0", "content-length": str(len(sent))} | (
            self.headed(body, headers)
        )
        scope = {
            "type": "http", "method": "GET" if body is None else "POST", "path": path,
            "query_string": query.encode(), "root_path": "", "headers": [
                (name.lower().encode(), text.encode()) for name, text in headers.items()
            ],
        }  # fmt: skip
        told = []

        async def receive():
            return {"type": "http.request", "body": sent}

        async def send(message):
            told.append(message)

        asyncio.run(self.guard(scope, receive, send))
        return told[0]["status"], b"".join(one.get("body", b"") for one in told)

    def stop(self):
        self.session.close()


class Served(Asked):
    """A server in its own process; ``url`` is where its page is."""

    def __init__(self, home, *options, labels="labels.csv", cache=None, browser=None):
        self.home = Path(home)
        environment = dict(os.environ, BROWSER=str(browser))
        if cache is not None:
            environment["UNSEEN_CACHE"] = str(cache)
        opens = "--no-browser" if browser is None else "--browser"
        command = [*MAIN, "review", labels, opens, *options]
        self.process = subprocess.Popen(
            command, cwd=home, env=environment, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        first = self.process.stdout.readline()
        if not first.startswith("Open "):
            self.process.wait(300)
            raise AssertionError(first + self.process.stderr.read())
        self.url = first.split()[1]
        parts = urlsplit(self.url)
        self.port, self.root = parts.port, parts.path
        self.origin = f"http://127.0.0.1:{self.port}"

    def ask(self, path, body=None, method=None, **headers):
        """Return status and body of a request; ``body`` is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        sent = body if body is None or type(body) is bytes else json.dumps(body)
        way = method or ("GET" if body is None else "POST")
        where = path if path.startswith("/") else self.root + path
        with closing(connection):  # also where the server is killed in the middle
            connection.request(way, where, sent, self.headed(body, headers))
            with connection.getresponse() as answer:
                content = answer.read()
        self.headers = dict(answer.getheaders())
        return answer.status, content

    def stop(self, how=signal.SIGINT):
        """Press Ctrl-C; return the exit code and what was printed."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        out, err = self.process.communicate(timeout=300)
        return self.process.returncode, out, err
