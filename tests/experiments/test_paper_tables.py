"""Tables: every cell follows from results.csv by arithmetic one can do by hand."""

import statistics

import pytest
from results_made_up import accuracy_run, key, write

from tests.pages import Page
from unseen.experiments import make_table, read_plan, read_results
from unseen.experiments.run import Finding
from unseen.experiments.tables import Table
from unseen.report.page import render

HOSTILE = "<script>alert(1)</script> & $x_1$ | \\end{table}"


@pytest.fixture
def results(tmp_path):
    curves = {0: [0.3, 0.5, 0.4], 1: [0.3, 0.2, 0.36]}
    runs = {
        key("tstd", seed): accuracy_run(curve, together=0.38)
        for seed, curve in curves.items()
    }
    runs[key("eszsl")] = accuracy_run([0.41])
    runs[key("jedm")] = accuracy_run([0.31], final=0.34)
    runs[key("cca-st")] = [Finding("failed", note="ValueError: no")]
    return read_results(write(tmp_path / "results.csv", runs))


def cells(table, label):
    (found,) = [cells for name, cells in table.rows if name == label]
    heads = [(group, name) for group, names in table.heads for name in names]
    return dict(zip(heads, found, strict=True))


def test_mean_spread_oracle_paper_and_difference(results):
    table = make_table(read_plan("table5"), results)
    tstd = cells(table, "TSTD")
    spread = statistics.stdev([40.0, 36.0])
    assert tstd["AwA A", "ours"] == f"38.0 ± {spread:.1f}"
    # The best round of each seed, then their mean. The authors never report less than
    # their JEDM on the unlabelled rows together; predict is not what they start from.
    spread = statistics.stdev([50.0, 38.0])
    assert tstd["AwA A", "oracle"] == f"44.0 ± {spread:.1f}"
    assert tstd["AwA A", "gain"] == "0.0"  # 40 and 36, from 38 and 38
    assert tstd["AwA A", "gain by row"] == "+8.0"  # from 30 and 30
    assert tstd["AwA A", "paper"] == "90.3"
    assert tstd["AwA A", "diff."] == "−52.3"
    assert tstd["CUB W", "ours"] == tstd["CUB W", "diff."] == "—"
    assert tstd["CUB W", "paper"] == "33.9"
    eszsl = cells(table, "ESZSL")
    assert eszsl["AwA A", "ours"] == "41.0" and eszsl["AwA A", "oracle"] == "—"
    assert eszsl["AwA A", "gain"] == eszsl["AwA A", "gain by row"] == "—"
    assert cells(table, "CCA-ST")["AwA A", "ours"] == "—"


def test_a_row_before_adapting_takes_round_0(results):
    table = make_table(read_plan("table3"), results)
    assert cells(table, "JEDM, a row at a time")["AwA", "ours"] == "31.0"
    pile = cells(table, "JEDM, on the unlabelled rows together")
    assert pile["AwA", "ours"] == "34.0" and pile["AwA", "diff."] == "−42.5"


def test_the_caption_says_what_differs_what_is_absent_and_what_failed(results):
    words = make_table(read_plan("table5"), results).words
    assert "shallow histograms, where the paper has VGG-19" in words
    assert "Without results: AwA W, CUB A, CUB W." in words
    assert "1 run failed" in words and "GloVe" not in words


def test_a_second_source_fills_a_column_only_if_the_first_is_absent(tmp_path):
    runs = {key("eszsl", data="AWA1", table="att"): accuracy_run([0.6])}
    other = read_results(write(tmp_path / "a" / "results.csv", runs))
    table = make_table(read_plan("table3"), other)
    assert cells(table, "ESZSL")["AwA", "ours"] == "60.0"
    assert "ResNet-101" in table.words
    runs[key("eszsl")] = accuracy_run([0.4])
    both = read_results(write(tmp_path / "b" / "results.csv", runs))
    table = make_table(read_plan("table3"), both)
    assert cells(table, "ESZSL")["AwA", "ours"] == "40.0"


def test_every_form_escapes_what_it_is_given():
    table = Table(
        HOSTILE, HOSTILE, [(HOSTILE, ["a", "b"])], [(HOSTILE, [HOSTILE, "1"])]
    )
    page = Page(render("table.html", table=table, titled=True))
    assert "script" not in page.tags and HOSTILE in page.text
    lines = table.to_markdown().splitlines()
    assert not any("<script" in line for line in lines)
    bars = [
        line.replace("\\\\", "").replace("\\|", "").count("|") for line in lines[2:]
    ]
    assert bars == [4, 4, 4]  # no cell was split
    latex = table.to_latex()
    assert latex.count(r"\end{table}") == 1
    assert r"\textbackslash{}end\{table\}" in latex and r"\$x\_1\$" in latex
