"""The server: for one browser on this machine, and no answer is lost by a kill."""

import json
import os
import socket
import subprocess
import threading
from http.client import HTTPException

import numpy as np
import pytest
from reviewing import MAIN, Served, make_review

from unseen.labels import label_table, read_labels, write_labels
from unseen.review.journal import read_journal

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
        "api/small/-1",
    ],
)
def test_no_path_leads_to_a_file(served, path):
    assert served.ask(path)[0] == 404


# ---- photos --------------------------------------------------------------------


def test_photos_come_by_number_as_jpegs(served):
    for size in ("small", "large"):
        status, picture = served.ask(f"api/{size}/3")
        assert status == 200 and picture[:3] == b"\xff\xd8\xff"
    assert served.ask("api/small/60")[0] == 400
    assert served.headers["content-type"] == "application/json"


def test_ids_that_lead_out_of_the_folder_are_not_followed(tmp_path):
    make_review(tmp_path, n=3, wrong=0)
    ids = ["../photos/00000.jpg", str(tmp_path / "photos/00000.jpg"), "00000.jpg"]
    write_labels(label_table(["a", "a", "b"], ids=ids), tmp_path / "labels.csv")
    with Served(tmp_path, "--photos", "photos") as server:
        found = [server.ask(f"api/small/{row}")[0] for row in range(3)]
    assert found == [404, 404, 200]


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
    entries = read_journal(home / "labels.review" / "answers.jsonl")
    assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))


def test_a_second_server_on_the_same_labels_is_refused(served, home):
    command = [*MAIN, "review", "labels.csv", "--no-browser"]
    run = subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=120)
    assert run.returncode == 2 and "another unseen review" in run.stderr
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


def test_ctrl_c_ends_it_with_the_tables_written(tmp_path):
    make_review(tmp_path, photos=False)
    server = Served(tmp_path)
    server.say([1], "emu")
    code, out, err = server.stop()
    assert code == 0 and "Traceback" not in err
    assert "1 answers are in" in out or "1 answer is in" in out
    assert (tmp_path / "labels.review" / "corrections.csv").read_text() == (
        "id,label\n00001.jpg,emu\n"
    )


def test_labels_of_the_command_are_enough_to_teach(tmp_path):
    """``unseen label`` notes where photos and features are: nothing more is asked."""
    onnx = pytest.importorskip("onnxruntime")
    assert onnx
    make_review(tmp_path, n=12, wrong=0)
    environment = dict(os.environ, UNSEEN_CACHE=str(tmp_path / "cache"))
    features, vectors = tmp_path / "features.npz", tmp_path / "vectors.npy"
    np.save(vectors, (np.eye(3, 6) * 3).astype(np.float32))
    label = ["label", "photos", "--classes", "cat,cow,dog", "--out", "made.csv"]
    label += ["--encoder", str(features), "--text", str(vectors), "--json"]
    subprocess.run([*MAIN, *label], cwd=tmp_path, env=environment, check=True)
    other = tmp_path / "elsewhere"
    other.mkdir()
    with Served(other, labels="../made.csv", cache=tmp_path / "cache") as server:
        assert server.get("state")["kind"] == "photo"
        assert server.ask("api/small/0")[0] == 200
        server.ready()
        server.say([0], "dog")
        server.post("teach")
        assert server.taught()["lesson"]["state"] == "done"


def test_what_is_no_table_of_labels_is_said_in_a_line(tmp_path):
    (tmp_path / "labels.csv").write_text("name,what\n1,2\n")
    command = [*MAIN, "review", "labels.csv", "--no-browser"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 2 and "there is no column 'id'" in run.stderr
    assert not (tmp_path / "labels.review").exists()


def test_json_is_ascii_whatever_names_hold(tmp_path):
    ids = ["caf\udce9.jpg", "<script>alert(1)</script>", "\u202eevil"]
    write_labels(label_table(["<img src=x>"] * 3, ids=ids), tmp_path / "labels.csv")
    with Served(tmp_path) as server:
        status, content = server.ask("api/items?rows=0,1,2")
        assert status == 200
        told = json.loads(content)["items"]
    assert told[0]["id"] == "caf\\udce9.jpg" and told[1]["id"] == ids[1]
