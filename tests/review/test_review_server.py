"""The server: for one browser on this machine, and for nobody else."""

import io
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from reviewing import Opened, Served, make_review
from typer.testing import CliRunner

from unseen.cli import app
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
    assert served.ask("api/state", method="DELETE")[0] == 403


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
    with Opened(tmp_path, folder=photos) as review:
        found = [review.ask(f"api/small/{row}")[0] for row in range(len(no) + 1)]
    assert found == [404] * len(no) + [200]
    with Opened(photos, labels="../labels.csv") as review:  # no folder is guessed
        assert review.get("state")["kind"] == "row"


def test_texts_are_read(tmp_path):
    texts = ["<b>one</b>", "two\nlines", "x" * 1000]
    table = label_table(["a", "a", "b"], text=texts)
    write_labels(table, tmp_path / "labels.csv")
    with Opened(tmp_path) as review:
        assert review.get("state")["kind"] == "text"
        assert review.get("text/0")["text"] == texts[0]
        (item,) = review.get("items?rows=2")["items"]
        assert len(item["text"]) == 300
        assert review.ask("api/small/0")[0] == 404


# ---- answers -------------------------------------------------------------------


def test_two_tabs_see_and_keep_each_others_answers(served, home):
    before = served.get("state")["seq"]

    def many(tab, rows, label):
        for row in rows:
            served.say([row], label, tab)

    with ThreadPoolExecutor() as tabs:
        tabs.submit(many, "one", range(0, 20), "cow")
        tabs.submit(many, "two", range(20, 40), "dog")
    state = served.get("state")
    assert state["seq"] == before + 40 and state["given"] == 40
    items = served.get("items?rows=" + ",".join(map(str, range(40))))["items"]
    assert [item["label"] for item in items] == ["cow"] * 20 + ["dog"] * 20
    entries = read_journal(home / "labels.review" / "answers.jsonl")[1]
    assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))


def test_a_second_server_on_the_same_labels_is_refused(served, home):
    assert "another unseen program" in refused(home)


def refused(home):
    """Return what the command says when it will not open a review."""
    ended = CliRunner().invoke(app, ["review", str(home / "labels.csv")])
    assert ended.exit_code == 2 and "Traceback" not in ended.stderr
    return ended.stderr


def test_a_forged_journal_is_refused_in_a_line(tmp_path):
    forged = {"seq": 1, "op": "teach", "file": "/etc/passwd"}
    make_review(tmp_path, photos=False)
    with Opened(tmp_path) as review:
        review.say([1], "emu")
    path = tmp_path / "labels.review" / "answers.jsonl"
    head, last = path.read_text().splitlines()
    lines = [head, json.dumps(forged), last.replace('"seq":1', '"seq":2')]
    path.write_text("\n".join(lines) + "\n")
    assert "line 2 is not an answer" in refused(tmp_path)
    path.write_text("\n".join(lines[:2]) + "\n")  # as the last line, it is set aside
    with Opened(tmp_path) as review:
        assert "set aside" in review.get("state")["notices"][0]
        assert review.get("state")["seq"] == 0
    assert json.loads(path.with_suffix(".torn").read_text()) == forged


def test_a_review_writes_through_no_link(tmp_path):
    make_review(tmp_path, photos=False)
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "labels.review").mkdir()
    (tmp_path / "labels.review/corrections.csv").symlink_to(tmp_path / "mine.txt")
    assert "is a link" in refused(tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_another_table_starts_another_review(tmp_path):
    make_review(tmp_path, photos=False)
    with Opened(tmp_path) as review:
        review.say([0, 1], "dog")
        review.say([2], "emu")
        review.say([3], "")
    old = review.corrections()
    ids = read_labels(tmp_path / "labels.csv")["id"][1:].tolist()
    for odd in ("fox", "dog"):  # nobody answers about the first of these
        labels = np.where(np.arange(59) % 2, odd, "wolf")
        write_labels(label_table(labels, ids=ids), tmp_path / "labels.csv")
        Opened(tmp_path).stop()
    with Opened(tmp_path) as review:
        state = review.get("state")
        assert [one["name"] for one in state["classes"]] == ["dog", "wolf"]
        assert state["changed"] == state["given"] == 0 and state["n"] == 59
        said = "labels.review-2 holds the review of another table"
        assert said in state["notices"][0] and "labels.review-3" in state["notices"][0]
        assert state["carried"] == 1  # row 0 is gone, so are emu and none of these
        assert review.post("carry") == {"carried": 1}
        state = review.get("state")
        assert state["given"] == 1 and not state["carried"] and not state["notices"]
    assert review.corrections() == old  # nobody touched it
    assert review.corrections("labels.review-3") == {ids[0]: "dog"}
    with Opened(tmp_path) as again:
        assert again.get("state")["given"] == 1 and not again.get("state")["notices"]


def test_answers_about_rows_are_not_carried_over_to_texts(tmp_path):
    ids, path = ["0", "1", "2"], tmp_path / "labels.csv"
    write_labels(label_table(["a", "b", "b"], ids=ids), path)
    note_origin(path, Origin("rows", "photos"))
    with Opened(tmp_path) as review:
        review.say([1], "a")
    texts = ["one", "two", "three"]
    write_labels(label_table(["b", "b", "a"], ids=ids, text=texts), path)
    note_origin(path, Origin("texts", str(tmp_path / "texts.csv"), names=["a", "b"]))
    with Opened(tmp_path) as review:
        state = review.get("state")
        assert state["kind"] == "text" and not state["carried"] and not state["given"]
        assert state["notices"]
    reviewed = read_labels(tmp_path / "labels.review-2" / "reviewed.csv")
    assert reviewed["label"].tolist() == ["b", "b", "a"]
    assert review.corrections() == {"1": "a"}


def test_ctrl_c_while_it_gets_ready_ends_in_peace(tmp_path):
    pytest.importorskip("onnxruntime")
    make_review(tmp_path, n=400, wrong=0)
    for seconds in (0.0, 1.5):
        cache = tmp_path / f"cache-{seconds}"
        server = Served(tmp_path, "--photos", "photos", cache=cache)
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
        ("api/answers", {"entries": [{"op": "class", "name": "a"}], "tab": [1]}),
        ("api/undo", {"uid": {}}),
        ("api/check", {"n": 2**70}),
        ("api/undo", b"[" * 100_000),
        ("api/items?rows=" + "9" * 5000, None),
        ("api/items?rows=²", None),
        ("api/small/" + "9" * 5000, None),
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
    """Six at once, 90 million pixels each, in small files."""
    make_review(tmp_path, n=6, wrong=0)
    bomb = io.BytesIO()
    Image.new("1", (10_000, 9_000)).save(bomb, "PNG")
    for path in (tmp_path / "photos").iterdir():
        path.write_bytes(bomb.getvalue())
    with Served(tmp_path, "--photos", "photos") as server:
        paths = [f"api/{size}/{row}" for row in range(6) for size in ("small", "large")]
        with ThreadPoolExecutor(12) as asking:
            assert {status for status, _ in asking.map(server.ask, paths)} == {404}
        with open(f"/proc/{server.process.pid}/status") as file:
            (peak,) = [line.split()[1] for line in file if line.startswith("VmHWM")]
    assert int(peak) < 450_000  # kB


def test_labels_of_the_command_are_enough_to_teach(tmp_path, monkeypatch):
    """``unseen label`` notes where photos and features are: nothing more is asked."""
    monkeypatch.setenv("UNSEEN_CACHE", str(tmp_path / "cache"))
    make_review(tmp_path, n=12, wrong=0)
    np.save(tmp_path / "vectors.npy", (np.eye(3, 6) * 3).astype(np.float32))
    monkeypatch.chdir(tmp_path)
    words = ["label", "photos", "--classes", "cat,cow,dog", "--out", "made.csv"]
    words += ["--encoder", "features.npz+vectors.npy", "--json"]
    assert CliRunner().invoke(app, words).exit_code == 0
    monkeypatch.chdir("/")
    with Opened(tmp_path, labels="made.csv") as review:
        assert review.get("state")["kind"] == "photo"
        assert review.ask("api/small/0")[0] == 200
        review.ready()
        review.say([0], "dog")
        review.post("teach")
        assert review.taught()["learning"]["state"] == "done"


def test_json_is_ascii_whatever_names_hold(tmp_path):
    ids = ["caf\udce9.jpg", "<script>alert(1)</script>", "\u202eevil"]
    write_labels(label_table(["<img src=x>"] * 3, ids=ids), tmp_path / "labels.csv")
    with Opened(tmp_path) as review:
        status, content = review.ask("api/items?rows=0,1,2")
    assert status == 200 and content.isascii()
    assert [item["id"] for item in json.loads(content)["items"]] == ids


def test_rows_are_reviewed_and_given_back_by_their_own_ids(tmp_path, monkeypatch):
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
    monkeypatch.setenv("UNSEEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    words = ["run", "birds.csv", "--classes", "looks.csv", "--id", "ring", "--out"]
    assert CliRunner().invoke(app, [*words, "labels.csv"]).exit_code == 0
    with Opened(tmp_path) as review:
        review.ready()
        (item,) = review.get("items?rows=3")["items"]
        assert item["id"] == "r139"
        review.say([3], "e")
        review.post("teach")
        assert review.taught()["learning"]["state"] == "done"
    reviewed = read_labels(tmp_path / "labels.review/reviewed.csv").set_index("id")
    assert reviewed.index.tolist() == rows["ring"][36:].tolist()
    assert reviewed.loc["r139", ["label", "given"]].tolist() == ["e", "yes"]
    assert review.corrections() == {"r139": "e"}
    words += ["again.csv", "--given", "labels.review/corrections.csv"]
    assert CliRunner().invoke(app, words).exit_code == 0
    again = read_labels(tmp_path / "again.csv").set_index("id")
    assert again.loc["r139", ["label", "reliability"]].tolist() == ["e", 1]
