"""A review without a browser: what answers come to, on the page and on the disk."""

import threading

import numpy as np
import pandas as pd
import pytest
from reviewing import CLASSES, make_review

from tests.checks import close
from unseen.labels import read_labels
from unseen.review.answers import Model
from unseen.review.lessons import NAME, RefusedError
from unseen.review.opening import open_review
from unseen.review.teaching import PileTeacher
from unseen.review.things import inside

pytest.importorskip("PIL")


@pytest.fixture
def opened(tmp_path):
    """Return a function that opens the review of made-up rows; all are closed."""
    sessions = []
    truth = make_review(tmp_path, photos=False)

    def again():
        for session in sessions:
            session.close()
        sessions[:] = [
            open_review(tmp_path / "labels.csv", features=tmp_path / "features.npz")
        ]
        return sessions[0]

    again.truth, again.home = truth, tmp_path
    yield again
    for session in sessions:
        session.close()


def wait_for(lesson, session):
    for thread in threading.enumerate():
        if thread.name == NAME:
            thread.join(60)
    return session.lessons.last


def say(session, rows, label, tab=""):
    session.say([{"op": "label", "rows": rows, "label": label}], tab)


def test_the_last_answer_counts_and_undo_goes_back_one_by_one(opened):
    session = opened()
    before = session.answers.labels()[3]
    say(session, [3], "dog", "a")
    say(session, [3], "", "a")
    assert session.answers.labels()[3] == ""
    assert session.undo("a", "1")["op"] == "label"
    assert session.answers.labels()[3] == "dog"
    assert session.undo("a", "2")["op"] == "label"
    assert session.answers.labels()[3] == before and not session.answers.given
    assert session.undo("a", "3") is None


def test_a_tab_undoes_what_was_done_in_it(opened):
    session = opened()
    say(session, [0], "dog", "a")
    say(session, [1], "cow", "b")
    session.undo("a", "1")
    assert session.answers.given == {1: "cow"}


def test_an_answer_sent_twice_counts_once(opened):
    session = opened()
    entry = {"op": "label", "rows": [0], "label": "dog", "uid": "x"}
    session.say([entry])
    session.say([entry, {"op": "label", "rows": [1], "label": "dog", "uid": "y"}])
    assert len(session.journal.entries) == 2


def test_a_review_that_is_opened_again_stands_where_it_stood(opened):
    session = opened()
    say(session, [0, 5], "dog")
    session.say([{"op": "rename", "old": "cow", "new": "ox"}])
    session.say([{"op": "class", "name": "emu"}])
    state, labels = session.state(), session.answers.labels()
    again = opened()
    same = again.state()
    for told in (state, same):
        told.pop("hindrance")
    assert same == state
    np.testing.assert_array_equal(again.answers.labels(), labels)
    assert [one["name"] for one in same["classes"]] == ["cat", "ox", "dog", "emu"]


def test_a_class_renamed_to_one_that_is_there_joins_it(opened):
    session = opened()
    sizes = {one["name"]: one["size"] for one in session.state()["classes"]}
    session.say([{"op": "rename", "old": "cow", "new": "dog"}])
    classes = session.state()["classes"]
    assert [one["name"] for one in classes] == ["cat", "dog"]
    assert classes[1]["size"] == sizes["cow"] + sizes["dog"]
    session.undo("", "1")
    assert {one["name"]: one["size"] for one in session.state()["classes"]} == sizes


def test_rows_are_filtered_and_ordered_as_asked(opened):
    session = opened()
    trust = session.first.reliability
    say(session, [7], "dog")
    rows = [row for part in session.index() for row in part["rows"]]
    assert sorted(rows) == list(range(60))
    for part in session.index():
        free = [row for row in part["rows"] if row != 7]
        assert (np.diff(trust[free]) >= 0).all()
    assert session.index(label="dog")[0]["rows"][-1] == 7  # certain: last
    below = [r for p in session.index(most=0.8, not_mine=True) for r in p["rows"]]
    assert sorted(below) == np.flatnonzero(trust <= 0.8).tolist()
    assert [r for p in session.index(mine=True) for r in p["rows"]] == [7]
    assert [r for p in session.index(changed=True) for r in p["rows"]] in ([7], [])
    named = [r for p in session.index(order="name", label="dog") for r in p["rows"]]
    assert named == sorted(named)


def test_corrections_and_the_corrected_table_are_written(opened):
    session = opened()
    say(session, [2], "emu")
    say(session, [4], "")
    session.write_tables()
    folder = opened.home / "labels.review"
    given = read_labels(folder / "corrections.csv")
    assert given["id"].tolist() == ["00002.jpg", "00004.jpg"]
    assert given["label"].tolist() == ["emu", "none of these"]
    assert (folder / "corrections.csv").read_text().startswith("id,label\n")
    whole = read_labels(folder / "reviewed.csv")
    assert whole["label"].tolist() == session.answers.labels().tolist()
    assert whole["given"].tolist().count("yes") == 2
    assert whole.loc[2, "reliability"] == 1


def test_teaching_mends_labels_that_nobody_corrected(opened):
    session = opened()
    wait_for(session.lessons, session)
    truth = opened.truth.to_numpy()
    wrong = np.flatnonzero(session.answers.labels() != truth)
    for row in wrong[:4]:
        say(session, [int(row)], truth[row])
    session.teach("t", "a")
    lesson = wait_for(session.lessons, session)
    assert lesson["state"] == "done", lesson
    labels = session.answers.labels()
    assert (labels == truth).mean() > 0.97 > 54 / 60
    assert lesson["changed"] == sum(move["n"] for move in lesson["moves"]) > 0
    session.undo("a", "u")
    assert (session.answers.labels() == truth).sum() == 60 - len(wrong) + 4


def test_given_labels_and_none_survive_teaching(opened):
    session = opened()
    wait_for(session.lessons, session)
    truth = opened.truth.to_numpy()
    say(session, [0], "dog")  # wrong on purpose: it is a person's word
    say(session, [1], "")
    say(session, [2, 5, 8], "emu")
    session.teach("t", "a")
    assert wait_for(session.lessons, session)["state"] == "done"
    labels = session.answers.labels()
    assert labels[0] == "dog" and labels[1] == "" and set(labels[[2, 5, 8]]) == {"emu"}
    assert "emu" in session.answers.classes and truth[0] != "dog"
    again = opened()
    np.testing.assert_array_equal(again.answers.labels(), labels)


def test_there_is_nothing_to_teach_without_an_answer_or_features(opened):
    session = opened()
    wait_for(session.lessons, session)
    with pytest.raises(RefusedError, match="no answer to learn from"):
        session.teach("t", "a")
    session.close()
    bare = open_review(opened.home / "labels.csv")
    try:
        wait_for(bare.lessons, bare)
        say(bare, [0], "dog")
        with pytest.raises(RefusedError, match="--features"):
            bare.teach("t", "a")
        doubtful = np.argsort(bare.first.reliability).tolist()
        doubtful.remove(0)
        assert bare.suggest(3) == doubtful[:3]
    finally:
        bare.close()


def test_a_suggestion_is_new_and_of_the_number_asked_for(opened):
    session = opened()
    wait_for(session.lessons, session)
    first = session.suggest(5)
    assert len(set(first)) == 5
    say(session, first, "dog")
    assert not set(session.suggest(5)) & set(first)


@pytest.mark.parametrize(
    "entry",
    [
        {"op": "label", "rows": [60], "label": "dog"},
        {"op": "label", "rows": [-1], "label": "dog"},
        {"op": "label", "rows": ["0"], "label": "dog"},
        {"op": "label", "rows": [True], "label": "dog"},
        {"op": "label", "rows": [0], "label": "x" * 201},
        {"op": "label", "rows": [0], "label": None},
        {"op": "label", "rows": [0], "label": "\ud800"},
        {"op": "rename", "old": "no such", "new": "x"},
        {"op": "class", "name": "  "},
        {"op": "undo", "of": 1},
        {"op": "rm -rf"},
        {},
    ],
)
def test_what_makes_no_sense_is_refused_and_not_written(opened, entry):
    session = opened()
    with pytest.raises(RefusedError):
        session.say([entry])
    assert not session.journal.entries


def test_answers_about_rows_that_are_gone_are_kept_and_counted(opened):
    session = opened()
    say(session, [0], "dog")
    session.close()
    path = opened.home / "labels.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:1] + lines[2:]))
    again = opened()
    assert again.state()["lost"] == 1 and not again.answers.given
    assert len(again.journal.entries) == 1


# ---- checking ------------------------------------------------------------------


def test_a_sample_is_kept_and_judged_by_the_labels_it_was_drawn_with(opened):
    session = opened()
    wait_for(session.lessons, session)
    truth = opened.truth.to_numpy()
    rows = session.check(12, "c", "a")
    assert session.check(12, "d", "a") == rows  # hard ones are not drawn away
    for row in rows:
        say(session, [row], truth[row])
    told = session.accuracy()
    model = session.first.labels
    assert told["checked"] == 12
    assert told["right"] == (model[rows] == truth[rows]).sum()
    assert told["low"] < told["share"] <= told["high"]
    session.teach("t", "a")
    wait_for(session.lessons, session)
    assert session.accuracy() == {"checked": 0, "drawn": 0}


def test_corrections_that_were_not_drawn_count_as_themselves(opened):
    session = opened()
    truth = opened.truth.to_numpy()
    rows = session.check(10, "c", "a")
    for row in rows:
        say(session, [row], session.first.labels[row])  # ten of ten are right
    other = next(row for row in range(60) if row not in rows)
    before = session.accuracy()
    say(session, [other], truth[other])
    after = session.accuracy()
    assert before["share"] == after["share"] == 1
    assert before["low"] < after["low"] < 1 and after["checked"] == 10


# ---- the teacher ---------------------------------------------------------------


def test_the_order_of_rows_is_free_in_a_lesson():
    rng = np.random.default_rng(1)
    truth = np.array(CLASSES, dtype=object)[np.arange(90) % 3]
    X = np.eye(3, 8)[np.arange(90) % 3] * 2 + 0.8 * rng.normal(size=(90, 8))
    labels = truth.copy()
    labels[::9] = "dog"
    current = Model(labels, rng.uniform(0.4, 1, 90), np.full(90, ""))
    order = rng.permutation(90)
    mixed = Model(*(column[order] for column in current))
    one = PileTeacher(X).teach(current, {0: "cat", 40: "cow"}).model
    given = {
        int(np.flatnonzero(order == r)[0]): n for r, n in [(0, "cat"), (40, "cow")]
    }
    two = PileTeacher(X[order]).teach(mixed, given).model
    np.testing.assert_array_equal(one.labels[order], two.labels)
    close(one.reliability[order], two.reliability, digits=5)


def test_a_lesson_is_adapt_with_given_labels_and_follows_renames():
    from unseen import NONE_OF_THESE, GuidedMixture

    rng = np.random.default_rng(3)
    codes = np.arange(120) % 3
    centres = rng.normal(size=(3, 10))
    X = centres[codes] + 0.9 * rng.normal(size=(120, 10))
    P = pd.DataFrame(centres + rng.normal(size=centres.shape), index=CLASSES)
    start = GuidedMixture.from_prototypes(P, plain=0.0)
    plain = start.adapt(X).labels_.astype(object)
    current = Model(plain, np.full(120, 0.5), np.full(120, ""))
    truth = np.array(CLASSES, dtype=object)[codes]
    given = {row: truth[row] for row in (0, 1, 2, 3, 4)} | {5: ""}
    taught = PileTeacher(X, start).teach(current, given).model
    told = {row: name or NONE_OF_THESE for row, name in given.items()}
    model = GuidedMixture.from_prototypes(P, plain=0.0).adapt(X, given=told)
    same = np.where(model.labels_ == NONE_OF_THESE, "", model.labels_)
    np.testing.assert_array_equal(taught.labels, same)
    close(taught.reliability, model.reliability_)

    renames = [(CLASSES[0], "tom"), (CLASSES[1], CLASSES[2])]
    after = dict(zip(CLASSES, ["tom", CLASSES[2], CLASSES[2]], strict=True))
    now = {row: after.get(name, name) for row, name in given.items() if name == "cat"}
    once = PileTeacher(X, start).teach(current, {row: "cat" for row in now})
    again = PileTeacher(X, start).teach(current, now, renames)
    wanted = [after[name] for name in once.model.labels]
    assert again.model.labels.tolist() == wanted and "tom" in wanted


def test_one_wrong_answer_moves_little():
    rng = np.random.default_rng(2)
    codes = np.arange(300) % 3
    truth = np.array(CLASSES, dtype=object)[codes]
    X = np.eye(3, 8)[codes] * 2 + 0.8 * rng.normal(size=(300, 8))
    current = Model(truth.copy(), rng.uniform(0.4, 1, 300), np.full(300, ""))
    plain = PileTeacher(X).teach(current, {0: "cat"}).model.labels  # which is right
    slip = PileTeacher(X).teach(current, {0: "dog"}).model.labels
    assert slip[0] == "dog" and (slip[1:] != plain[1:]).sum() <= 6


@pytest.mark.parametrize(
    ("name", "holds"),
    [
        ("a/b.jpg", True),
        ("..", False),
        ("a/../../b.jpg", False),
        ("..\\b.jpg", False),
        ("/etc/passwd", False),
        ("\\etc", False),
        ("a\0b", False),
        ("", False),
        ("a..b.jpg", True),
    ],
)
def test_ids_that_lead_out_of_the_folder_are_known(name, holds):
    assert inside(name) is holds
