"""The server: for one browser on this machine, and no answer is lost by a kill."""

import io
import json
import os
import resource
import signal
import socket
import subprocess
import threading
import time
import zlib
from http.client import HTTPException

import numpy as np
import pandas as pd
import pytest
from reviewing import MAIN, Served, make_review

from unseen.labels import label_table, read_labels, write_labels
from unseen.review.journal import read_journal
from unseen.review.origins import Origin, note_origin

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("served")
    make_review(home)
    return home


@pytest.fixture(scope="module")
def served(home):
    with Served(home, "--photos", "photos", "--features", "features.npz") as server:
        yield server


# ---- who may ask ---------------------------------------------------------------


def test_the_page_is_there_and_may_talk_to_nobody_else(served):
    status, page = served.ask(served.root)
    assert status == 200 and b"<title>Review</title>" in page
    policy = served.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert "http:" not in policy and "data:" not in policy
    assert served.headers["x-frame-options"] == "DENY"
    assert served.headers["referrer-policy"] == "no-referrer"
    assert "server" not in served.headers


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
    ],
)
def test_a_request_from_elsewhere_is_refused(served, headers, status):
    renamed = {name.replace("-", "_"): text for name, text in headers.items()}
    assert served.ask("api/state", **renamed)[0] == status
    before = served.get("state")["seq"]
    body = {"entries": [{"op": "class", "name": "evil"}]}
    assert served.ask("api/answers", body, **renamed)[0] == status
    assert served.get("state")["seq"] == before


def test_a_post_needs_our_origin_and_json(served):
    body = {"entries": [{"op": "class", "name": "evil"}]}
    assert served.ask("api/answers", body, Origin=None)[0] == 403
    assert served.ask("api/answers", body, Content_Type="text/plain")[0] == 415
    assert served.ask("api/answers", ["no object"])[0] == 400
    assert served.ask("api/answers", {"entries": [1]})[0] == 400
    taught = {"entries": [{"op": "teach", "file": "../../evil.csv"}]}
    assert served.ask("api/answers", taught)[0] == 400
    assert served.ask("api/state", method="DELETE", Origin=served.origin)[0] in (
        403,
        405,
        415,
    )


@pytest.mark.parametrize(
    "path", ["/", "/api/state", "/wrong/api/state", "/favicon.ico"]
)
def test_without_the_token_there_is_nothing(served, path):
    assert served.ask(path)[0] == 403


def test_only_this_machine_is_listened_to(served):
    own = socket.gethostbyname(socket.gethostname())
    if own.startswith("127."):
        pytest.skip("this machine has no other address")
    with pytest.raises(OSError), socket.create_connection((own, served.port), 2):
        pass


@pytest.mark.parametrize(
    "path",
    [
        "static/../app.py",
        "static/%2e%2e/app.py",
        "static/..%2fapp.py",
        "static/page.html",
        "static/%2fetc%2fpasswd",
        "api/small/..%2f..%2fetc%2fpasswd",
    ],
)
def test_no_path_leads_to_a_file(served, path):
    assert served.ask(path)[0] == 404


# ---- photos --------------------------------------------------------------------


def test_photos_come_by_number_as_jpegs(served):
    for size in ("small", "large"):
        status, picture = served.ask(f"api/{size}/3")
        assert status == 200 and picture[:3] == b"\xff\xd8\xff"
    assert served.ask("api/small/60")[0] == served.ask("api/small/-1")[0] == 400
    assert served.headers["content-type"] == "application/json"


def test_ids_lead_to_pictures_below_the_folder_alone(tmp_path):
    make_review(tmp_path, n=3, wrong=0)
    photos = tmp_path / "photos"
    photo = (photos / "00000.jpg").read_bytes()
    (tmp_path / "outside.jpg").write_bytes(photo)
    (photos / "link.jpg").symlink_to(tmp_path / "outside.jpg")
    (photos / ".hidden").mkdir()
    (photos / ".hidden/a.jpg").write_bytes(photo)
    (photos / "inner.jpg").symlink_to(photos / ".hidden/a.jpg")
    (photos / "key.jpg").write_bytes(b"-----BEGIN OPENSSH PRIVATE KEY-----")
    no = ["../photos/00000.jpg", str(photos / "00000.jpg"), "link.jpg", ".hidden/a.jpg",
          "inner.jpg", "key.jpg", "..\\outside.jpg", "a/../../outside.jpg", "nul\\a",
          "x" * 5000]  # fmt: skip
    table = label_table(["a"] * (len(no) + 1), ids=[*no, "./00000.jpg"])
    write_labels(table, tmp_path / "labels.csv")
    with Served(tmp_path, "--photos", "photos") as server:
        found = [server.ask(f"api/small/{row}")[0] for row in range(len(no) + 1)]
    assert found == [404] * len(no) + [200]
    with Served(photos, labels="../labels.csv") as server:  # no folder is guessed
        assert server.get("state")["kind"] == "row"


def test_texts_are_read(tmp_path):
    texts = ["<b>one</b>", "two\nlines", "x" * 1000]
    table = label_table(["a", "a", "b"], text=texts)
    write_labels(table, tmp_path / "labels.csv")
    with Served(tmp_path) as server:
        assert server.get("state")["kind"] == "text"
        assert server.get("text/0")["text"] == texts[0]
        (item,) = server.get("items?rows=2")["items"]
        assert len(item["text"]) == 300
        assert server.ask("api/small/0")[0] == 404


# ---- answers -------------------------------------------------------------------


def test_two_tabs_see_and_keep_each_others_answers(served, home):
    before = served.get("state")["seq"]

    def many(tab, rows, label):
        for row in rows:
            served_one.say([row], label, tab)

    served_one = served
    tabs = [
        threading.Thread(target=many, args=("one", range(0, 20), "cow")),
        threading.Thread(target=many, args=("two", range(20, 40), "dog")),
    ]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    state = served.get("state")
    assert state["seq"] == before + 40 and state["given"] == 40
    items = served.get("items?rows=" + ",".join(map(str, range(40))))["items"]
    assert [item["label"] for item in items] == ["cow"] * 20 + ["dog"] * 20
    entries = read_journal(home / "labels.review" / "answers.jsonl").entries
    assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))


def test_a_second_server_on_the_same_labels_is_refused(served, home):
    command = [*MAIN, "review", "labels.csv", "--no-browser"]
    run = subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=300)
    assert run.returncode == 2 and "another unseen program" in run.stderr
    assert "Traceback" not in run.stderr


def test_every_confirmed_answer_outlives_a_kill(tmp_path):
    make_review(tmp_path, photos=False)
    rng, confirmed = np.random.default_rng(0), {}
    for run in range(3):
        server = Served(tmp_path)
        given = server.get("state")["given"]
        assert given >= len(confirmed)
        items = server.get("items?rows=" + ",".join(map(str, range(60))))["items"]
        for row, label in confirmed.items():
            assert items[row]["label"] == label and items[row]["mine"]
        stop = threading.Timer(rng.uniform(0.1, 0.6), server.process.kill)
        stop.start()
        try:
            while True:
                row, label = int(rng.integers(60)), str(rng.choice(["cat", "emu"]))
                pending = row
                confirmed.pop(row, None)  # may or may not be written
                server.say([row], label, uid=f"{run}-{rng.integers(2**40)}")
                confirmed[row] = label
        except (OSError, HTTPException):  # killed before or in the middle of a reply
            confirmed.pop(pending, None)
        stop.join()
        server.kill()
    assert confirmed
    with Served(tmp_path) as server:
        code, out, _ = server.stop()
    assert code == 0 and "answers are in" in out
    table = read_labels(tmp_path / "labels.review" / "corrections.csv")
    known = dict(zip(table["id"], table["label"], strict=True))
    assert {f"{row:05d}.jpg": label for row, label in confirmed.items()}.items() <= (
        known.items()
    )


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_every_signal_ends_it_with_the_tables_written(tmp_path, how):
    make_review(tmp_path, photos=False)
    server = Served(tmp_path)
    server.say([1], "emu")  # the tables are written half a second after it
    code, out, err = server.stop(getattr(signal, how))
    assert code == 0 and not err.partition("by then.\n")[2]
    assert "1 answer is in" in out
    assert server.corrections() == {"00001.jpg": "emu"}


def test_after_a_full_disk_the_tables_are_written_again(tmp_path):
    make_review(tmp_path, photos=False)
    with Served(tmp_path) as server:
        server.say([0], "cow")
        server.until(lambda state: (tmp_path / "labels.review/reviewed.csv").exists())
        pid, most = server.process.pid, resource.RLIMIT_FSIZE
        journal = (tmp_path / "labels.review/answers.jsonl").stat().st_size
        table = (tmp_path / "labels.review/reviewed.csv").stat().st_size
        assert journal + 200 < table
        resource.prlimit(pid, most, (journal + 200, resource.RLIM_INFINITY))
        server.say([1], "emu")  # the journal has room for it, the table has not
        state = server.until(lambda state: state["trouble"])
        assert "cannot be written" in state["trouble"] and state["given"] == 2
        entries = [{"op": "label", "rows": [2], "label": "y" * 150}]
        status, content = server.ask("api/answers", {"entries": entries})
        assert status == 507 and b"not saved" in content
        resource.prlimit(pid, most, (resource.RLIM_INFINITY,) * 2)
        server.until(lambda state: not state["trouble"])
        assert server.corrections() == {"00000.jpg": "cow", "00001.jpg": "emu"}
        server.say([2], "dog")
    assert server.corrections()["00002.jpg"] == "dog"


def test_a_forged_journal_is_refused_in_a_line(tmp_path):
    forged = {"seq": 1, "op": "teach", "file": "/etc/passwd"}
    make_review(tmp_path, photos=False)
    with Served(tmp_path) as server:
        server.say([1], "emu")
    path = tmp_path / "labels.review" / "answers.jsonl"
    head, last = path.read_text().splitlines()
    lines = [head, json.dumps(forged), last.replace('"seq":1', '"seq":2')]
    path.write_text("\n".join(lines) + "\n")
    command = [*MAIN, "review", "labels.csv", "--no-browser"]
    run = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 2 and "line 2 is no answer" in run.stderr
    assert "Traceback" not in run.stderr
    path.write_text("\n".join(lines[:2]) + "\n")  # as the last line, it is set aside
    with Served(tmp_path) as server:
        assert "set aside" in server.get("state")["notices"][0]
        assert server.get("state")["seq"] == 0
    assert json.loads(path.with_suffix(".torn").read_text()) == forged


def test_a_review_writes_through_no_link(tmp_path):
    make_review(tmp_path, photos=False)
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "labels.review").mkdir()
    (tmp_path / "labels.review/corrections.csv").symlink_to(tmp_path / "mine.txt")
    command = [*MAIN, "review", "labels.csv", "--no-browser"]
    run = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 2 and "is a link" in run.stderr
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_another_table_starts_another_review(tmp_path):
    make_review(tmp_path, photos=False)
    with Served(tmp_path) as server:
        server.say([0, 1], "dog")
        server.say([2], "emu")
        server.say([3], "")
    old = server.corrections()
    table = read_labels(tmp_path / "labels.csv")
    ids = table["id"][1:].tolist()
    labels = np.where(np.arange(59) % 2, "dog", "wolf")
    write_labels(label_table(labels, ids=ids), tmp_path / "labels.csv")
    server = Served(tmp_path)
    state = server.get("state")
    assert [one["name"] for one in state["classes"]] == ["dog", "wolf"]
    assert state["changed"] == state["given"] == 0 and state["n"] == 59
    assert "labels.review holds the review of another table" in state["notices"][0]
    assert state["carried"] == 1  # row 0 is gone, so are emu and none of these
    assert server.post("carry") == {"carried": 1}
    state = server.get("state")
    assert state["given"] == 1 and not state["carried"] and not state["notices"]
    _, out, err = server.stop()
    assert "so the review of this one is in" in err and "labels.review-2" in out
    assert server.corrections() == old  # nobody touched it
    new = tmp_path / "labels.review-2" / "corrections.csv"
    assert new.read_text() == f"id,label\n{ids[0]},dog\n"
    with Served(tmp_path) as again:
        assert again.get("state")["given"] == 1 and not again.get("state")["notices"]


def test_answers_about_rows_are_not_carried_over_to_texts(tmp_path):
    ids, path = ["0", "1", "2"], tmp_path / "labels.csv"
    write_labels(label_table(["a", "b", "b"], ids=ids), path)
    note_origin(path, Origin("rows", "digits"))
    with Served(tmp_path) as server:
        server.say([1], "a")
    texts = ["one", "two", "three"]
    write_labels(label_table(["b", "b", "a"], ids=ids, text=texts), path)
    note_origin(path, Origin("texts", str(tmp_path / "texts.csv"), names=["a", "b"]))
    with Served(tmp_path) as server:
        state = server.get("state")
        assert state["kind"] == "text" and not state["carried"] and not state["given"]
        assert state["notices"]
    reviewed = read_labels(tmp_path / "labels.review-2" / "reviewed.csv")
    assert reviewed["label"].tolist() == ["b", "b", "a"]
    assert server.corrections() == {"1": "a"}


def test_ctrl_c_while_it_gets_ready_ends_in_peace(tmp_path):
    pytest.importorskip("onnxruntime")
    make_review(tmp_path, n=400, wrong=0)
    for seconds in (0.0, 0.7, 1.5, 3.0):
        cache = tmp_path / f"cache-{seconds}"
        options = ["--photos", "photos", "--encoder", "lite0"]
        server = Served(tmp_path, *options, cache=cache)
        time.sleep(seconds)
        code, _, err = server.stop()
        assert code == 0 and not err.partition("by then.\n")[2]


def test_the_browser_is_not_started_with_the_token(tmp_path):
    make_review(tmp_path, photos=False)
    script = tmp_path / "browser"
    script.write_text('#!/bin/sh\nprintf %s "$*" > asked.tmp; mv asked.tmp asked\n')
    script.chmod(0o700)
    with Served(tmp_path, browser=script) as server:
        asked = tmp_path / "asked"
        server.until(lambda state: asked.exists())
        once = asked.read_text()
        assert server.root.strip("/") not in once and once.startswith(server.origin)
        path = once.removeprefix(server.origin)
        assert server.ask(path, Host="evil.example")[0] == 421
        assert server.ask(path)[0] == 303
        assert server.headers["location"] == server.root
        assert server.ask(path)[0] == 403  # it leads there once


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("api/answers", {"entries": [{"op": "class", "name": "a", "uid": ["x"]}]}),
        ("api/answers", {"entries": [{"op": "class", "name": "a", "uid": {}}]}),
        ("api/answers", {"entries": [{"op": "class", "name": "a"}], "tab": [1]}),
        ("api/undo", {"uid": {}}),
        ("api/check", {"n": 2**70}),
        ("api/items?rows=" + "9" * 5000, None),
        ("api/items?rows=²", None),
        ("api/small/" + "9" * 5000, None),
        ("api/text/" + "9" * 19, None),
        ("api/text/-1", None),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_makes_no_sense_is_refused_with_a_reason(served, path, body):
    before = served.get("state")["seq"]
    status, content = served.ask(path.replace("²", "%C2%B2"), body)
    assert status == 400 and json.loads(content)["reason"]
    assert served.get("state")["seq"] == before


def test_bombs_do_not_fill_the_memory(tmp_path):
    """Six at once, 90 million pixels each, in files of less than 100 kB."""
    make_review(tmp_path, n=6, wrong=0)
    for path in (tmp_path / "photos").iterdir():
        path.write_bytes(bomb(10_000, 9_000))
    with Served(tmp_path, "--photos", "photos") as server:
        asked = [
            threading.Thread(target=server.ask, args=(f"api/{size}/{row}",))
            for row in range(6)
            for size in ("small", "large")
        ]
        for one in asked:
            one.start()
        for one in asked:
            one.join()
        with open(f"/proc/{server.process.pid}/status") as file:
            (peak,) = [line.split()[1] for line in file if line.startswith("VmHWM")]
    assert int(peak) < 450_000  # kB


def bomb(width, height):
    """Return a PNG of zeros, as small as it gets."""
    lines = zlib.compressobj(9)
    row = b"\0" * (1 + 3 * width)
    packed = b"".join(lines.compress(row) for _ in range(height)) + lines.flush()
    sizes = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    parts = [(b"IHDR", sizes + b"\x08\x02\0\0\0"), (b"IDAT", packed), (b"IEND", b"")]
    made = io.BytesIO(b"")
    made.write(b"\x89PNG\r\n\x1a\n")
    for kind, content in parts:
        crc = zlib.crc32(kind + content).to_bytes(4, "big")
        made.write(len(content).to_bytes(4, "big") + kind + content + crc)
    return made.getvalue()


def test_labels_of_the_command_are_enough_to_teach(tmp_path):
    """``unseen label`` notes where photos and features are: nothing more is asked."""
    onnx = pytest.importorskip("onnxruntime")
    assert onnx
    make_review(tmp_path, n=12, wrong=0)
    environment = dict(os.environ, UNSEEN_CACHE=str(tmp_path / "cache"))
    features, vectors = tmp_path / "features.npz", tmp_path / "vectors.npy"
    np.save(vectors, (np.eye(3, 6) * 3).astype(np.float32))
    label = ["label", "photos", "--classes", "cat,cow,dog", "--out", "made.csv"]
    label += ["--encoder", f"{features}+{vectors}", "--json"]
    subprocess.run([*MAIN, *label], cwd=tmp_path, env=environment, check=True)
    other = tmp_path / "elsewhere"
    other.mkdir()
    with Served(other, labels="../made.csv", cache=tmp_path / "cache") as server:
        assert server.get("state")["kind"] == "photo"
        assert server.ask("api/small/0")[0] == 200
        server.ready()
        server.say([0], "dog")
        server.post("teach")
        assert server.taught()["learning"]["state"] == "done"


def test_json_is_ascii_whatever_names_hold(tmp_path):
    ids = ["caf\udce9.jpg", "<script>alert(1)</script>", "\u202eevil"]
    write_labels(label_table(["<img src=x>"] * 3, ids=ids), tmp_path / "labels.csv")
    with Served(tmp_path) as server:
        status, content = server.ask("api/items?rows=0,1,2")
        assert status == 200
    assert content.isascii()
    assert [item["id"] for item in json.loads(content)["items"]] == ids


def test_rows_are_reviewed_and_given_back_by_their_own_ids(tmp_path):
    """``run --id`` names the rows, and so do the page, the tables and ``--given``."""
    rng = np.random.default_rng(0)
    A, names = rng.normal(size=(5, 3)), np.array(list("abcde"))
    y = np.repeat(np.arange(5), 12)
    X = A[y] @ rng.normal(size=(3, 6)) + 0.2 * rng.normal(size=(60, 6))
    rows = pd.DataFrame(X).add_prefix("f").assign(label=np.where(y < 3, names[y], ""))
    rows.insert(0, "ring", [f"r{100 + i}" for i in range(60)])
    rows.to_csv(tmp_path / "birds.csv", index=False)
    table = pd.DataFrame(A, index=names).add_prefix("a").rename_axis("class")
    table.to_csv(tmp_path / "looks.csv")
    words = ["run", "birds.csv", "--classes", "looks.csv", "--id", "ring", "--out"]
    cache = tmp_path / "cache"
    environment = dict(os.environ, UNSEEN_CACHE=str(cache))
    subprocess.run(
        [*MAIN, *words, "labels.csv"], cwd=tmp_path, env=environment, check=True
    )
    with Served(tmp_path, cache=cache) as server:
        server.ready()
        (item,) = server.get("items?rows=3")["items"]
        assert item["id"] == "r139"
        server.say([3], "e")
        server.post("teach")
        assert server.taught()["learning"]["state"] == "done"
    reviewed = read_labels(tmp_path / "labels.review/reviewed.csv").set_index("id")
    assert reviewed.index.tolist() == rows["ring"][36:].tolist()
    assert (
        reviewed.loc["r139", "label"] == "e" and reviewed.loc["r139", "given"] == "yes"
    )
    assert server.corrections() == {"r139": "e"}
    words += ["again.csv", "--given", "labels.review/corrections.csv"]
    subprocess.run([*MAIN, *words], cwd=tmp_path, env=environment, check=True)
    again = read_labels(tmp_path / "again.csv").set_index("id")
    assert again.loc["r139", "label"] == "e" and again.loc["r139", "reliability"] == 1
