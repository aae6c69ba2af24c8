"""results.csv: one writer at a time, and nothing of anybody else's is replaced."""

from dataclasses import replace

import pytest
from results_made_up import key, write

from unseen.experiments import read_plan, read_results, run_plans
from unseen.experiments.run import COLUMNS, Finding

COUNTS = replace(read_plan("table5").on([]), task="statistics", rows=())


def test_words_and_numbers_come_back_as_they_were(tmp_path):
    found = [
        Finding("warning", note="é, ü and “quotes”\n"),
        Finding("done", value=1 / 3),
    ]
    back = read_results(write(tmp_path / "results.csv", {key("cca", 2): found}))
    assert back["note"].tolist() == [found[0].note, ""]
    assert back["value"].tolist()[1] == 0.333333 and back["seed"].tolist() == [2, 2]


def test_failed_runs_are_forgotten(tmp_path):
    path = tmp_path / "results.csv"
    failed, fine = key("cca"), key("eszsl")
    write(path, {failed: [Finding("failed", note="x")], fine: [Finding("done")]})
    assert len(read_results(path)) == 2
    run_plans([], [], tmp_path)
    assert read_results(path)["method"].tolist() == ["eszsl"]


def test_two_writers_are_refused(tmp_path):
    def another(*_):
        with pytest.raises(FileExistsError, match="another unseen program"):
            run_plans([COUNTS], [], tmp_path, n_jobs=1)

    run_plans([COUNTS], [], tmp_path, n_jobs=1, progress=another)
    run_plans([COUNTS], [], tmp_path, n_jobs=1)  # the first is gone


RUN = "accuracy,pets,attributes,eszsl,0,"
FINE = f"{','.join(COLUMNS)}\n{RUN}final,,,0.5,,\n{RUN}done,,,,,1\n"


@pytest.mark.parametrize(
    "text", ["", "name,score\nmine,1\n", f"{FINE}{RUN}a note of mine\n"]
)
def test_what_no_run_writes_is_left_alone(tmp_path, text):
    path = tmp_path / "results.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"is not a results\.csv") as error:
        run_plans([COUNTS], [], tmp_path, n_jobs=1)
    assert str(error.value).startswith(str(path)) and path.read_text() == text
