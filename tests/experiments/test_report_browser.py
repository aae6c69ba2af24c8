"""The pages of results and of labels in a real browser: on a desk, on a phone."""

import pytest
from browser import look
from results_made_up import write
from test_experiment_report import HOSTILE, PLANS, some_runs

from unseen.labels import label_table, write_labels
from unseen.report import write_experiment_report, write_labels_report

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    write(folder / "results.csv", some_runs())
    write_experiment_report(folder, plans=PLANS)
    names = [HOSTILE, "a name that is rather long, as names of birds often are", "0"]
    labels = write_labels(label_table(names * 20), folder / "labels.csv")
    write_labels_report(labels, folder / "labels.html")
    return folder


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize(("page", "drawings"), [("report.html", 6), ("labels.html", 1)])
def test_a_page_fits_and_all_is_drawn(folder, tmp_path, page, width, drawings):
    told = look(folder / page, width, tmp_path)
    assert told["overflow"] <= 0
    assert told["broken"] == 0
    assert told["drawings"] >= drawings and told["flat"] == 0
