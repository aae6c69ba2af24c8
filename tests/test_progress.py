"""Loops report their steps; nothing is drawn unless somebody asked for it."""

import re

import pytest

from tests.checks import make_data
from unseen import (
    ALE,
    JEDM,
    TSTD,
    AnchoredSelfTraining,
    ClasswiseSearchCV,
    show_progress,
)
from unseen.progress import counted, show_items

DATA = make_data()


def fitted(model):
    table = DATA.class_embeddings
    return model.fit(DATA.X_seen, DATA.y_seen, class_embeddings=table)


def test_a_bar_on_request_alone_with_its_last_step(capfd):
    with show_progress():
        fitted(TSTD()).adapt(DATA.X_unseen)
    out, err = capfd.readouterr()
    assert out == ""
    assert re.search(r"self-training.*4/4", err)
    with show_progress(False):
        fitted(TSTD())
    fitted(TSTD()).adapt(DATA.X_unseen)
    assert capfd.readouterr() == ("", "")


@pytest.mark.filterwarnings("ignore")  # of so few rows
def test_adapt_epochs_and_searches_report(capfd):
    with show_progress():
        fitted(AnchoredSelfTraining()).adapt(DATA.X_unseen)
        fitted(ALE(max_iter=3, validation_fraction=0.1))
        fitted(ClasswiseSearchCV(JEDM(), {"beta": [0.1, 1.0]}, n_folds=2))
    err = capfd.readouterr().err
    assert "rounds" in err and "epochs" in err and "searching" in err


def test_loops_are_drawn_two_deep_and_what_stops_early_is_done(capfd):
    with show_progress():
        for number in counted("outer", range(9)):
            if number == 2:
                break
            for _ in counted("middle", range(3)):
                for _ in counted("inner", range(4)):
                    pass
    err = capfd.readouterr().err
    assert "2/2" in err and "inner" not in err


def test_items_are_counted_of_how_many_in_a_terminal_alone(capfd, monkeypatch):
    for terminal, drawn in ((False, ""), (True, "3/7")):
        monkeypatch.setattr("sys.stderr.isatty", lambda terminal=terminal: terminal)
        with show_items("photos") as tell:
            tell(1, 0)  # as long as nobody knows
            tell(3, 7)
        err = capfd.readouterr().err
        assert drawn in err and bool(err) == terminal
