"""Plan texts: before, after and foreign texts are what plain arithmetic says."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from unseen.experiments import make_table, read_plan
from unseen.experiments.results import RunKey
from unseen.experiments.sources import Source, find_path
from unseen.experiments.tasks import Bench, run_task
from unseen.texts import NamedTexts, load_demo_texts

DEMO = load_demo_texts()


@pytest.fixture
def table(tmp_path):
    known = DEMO.truth != "pets"
    for name, rows in (("in", known), ("out", ~known)):
        lines = [f'"{DEMO.texts[i]}",{DEMO.truth[i]}' for i in np.flatnonzero(rows)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["text,label", *lines]))
    return tmp_path


def findings(path, part, foreign=""):
    source = Source(str(path), "set", "", {part: None}, foreign=str(foreign))
    found = run_task(Bench(source), part, RunKey("texts", "set", part, "guided", 0))
    assert not [one for one in found if one.measure == "failed"], found
    return {one.measure: one.value for one in found}


def test_what_is_found_is_what_the_labels_say(table):
    found = findings(table / "in.csv", "wordllama", table / "out.csv")
    known = DEMO.truth != "pets"
    texts, truth = [DEMO.texts[i] for i in np.flatnonzero(known)], DEMO.truth[known]
    names = sorted(set(truth.tolist()))
    model = NamedTexts().fit(names).adapt(texts)
    for measure, labels in (("before", model.projected_), ("after", model.labels_)):
        shares = [(labels == name)[truth == name].mean() for name in names]
        assert found[measure] == pytest.approx(np.mean(shares), abs=0.012)
    others = [DEMO.texts[i] for i in np.flatnonzero(~known)]
    both = NamedTexts().fit(names).adapt([*texts, *others])
    strange = np.arange(200) >= 180
    auroc = roc_auc_score(strange, both.novelty_)
    assert found["auroc of novelty"] == pytest.approx(auroc, abs=1e-6)
    assert found["texts"] == 180 and 0 <= found["caught"] <= 1


def test_encoded_texts_and_samples_run_too(table, tmp_path):
    assert 0.4 < findings(table / "in.csv", "wordllama from 60")["after"] < 0.9
    rng = np.random.default_rng(0)
    P, y = rng.normal(size=(4, 12)), np.repeat(range(4), 20)
    X = P[y] + 0.8 * rng.normal(size=(80, 12))
    np.savez(tmp_path / "e.npz", X=X, y=y, P=P, classes=[f"a_{c}" for c in range(4)])
    np.savez(
        tmp_path / "o.npz", X=-X[:9], P=P[:0], y=y[:0], classes=np.array([], "<U1")
    )
    found = findings(tmp_path / "e.npz", "names", tmp_path / "o.npz")
    assert found["after"] > 0.9 < found["before"]
    assert found["auroc of novelty"] > 0.7


def test_the_table_has_a_row_per_set_and_dashes_where_nothing_ran():
    import pandas as pd

    from unseen.experiments.results import COLUMNS

    plan = read_plan("texts")
    empty = make_table(plan, pd.DataFrame(columns=list(COLUMNS)))
    assert [label for label, _ in empty.rows] == [c.head for c in plan.columns]
    assert {cell for _, cells in empty.rows for cell in cells} == {"—"}


def test_a_folder_may_end_as_the_path_begins(tmp_path):
    for name in ("texts", "letters"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "in.csv").write_text("text\n")
    folders = [tmp_path / "letters", tmp_path / "texts"]
    assert find_path("texts/in.csv", folders) == tmp_path / "texts" / "in.csv"
    assert find_path("texts/in.csv", [tmp_path]) == tmp_path / "texts" / "in.csv"
    assert find_path("texts/in.csv", folders[:1]) is None
