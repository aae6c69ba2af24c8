"""A review without a browser: what answers come to, on the page and on the disk."""

import time

import numpy as np
import pandas as pd
import pytest
from reviewing import CLASSES, make_review

from tests.checks import close
from unseen.labels import label_table, read_labels
from unseen.review.answers import ModelLabels, ReviewState, rows_by_class, view_of
from unseen.review.items import find_items
from unseen.review.opening import open_review
from unseen.review.origins import Origin
from unseen.review.teaching import AXES, MANY, Teacher

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


def wait_for(learning):
    end = time.monotonic() + 60
    while learning.hindrance[:3] == "Get" or learning.last["state"] == "running":
        assert time.monotonic() < end
        time.sleep(0.01)
    return learning.last


def say(session, rows, label, tab=""):
    session.record([{"op": "label", "rows": rows, "label": label}], tab)


def test_the_last_answer_counts_and_undo_goes_back_one_by_one(opened):
    session = opened()
    before = session.state.labels()[3]
    say(session, [3], "dog", "a")
    say(session, [3], "", "a")
    assert session.state.labels()[3] == ""
    assert session.undo("a", "1")["op"] == "label"
    assert session.state.labels()[3] == "dog"
    assert session.undo("a", "2")["op"] == "label"
    assert session.state.labels()[3] == before and not session.state.given
    assert session.undo("a", "3") is None


def test_an_answer_sent_twice_counts_once(opened):
    session = opened()
    entry = {"op": "label", "rows": [0], "label": "dog", "uid": "x"}
    session.record([entry])
    session.record([entry, {"op": "label", "rows": [1], "label": "dog", "uid": "y"}])
    assert len(session.journal.entries) == 2


def test_a_review_that_is_opened_again_stands_where_it_stood(opened):
    session = opened()
    say(session, [0, 5], "dog")
    session.record([{"op": "rename", "old": "cow", "new": "ox"}])
    session.record([{"op": "class", "name": "emu"}])
    state, labels = session.summary(), session.state.labels()
    again = opened()
    same = again.summary()
    for told in (state, same):
        told.pop("hindrance")
    assert same == state
    np.testing.assert_array_equal(again.state.labels(), labels)
    assert [one["name"] for one in same["classes"]] == ["cat", "ox", "dog", "emu"]


def test_a_class_renamed_to_one_that_is_there_joins_it(opened):
    session = opened()
    sizes = {one["name"]: one["size"] for one in session.summary()["classes"]}
    session.record([{"op": "rename", "old": "cow", "new": "dog"}])
    classes = session.summary()["classes"]
    assert [one["name"] for one in classes] == ["cat", "dog"]
    assert classes[1]["size"] == sizes["cow"] + sizes["dog"]
    before, now = session.original, session.state.model
    joined = np.isin(before.labels, ["cow", "dog"])
    assert "cow" in set(before.second[joined])
    second = np.where(before.second == "cow", "dog", before.second)
    same = joined & (second == "dog")
    np.testing.assert_array_equal(now.second, np.where(same, "", second))
    session.undo("", "1")
    assert {one["name"]: one["size"] for one in session.summary()["classes"]} == sizes


def test_rows_are_filtered_and_ordered_as_asked(opened):
    session = opened()
    trust = session.original.reliability
    say(session, [7], "dog")
    rows = [row for part in session.index() for row in part["rows"]]
    assert sorted(rows) == list(range(60))
    for part in session.index():
        free = [row for row in part["rows"] if row != 7]
        assert (np.diff(trust[free]) >= 0).all()
    for part in session.index(order="sure"):
        free = [row for row in part["rows"] if row != 7]
        assert (np.diff(trust[free]) <= 0).all()
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
    assert (folder / "corrections.csv").read_text().startswith("id,label,check\n")
    whole = read_labels(folder / "reviewed.csv")
    assert whole["label"].tolist() == session.state.labels().tolist()
    assert whole["given"].tolist().count("yes") == 2
    assert whole.loc[2, "reliability"] == 1
    assert whole.loc[2, "second"] == "" != session.original.second[2]


def test_teaching_mends_labels_that_nobody_corrected(opened):
    session = opened()
    wait_for(session.learning)
    truth = opened.truth.to_numpy()
    wrong = np.flatnonzero(session.state.labels() != truth)
    for row in wrong[:4]:
        say(session, [int(row)], truth[row])
    session.teach("t", "a")
    lesson = wait_for(session.learning)
    assert lesson["state"] == "done", lesson
    labels = session.state.labels()
    assert (labels == truth).mean() > 0.97 > 54 / 60
    assert lesson["changed"] == sum(move["n"] for move in lesson["moves"]) > 0
    assert lesson["seq"] == len(session.journal.entries)
    assert (opened.home / "labels.review" / f"taught-{lesson['seq']}.csv").exists()
    session.undo("a", "u")
    assert (session.state.labels() == truth).sum() == 60 - len(wrong) + 4


def test_given_labels_and_none_survive_teaching(opened):
    session = opened()
    wait_for(session.learning)
    truth = opened.truth.to_numpy()
    say(session, [0], "dog")  # wrong on purpose: it is a person's word
    say(session, [1], "")
    say(session, [2, 5, 8], "emu")
    session.teach("t", "a")
    assert wait_for(session.learning)["state"] == "done"
    labels = session.state.labels()
    assert labels[0] == "dog" and labels[1] == "" and set(labels[[2, 5, 8]]) == {"emu"}
    assert "emu" in session.state.classes and truth[0] != "dog"
    again = opened()
    np.testing.assert_array_equal(again.state.labels(), labels)


def test_there_is_nothing_to_teach_without_an_answer_or_features(opened):
    session = opened()
    wait_for(session.learning)
    with pytest.raises(ValueError, match="no answers to learn from"):
        session.teach("t", "a")
    session.close()
    bare = open_review(opened.home / "labels.csv")
    try:
        wait_for(bare.learning)
        say(bare, [0], "dog")
        with pytest.raises(ValueError, match="--features"):
            bare.teach("t", "a")
        doubtful = np.argsort(bare.original.reliability).tolist()
        doubtful.remove(0)
        assert bare.suggest(3) == doubtful[:3]
    finally:
        bare.close()


REFUSED = [
    {"op": "label", "rows": [60], "label": "dog"},
    {"op": "label", "rows": [-1], "label": "dog"},
    {"op": "label", "rows": ["0"], "label": "dog"},
    {"op": "label", "rows": [True], "label": "dog"},
    {"op": "label", "rows": [0], "label": None},
    {"op": "rename", "old": "no such", "new": "x"},
    {"op": "class", "name": "  "},
    {"op": "undo", "of": 1},
    {},
]


def test_what_makes_no_sense_is_refused_and_not_written(opened):
    session = opened()
    for entry in REFUSED:
        with pytest.raises(ValueError):
            session.record([entry])
    assert not session.journal.entries


# ---- checking ------------------------------------------------------------------


def test_a_sample_is_kept_and_judged_by_the_labels_it_was_drawn_with(opened):
    session = opened()
    wait_for(session.learning)
    truth = opened.truth.to_numpy()
    rows = session.check(12, "c", "a")
    assert session.check(12, "d", "a") == rows  # hard ones are not drawn away
    for row in rows:
        say(session, [row], truth[row])
    told = session.view().accuracy
    assert told["checked"] == 12
    assert told["low"] < told["share"] <= told["high"]
    session.teach("t", "a")
    wait_for(session.learning)
    told = session.view().accuracy
    assert (told["checked"], told["drawn"]) == (0, 0)


def test_corrections_that_were_not_drawn_count_as_themselves(opened):
    session = opened()
    truth = opened.truth.to_numpy()
    rows = session.check(10, "c", "a")
    for row in rows:
        say(session, [row], session.original.labels[row])  # ten of ten are right
    other = next(row for row in range(60) if row not in rows)
    before = session.view().accuracy
    say(session, [other], truth[other])
    after = session.view().accuracy
    assert before["share"] == after["share"] == 1
    assert before["low"] < after["low"] < 1 and after["checked"] == 10


def test_a_sure_line_that_an_earlier_look_found_stays(opened):
    session = opened()
    for row in session.check(30, "c", "a", 80):
        say(session, [row], session.original.labels[row])
    first, above = session.view().accuracy["line"], session.view().sure == "yes"
    assert first["n"] and "with 90 % confidence" in first["text"]
    for row in session.check(20, "d", "a"):
        assert not {"look", "unchecked"} & set(session.view().sure[above])
        say(session, [row], "")  # all of these are wrong
    second, plan = (session.view().accuracy[key] for key in ("line", "planned"))
    assert second["n"] == first["n"] and "with 85 % confidence" in second["text"]
    assert "50 for 80 %, look 2" in plan.values()


# ---- the teacher ---------------------------------------------------------------


def test_teaching_is_adapt_with_given_labels_and_follows_renames():
    from unseen import NONE_OF_THESE, GuidedMixture

    rng = np.random.default_rng(3)
    codes = np.arange(120) % 3
    centres = rng.normal(size=(3, 10))
    X = centres[codes] + 0.9 * rng.normal(size=(120, 10))
    P = pd.DataFrame(centres + rng.normal(size=centres.shape), index=CLASSES)
    start = GuidedMixture.from_prototypes(P, plain=0.0)
    plain = start.adapt(X).labels_.astype(object)
    plain[[3, 50]] = ""  # without a label: the first is given one, the other not
    current = ModelLabels(plain, np.full(120, 0.5), np.full(120, ""))
    truth, part = np.array(CLASSES, dtype=object)[codes], np.arange(120) != 50
    given = {row: truth[row] for row in (0, 1, 2, 3, 90)} | {5: ""}
    taught = Teacher(X, start).teach(current, given)
    told = {row - (row > 50): name or NONE_OF_THESE for row, name in given.items()}
    model = GuidedMixture.from_prototypes(P, plain=0.0).adapt(X[part], given=told)
    same = np.where(model.labels_ == NONE_OF_THESE, "", model.labels_)
    np.testing.assert_array_equal(taught.labels[part], same)
    assert taught.labels[50] == ""
    names, chances = model.competing_classes_, model.predict_proba(X[part])
    chances[names == model.labels_[:, None]] = -1
    free = [row for row in range(119) if row not in told]
    second = names[chances.argmax(axis=1)][free].tolist()
    assert taught.second[part][free].tolist() == second
    close(taught.reliability[part], model.reliability_)

    renames = [(CLASSES[0], "tom"), (CLASSES[1], CLASSES[2])]
    after = dict(zip(["", *CLASSES], ["", "tom", *2 * CLASSES[2:]], strict=True))
    now = {row: after.get(name, name) for row, name in given.items() if name == "cat"}
    once = Teacher(X, start).teach(current, {row: "cat" for row in now})
    again = Teacher(X, start).teach(current, now, renames)
    wanted = [after[name] for name in once.labels]
    assert again.labels.tolist() == wanted and "tom" in wanted


def test_classes_start_at_means_weighted_by_reliability():
    X = np.array([[2.0, 0.0], [0.0, 3.0], [0.0, 0.0], [3.0, 4.0], [0.0, -1.0]])
    labels = np.array(["a", "a", "a", "b", ""], object)
    sure = np.array([0.9, 0.3, np.nan, 0.0, 1.0])  # NaN counts as 1, 0 as a little
    teacher = Teacher(X)
    close(teacher.units, [[1, 0], [0, 1], [0, 0], [0.6, 0.8], [0, -1]])  # zero stays
    P, _ = teacher._prototypes(ModelLabels(labels, sure, np.full(5, "")))
    close(P.to_numpy(), [[9 / 22, 3 / 22], [0.6, 0.8]])  # (.9 e1 + .3 e2) / 2.2


def test_many_rows_are_met_on_their_main_axes():
    rng = np.random.default_rng(4)
    n, d = MANY, AXES + 40
    codes = np.arange(n) % 3
    X = (rng.normal(size=(3, d))[codes] + rng.normal(size=(n, d))) * np.linspace(
        2, 0.1, d
    )
    X[7] = 0
    teacher = Teacher(X)
    units = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)
    _, _, axes = np.linalg.svd(units, full_matrices=False)
    close(teacher.axes @ teacher.axes.T, axes[:AXES].T @ axes[:AXES])
    close(teacher.units, units @ teacher.axes)
    truth = np.array(CLASSES, dtype=object)[codes]
    labels = truth.copy()
    labels[::5] = CLASSES[0]
    taught = Teacher(X).teach(
        ModelLabels(labels, np.full(n, 0.7), np.full(n, "")), {0: "cat", 1: "cow"}
    )
    assert (taught.labels == truth).mean() > 0.99 > (labels == truth).mean()
    few = Teacher(X[: n - 1])
    assert few.axes is None and few.units.shape == (n - 1, d)


def test_many_rows_keep_the_labels_that_answers_do_not_change():
    """Names are met on the axes, too; what differs is what answers taught."""
    from unseen import GuidedMixture

    rng = np.random.default_rng(5)
    n, d = MANY, AXES + 12
    codes = np.arange(n) % 3
    centres = rng.normal(size=(3, d))
    X = centres[codes] + 1.5 * rng.normal(size=(n, d))
    names = pd.DataFrame(centres + 0.3 * rng.normal(size=(3, d)), index=CLASSES)
    start = GuidedMixture.from_prototypes(names)
    teacher = Teacher(X, start)
    P, _ = teacher._prototypes(None)
    close(P.to_numpy(), start.class_embeddings_ @ teacher.axes)
    labels = np.array(CLASSES, dtype=object)[rng.integers(3, size=n)]  # of somebody
    current = ModelLabels(labels, np.full(n, 0.5), np.full(n, "", object))
    row = int(np.flatnonzero(labels != np.array(CLASSES)[codes])[0])
    taught = teacher.teach(current, {row: CLASSES[codes[row]]})
    assert taught.labels[row] == CLASSES[codes[row]] and taught.reliability[row] == 1
    assert (
        taught.labels == labels
    ).mean() > 0.99  # one answer that fits changes little


def test_the_index_of_many_rows_and_classes_takes_no_quadratic_time():
    n, k = 200_000, 300
    rng = np.random.default_rng(0)
    names = [f"class {i:03d}" for i in range(k)]
    model = ModelLabels(
        np.array(names, object)[rng.integers(k, size=n)], rng.random(n), np.full(n, "")
    )
    state = ReviewState(model, names)
    state.given = dict.fromkeys([3, 5], "class 007")
    began = time.process_time()
    parts = rows_by_class(view_of(state, model))
    assert time.process_time() - began < 2  # a loop over classes takes 8 s and more
    assert [part["name"] for part in parts] == names
    assert sorted(row for part in parts for row in part["rows"]) == list(range(n))
    for part in parts[:9]:
        own = np.flatnonzero(state.labels() == part["name"])
        order = np.where(np.isin(own, [3, 5]), 2, model.reliability[own])
        assert part["rows"] == own[np.argsort(order, kind="stable")].tolist()


def test_a_row_of_features_is_shown_with_what_tells_its_label(tmp_path, monkeypatch):
    """Values beside the middle half of both labels, and the labelled rows like it."""
    rng, n = np.random.default_rng(0), 40
    owl = np.arange(n) < n // 2
    X = pd.DataFrame({"same": rng.normal(size=n), "wing": np.where(owl, 3.0, 7.0)})
    X["wing"] += 0.1 * rng.normal(size=n)
    X["name"] = [f"bird {i}" for i in range(n)]
    X["label"] = ["" if i % 2 else "jay" for i in range(n)]
    X.to_csv(tmp_path / "birds.csv", index=False)
    free = np.flatnonzero(np.arange(n) % 2)
    names = np.where(owl[free], "owl", "kite")
    other = np.where(owl[free], "kite", "owl")
    table = label_table(names, ids=free, second=other)
    source = str(tmp_path / "birds.csv")
    cards = find_items(table, Origin("rows", source, column="label")).texts
    first, *_, last = cards[0].splitlines()
    middle = X["wing"][free[owl[free]]].quantile([0.25, 0.75])
    assert first.startswith(f"wing: {X['wing'][1]:.4g} ")
    assert f"owl {middle[0.25]:.3g} to {middle[0.75]:.3g}" in first
    assert "kite" in first
    scaled = X[["same", "wing"]].apply(lambda x: (x - x.mean()) / x.std())
    units = scaled.div(np.linalg.norm(scaled, axis=1), axis=0)
    alike = units.iloc[::2] @ units.iloc[1]
    like = ", ".join(f"jay ({row})" for row in alike.nlargest(3).index)
    assert last == f"labelled rows most like it: {like}"
    own = find_items(table, Origin("rows", source, column="label"), show=["name"])
    assert own.texts[2].startswith("name: bird 5\n")
    with pytest.raises(ValueError, match="no column 'tail' to show"):
        find_items(table, Origin("rows", source, column="label"), show=["tail"])
