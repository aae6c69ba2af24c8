"""From a file of texts and names to labels, in Python and from the shell."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tests.checks import close
from unseen import NONE_OF_THESE, draw_check
from unseen.cli import app
from unseen.labels import COLUMNS, read_labels
from unseen.texts import NamedTexts, label_texts, load_demo_texts
from unseen.texts.label import TextJob
from unseen.texts.named import FOREIGN

runner = CliRunner()
DEMO = load_demo_texts()
NAMES = ",".join(DEMO.classes)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "in" / "tickets.csv"
    path.parent.mkdir()
    frame = pd.DataFrame({"number": DEMO.ids, "text": DEMO.texts})
    frame.to_csv(path, index=False)
    return path


def run(*arguments, **options):
    return runner.invoke(app, ["label", *map(str, arguments)], **options)


def test_every_text_gets_a_label(table):
    frame = label_texts(table, NAMES, id="number")
    assert tuple(frame.columns) == (*COLUMNS, "novelty", "text")
    assert frame["text"].tolist() == DEMO.texts
    assert frame["id"].tolist() == DEMO.ids
    model = NamedTexts().fit(DEMO.classes).adapt(DEMO.texts)
    assert (frame["label"] == model.labels_).mean() == 1
    close(frame["reliability"], model.reliability_, digits=3)
    close(frame["novelty"], model.novelty_, digits=3)
    assert "Adapted to 200 texts" in frame.attrs["message"]


def test_rows_may_come_in_any_order_and_any_number_of_times(table):
    frame = label_texts(DEMO.texts, NAMES)
    order = np.random.default_rng(0).permutation(200)
    again = label_texts([DEMO.texts[i] for i in order] * 3, NAMES)
    wanted = frame.iloc[np.tile(order, 3)]
    for name in ("label", "reliability", "second", "first_trusted", "novelty"):
        assert again[name].tolist() == wanted[name].tolist()


def test_what_was_not_learned_from_is_labelled_as_by_the_model():
    job = TextJob(DEMO.texts, NAMES, learn_from=100)
    frame = pd.concat(job.parts())
    assert "Adapted to 100 texts" in job.message
    new = frame["label"] == job.fitted.predict(DEMO.texts)
    learned = set(job.fitted.labels_.tolist())
    assert new.sum() >= 100 and learned <= set(DEMO.classes)
    assert (frame["label"] == DEMO.truth).mean() > 0.65
    backwards = pd.concat(TextJob(DEMO.texts[::-1], NAMES, learn_from=100).parts())
    assert backwards["label"].tolist()[::-1] == frame["label"].tolist()


def test_empty_texts_keep_their_rows(table):
    frame = label_texts(["", *DEMO.texts, " "], NAMES)
    assert len(frame) == 202
    assert frame["label"].iloc[[0, -1]].tolist() == ["", ""]
    assert frame["reliability"].iloc[[0, -1]].isna().all()
    assert "2 texts say nothing and have no label" in frame.attrs["message"]


def test_the_shell_writes_labels_page_and_model(table, tmp_path):
    out = tmp_path / "out" / "labels.csv"
    given = tmp_path / "given.csv"
    given.write_text("id,label\nt000,music\nt001,money\nt002,\n")
    ended = run(table, "--id", "number", "--classes", NAMES, "--out", out.parent,
                "--given", given, "--save", tmp_path / "m.unseen",
                "--template", "{}")  # fmt: skip
    assert ended.exit_code == 0, ended.output
    frame = read_labels(out)
    assert frame["id"].tolist() == DEMO.ids and "text" not in frame
    assert frame["label"].tolist()[:2] == ["music", "money"]
    assert frame["reliability"].tolist()[:2] == [1, 1]
    page = out.with_name("report.html").read_text("utf-8")
    assert DEMO.texts[0] in page and "tickets.csv: 10 classes" in page
    assert f"Labels are in {out}" in ended.output
    (tmp_path / "new.txt").write_text("he shot over the goal\nis it going to rain?\n")
    again = [tmp_path / "new.txt", "--model", tmp_path / "m.unseen"]
    ended = run(*again, "--out", tmp_path / "n.csv")
    assert ended.exit_code == 0, ended.output
    frame = read_labels(tmp_path / "n.csv")
    assert frame["label"].tolist() == ["football", "weather"]
    assert "does nothing for a saved model" in run(*again, "--learn-from", 5).stderr


def test_answers_to_a_random_check_say_which_labels_can_be_used(table, tmp_path):
    ask = [table, "--column", "text", "--classes", NAMES, "--out", tmp_path / "l.csv"]
    told = run(*ask)
    assert "Unchecked" in told.stdout
    first = read_labels(tmp_path / "l.csv")
    assert set(first["sure"]) == {"unchecked"}
    stated, plan = first["reliability"], "80 for 90 %, look 1"
    rows = draw_check(first["label"], 80, reliability=stated, wanted=0.9)
    answers = pd.DataFrame({"id": first["id"][rows], "label": DEMO.truth[rows]})
    answers.assign(check=plan).to_csv(tmp_path / "answers.csv", index=False)
    told = run(*ask, "--force", "--checked", tmp_path / "answers.csv")
    assert told.exit_code == 0, told.output
    assert "of labels are right" in told.stdout and "90 % right" in told.stdout
    second = read_labels(tmp_path / "l.csv")
    assert second["label"].equals(first["label"])
    assert {"yes", "look"} >= set(second["sure"]) > set()
    assert (second["sure"][rows] == "yes").all()  # a person looked at them
    assert set(second["reliability_by"]) == {"80 checked"}
    same = second["reliability"].rank() == first["reliability"].rank()
    assert same.all()  # it learns how sure, not who is surer

    some = pd.read_csv(tmp_path / "answers.csv")[:30]
    some.to_csv(tmp_path / "some.csv", index=False)
    told = run(*ask, "--force", "--checked", tmp_path / "some.csv")
    assert told.exit_code == 2
    assert "Answer them all" in told.stderr


def test_labels_go_through_a_pipe(table, tmp_path):
    ended = run("-", "--classes", NAMES, "--out", "-", input="\n".join(DEMO.texts))
    assert ended.exit_code == 0
    rows = list(csv.DictReader(ended.stdout.splitlines()))
    frame = label_texts(DEMO.texts, NAMES)
    assert [row["label"] for row in rows] == frame["label"].tolist()
    assert "Adapted to 200 texts" in ended.stderr and "Adapted" not in ended.stdout


def test_foreign_texts_are_set_apart(table):
    plain = label_texts(table, "weather, music")
    apart = label_texts(table, "weather, music", unknown=True)
    strange = plain["novelty"] > FOREIGN
    assert strange.any() and (apart["label"][strange] == NONE_OF_THESE).all()
    assert (apart["label"][~strange] == plain["label"][~strange]).all()


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--column", "txt"], "there is no column 'txt'. Its columns are"),
        (["--id", "kind"], "id 'a' is there twice"),
        (["--encoder", "nobody"], "There is no text encoder 'nobody'"),
        (["--template", "no place"], "Write {} once"),
        (["--out", "tickets.csv"], "is being read"),
    ],
)
def test_faults_are_one_line(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    Path("tickets.csv").write_text("kind,text\na,my dog\na,the rain\n")
    ended = run("tickets.csv", "--classes", "pets, weather", *arguments)
    assert ended.exit_code == 2 and words in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
    assert not Path("labels.csv").exists()


@pytest.mark.parametrize(
    "texts, given, words",
    [
        ([], {}, "there is no text in it"),
        (["a dog"], {"1": "pets"}, r"given for '1', but .* \(1 such label\)"),
        (
            ["a dog"] * 2,
            {"0": "pets", "1": "weather"},
            "'1' and before it, has two",
        ),
    ],
)
def test_what_cannot_be_labelled_is_a_sentence(texts, given, words):
    with pytest.raises(ValueError, match=words):
        label_texts(texts, "pets, weather", given=given)


MEMORY = """
import resource, sys
from unseen.cli import main
source, names, out = sys.argv[1:]
sys.argv = ["unseen", "label", source, "--classes", names, "--out", out]
try:
    main()
finally:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print("peak", usage.ru_maxrss // 1024, "cpu", usage.ru_utime + usage.ru_stime)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file_and_texts_are_quick(tmp_path):
    rng = np.random.default_rng(0)
    words = np.array(" ".join(DEMO.texts).split())
    path = tmp_path / "many.txt"
    with open(path, "w") as file:
        for _ in range(200):
            for row in rng.choice(words, size=(1000, 9)):
                file.write(" ".join(row) + "\n")
    ended = subprocess.run(
        [sys.executable, "-c", MEMORY, path, NAMES, tmp_path / "l.csv"],
        env=os.environ | {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    _, peak, _, cpu = ended.stdout.splitlines()[-1].split()
    assert int(peak) < 700
    assert 200_000 / float(cpu) > 5_000
    assert len(read_labels(tmp_path / "l.csv")) == 200_000
