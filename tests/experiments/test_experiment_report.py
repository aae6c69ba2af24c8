"""The page of results stands alone, tells what results.csv says, and escapes it."""

import re
from itertools import product
from xml.etree import ElementTree

import pandas as pd
import pytest
from results_made_up import accuracy_run, key, write

from tests.browser import look
from tests.checks import close
from tests.pages import Page
from unseen.experiments import read_plan, read_results
from unseen.experiments.run import Finding
from unseen.labels import label_table, write_labels
from unseen.report import write_experiment_report, write_labels_report
from unseen.report.experiment import files_of
from unseen.report.figures import draw_plan

HOSTILE = "<script>alert(1)</script>"
SHOWN = ["table2", "table3", "table4", "table5", "table6"]
FIGURES = ["fig1", "fig3", "fig4", "fig5", "complexity", "separation"]
SHOWN += [*FIGURES, "readings"]
PLANS = [read_plan(name) for name in SHOWN]
MEASURES = {"objective": 100.0, "change of D": 1.0, "steps": 60}
NAMES = [HOSTILE, '"><img src=x onerror=y>', "$\\frac{", "okapi & zebra"]


def some_runs():
    """One run of every task, so that every plan has something to show."""
    sweeps = product(("paper", "reference"), range(9), MEASURES.items())
    places = product(range(9), (0, 1), ("x", "y", "right"))
    sizes = product(("fit", "adapt", "predict"), "mn", range(4))
    sides = product(("separation", "error"), ("tstd-authors", "ast"), (1, 2))
    made_up = {"data": "made-up", "table": ""}
    runs = {
        key("ast"): accuracy_run([0.2, 0.3, 0.5])[:-1],
        key("tstd", 0): accuracy_run([0.3, 0.4, 0.5, 0.45, 0.42], together=0.36)[:-1],
        key("tstd", 1): accuracy_run([0.3, 0.4, 0.5, 0.45, 0.46], together=0.38)[:-1],
        key("eszsl"): [
            Finding("chosen", note='{"lam": 10.0}'),
            *accuracy_run([0.41])[1:-1],
        ],
        key("", task="statistics"): [Finding("instances", value=30475)],
        key("", task="convergence"): [
            Finding(measure, reading, i, value / (i + 1))
            for reading, i, (measure, value) in sweeps
        ],
        key("tstd-authors", task="latent"): [
            *(Finding(f"{x} {t}", NAMES[i % 4], i, i % 2) for i, t, x in places),
            *(Finding("prototype x", NAMES[i], value=i) for i in range(4)),
            *(Finding("prototype y", NAMES[i], value=i) for i in range(4)),
        ],
        key("", task="complexity", **made_up): [
            Finding(what, letter, 1000 * 2**i, 10, seconds=2.0**i)
            for what, letter, i in sizes
        ],
        key("", task="separation", **made_up): [
            *(Finding("distance", f"separation {x}", value=x / 4) for x in (1, 2)),
            *(Finding("off", f"error {x}", value=x / 4) for x in (1, 2)),
            *(Finding(what, f"{one} {x}", value=x / 4) for what, one, x in sides),
        ],
        key("", task="separation"): [
            Finding("distance", value=1.5),
            Finding("off", value=0.5),
        ],
        key("ast", task="robustness"): [
            Finding("warning", note=f"WeakStartWarning: {HOSTILE}")
        ],
    }
    ended = {run: [*found, Finding("done", seconds=1)] for run, found in runs.items()}
    return ended | {key("cca"): [Finding("failed", note=f"ValueError: {HOSTILE}")]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    write(folder / "results.csv", some_runs())
    assert files_of(PLANS, folder) == write_experiment_report(folder, plans=PLANS)
    return folder


def test_the_page_needs_no_other_file_and_links_lead_somewhere(folder):
    html = (folder / "report.html").read_text("utf-8")
    page = Page(html)
    assert page.addresses
    assert all(a.startswith(("data:image/png;base64,", "#")) for a in page.addresses)
    assert "currentColor" in html and "#010203" not in html  # the ink of the page
    inside = {a[1:] for a in page.addresses if a.startswith("#")}
    assert inside <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert not {"script", "link", "iframe", "object"} & set(page.tags)
    assert "url(http" not in html and "@import" not in html
    assert "<script" not in html and "onerror=y>" not in html.replace("&gt;", "")
    assert HOSTILE in page.text  # hostile words show as text


def test_every_plan_is_on_the_page_with_a_caption(folder):
    html = (folder / "report.html").read_text("utf-8")
    for name in ("table2", "table3", "table5", "table6", "readings"):
        section = html.split(f'<section id="{name}">')[1].split("</section>")[0]
        assert "<table" in section
        assert ("In the paper" in section) == name.startswith("table")
    for name in FIGURES:
        section = html.split(f'<section id="{name}">')[1].split("</section>")[0]
        assert "<svg" in section and re.search(r"<figcaption>\w+", section)


def test_the_page_says_what_ran_what_failed_and_what_was_chosen(folder):
    text = Page((folder / "report.html").read_text("utf-8")).text
    assert "12 runs of 5 methods" in text and "1 of them failed" in text
    assert f"Failed: ValueError: {HOSTILE}" in text
    assert f"WeakStartWarning: {HOSTILE}" in text
    assert "lam 10.0" in text
    assert "∝ m^1.00" in text  # it doubles with m


def test_the_curve_of_rates_starts_at_the_base_on_all_rows_together(folder):
    found = read_results(folder)
    figure = draw_plan(read_plan("fig5"), found)
    (axes,) = figure.axes  # of AwA alone; a panel per data set
    curve, by_row = axes.get_lines()
    close(curve.get_xydata()[:2], [[0, 37], [0.4, 40]])
    close(by_row.get_xydata(), [[-0.06, 30]])
    assert by_row.get_markerfacecolor() == "none"
    cub = {"data": "cub_vgg", "classes": "att_312"}
    other = found[found.method == "tstd"].assign(**cub)
    both = draw_plan(read_plan("fig5"), pd.concat([found, other]))
    assert len(both.axes) == 2


def test_tables_and_figures_are_files_too(folder):
    files = files_of(PLANS, folder)
    names = {file.name for file in files if file.exists()}
    assert {"table5.md", "table5.tex", "table5.html", "fig3.svg", "fig5.svg"} <= names
    for file in files:
        if file.suffix == ".svg":
            ElementTree.fromstring(file.read_text("utf-8"))
            assert "currentColor" not in file.read_text("utf-8")
            assert "var(--" not in file.read_text("utf-8")


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_fit_a_desk_and_a_phone_and_all_is_drawn(
    chromium, folder, tmp_path, width
):
    names = [HOSTILE, "a name that is rather long, as names of birds often are", "0"]
    labels = write_labels(label_table(names * 20), tmp_path / "labels.csv")
    page = write_labels_report(labels, tmp_path / "labels.html")
    for path, drawings in ((folder / "report.html", 5), (page, 0)):
        told = look(chromium, path, width)
        assert told["overflow"] <= 0 and told["broken"] == told["flat"] == 0
        assert told["drawings"] >= drawings


def test_labels_have_a_page_too(tmp_path):
    labels = [HOSTILE, HOSTILE, "okapi"]
    table = label_table(labels, reliability=[0.5, 0.7, 1])
    path = write_labels(table, tmp_path / "labels.csv")
    page = write_labels_report(path, tmp_path / "page.html").read_text("utf-8")
    assert "<script" not in page
    shown = Page(page)
    assert HOSTILE in shown.text and "3 rows, 2 names" in shown.text
    assert "0.60" in shown.text  # the median of 0.5 and 0.7
    assert "How right" not in shown.text


def test_labels_are_scored_if_the_truth_is_given(tmp_path):
    table = label_table(["okapi", "zebra", "zebra", "okapi", "unknown"])
    path = write_labels(table, tmp_path / "labels.csv")
    truth = ["okapi", "okapi", "zebra", "", "zebra"]  # one is not known
    page = write_labels_report(path, tmp_path / "page.html", truth=truth)
    text = Page(page.read_text("utf-8")).text.replace("\N{NO-BREAK SPACE}", " ")
    assert "75.0 %" in text and "per-class accuracy" in text
    assert "okapi250.0 %" in text and "zebra1100.0 %" in text  # cells side by side


def test_what_failed_is_not_drawn(tmp_path):
    failed = [Finding("failed", note="ValueError: no")]
    write(tmp_path / "results.csv", dict.fromkeys(some_runs(), failed))
    pages = write_experiment_report(tmp_path, plans=PLANS)
    drawn = {file.stem for file in pages if file.suffix == ".svg"}
    assert drawn == {"fig1"}  # the workflow needs no results
