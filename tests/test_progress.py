"""Loops report their steps; nothing is drawn unless somebody asked for it."""

import re
import subprocess
import sys
import types

import numpy as np
import pytest

from unseen import (
    JEDM,
    TSTD,
    AnchoredSelfTraining,
    ClasswiseSearchCV,
    SelfTraining,
    load_model,
    show_progress,
)
from unseen._progress import counted, steps
from unseen.models import ALE


@pytest.fixture
def rows():
    """Return rows, labels, a table of six classes and rows of the two unseen ones."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(6, 4))
    y = np.repeat(np.arange(6), 12)
    X = table[y] @ rng.normal(size=(4, 7)) + 0.1 * rng.normal(size=(72, 7))
    return X[y < 4], y[y < 4], table, X[y >= 4]


def fitted(model, rows):
    X, y, table, _ = rows
    return model.fit(X, y, class_embeddings=table)


def test_nothing_is_drawn_by_default(rows, capfd):
    fitted(TSTD(), rows).adapt(rows[3])
    with show_progress(False):
        fitted(TSTD(), rows)
    assert capfd.readouterr() == ("", "")


def test_a_bar_on_request_with_its_last_step(rows, capfd):
    with show_progress():
        fitted(TSTD(), rows).adapt(rows[3])
    out, err = capfd.readouterr()
    assert out == ""
    assert re.search(r"self-training.*4/4", err)
    fitted(TSTD(), rows).adapt(rows[3])  # over with the block
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "model, task",
    [
        (AnchoredSelfTraining(), "rounds"),
        (SelfTraining(JEDM()), "self-training"),
        (ALE(max_iter=3, validation_fraction=0.1), "epochs"),
        (ClasswiseSearchCV(JEDM(), {"beta": [0.1, 1.0]}, n_folds=2), "searching"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
@pytest.mark.filterwarnings("ignore")  # of so few rows
def test_fit_adapt_and_searches_report(rows, capfd, model, task):
    with show_progress():
        fitted(model, rows)
        if hasattr(model, "adapt"):
            model.adapt(rows[3])
    assert task in capfd.readouterr().err


def test_reporting_changes_no_answer(rows):
    plain = fitted(TSTD(), rows).adapt(rows[3])
    with show_progress():
        shown = fitted(TSTD(), rows).adapt(rows[3])
    np.testing.assert_array_equal(
        plain.decision_function(rows[3]), shown.decision_function(rows[3])
    )


class Notes:
    """Listens, and writes down what it hears."""

    def __init__(self):
        self.heard = []

    def setup(self, estimator, context):
        self.heard.append(("setup", type(estimator).__name__))

    def teardown(self, estimator, context):
        self.heard.append(("teardown", type(estimator).__name__))

    def on_fit_task_begin(self, estimator, context):
        self.heard.append(("begin", context.task_name, context.max_subtasks))

    def on_fit_task_end(self, estimator, context):
        self.heard.append(("end", context.task_name))


def test_callbacks_of_scikit_learn_hear_of_every_step(rows):
    pytest.importorskip("sklearn.callback", reason="callbacks came with 1.9")
    notes = Notes()
    model = fitted(TSTD(max_iter=2, tol=0, rates=(0.5, 1.0)), rows)
    model.set_callbacks(notes).adapt(rows[3])
    step = [("begin", "step", 0), ("end", "step")]
    loop = [("begin", "self-training", 2), *step, *step, ("end", "self-training")]
    assert notes.heard == [
        ("setup", "TSTD"),
        ("begin", "adapt", None),
        *loop,
        ("end", "adapt"),
        ("teardown", "TSTD"),
    ]
    notes.heard.clear()
    fitted(model, rows)
    assert ("begin", "sweeps", 2) in notes.heard and ("end", "fit") in notes.heard
    notes.heard.clear()
    model.set_callbacks()
    model.adapt(rows[3])
    assert notes.heard == []


def test_callbacks_of_a_search_do_not_mix_with_those_of_its_fits(rows):
    pytest.importorskip("sklearn.callback", reason="callbacks came with 1.9")
    notes = Notes()
    search = ClasswiseSearchCV(TSTD(), {"beta": [0.1, 1.0]}, n_folds=2)
    fitted(search.set_callbacks(notes), rows)
    assert notes.heard.count(("end", "step")) >= 4
    loops = [told for told in notes.heard if told[0] == "begin" and told[1] != "step"]
    assert loops[:2] == [("begin", "fit", None), ("begin", "searching", 4)]
    assert ("begin", "self-training", 4) not in loops


def test_a_fit_that_fails_still_ends_its_callbacks(rows):
    pytest.importorskip("sklearn.callback", reason="callbacks came with 1.9")
    notes = Notes()
    model = fitted(TSTD(), rows).set_callbacks(notes)
    with pytest.raises(ValueError):
        model.adapt(np.full((3, 7), np.nan))
    assert notes.heard[-1] == ("teardown", "TSTD")
    with steps("nobody", 1) as advance:
        advance()
    assert notes.heard[-1] == ("teardown", "TSTD")


def test_callbacks_are_not_saved_with_the_model(rows, tmp_path):
    pytest.importorskip("sklearn.callback", reason="callbacks came with 1.9")
    model = fitted(JEDM(), rows).set_callbacks(Notes())
    kept = load_model(model.save(tmp_path / "model.unseen"))
    np.testing.assert_array_equal(kept.predict(rows[3]), model.predict(rows[3]))
    assert not hasattr(kept, "_skl_callbacks")


def test_loops_are_drawn_two_deep(capfd):
    with show_progress():
        for _ in counted("outer", range(2)):
            for _ in counted("middle", range(3)):
                for _ in counted("inner", range(4)):
                    pass
    err = capfd.readouterr().err
    assert "2/2" in err and "inner" not in err


def test_a_loop_that_stops_early_is_done(capfd):
    with show_progress():
        for number in counted("rounds", range(10)):
            if number == 3:
                break
    assert "3/3" in capfd.readouterr().err


def test_a_notebook_shows_html_and_needs_no_widgets(rows, monkeypatch, capfd):
    pictures, first = [], []
    cell = types.SimpleNamespace(update=pictures.append)

    def display(picture, display_id):
        first.append(picture)
        return cell

    shell = types.SimpleNamespace(kernel=object())
    notebook = types.SimpleNamespace(get_ipython=lambda: shell)
    shown = types.SimpleNamespace(HTML=str, display=display)
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    with show_progress():
        fitted(TSTD(), rows).adapt(rows[3])
        for _ in counted("<b>", range(1)):
            pass
    assert len(first) == 1 and "<progress" in first[0]
    assert '<progress value="4" max="4">' in pictures[-1]
    assert "4 of 4" in pictures[-1] and "&lt;b&gt;" in pictures[-1]
    assert capfd.readouterr() == ("", "")


def test_importing_the_package_brings_in_no_bar():
    code = "import sys, unseen.models; print('rich' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "False"
