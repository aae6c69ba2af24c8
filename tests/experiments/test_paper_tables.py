"""Tables: every cell follows from results.csv by arithmetic one can do by hand."""

import statistics
from dataclasses import replace

import pandas as pd
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
    gains = cells(make_table(read_plan("gains"), results), "TSTD")
    spread = statistics.stdev([40.0, 36.0])
    assert tstd["AwA A", "ours"] == f"38.0 ± {spread:.1f}"
    # The best round of each seed, then their mean. The authors never report less than
    # their JEDM on the unlabelled rows together; predict is not what they start from.
    spread = statistics.stdev([50.0, 38.0])
    assert gains["AwA A", "oracle"] == f"44.0 ± {spread:.1f}"
    assert gains["AwA A", "gain together"] == "0.0"  # 40 and 36, from 38 and 38
    assert gains["AwA A", "gain by row"] == "+8.0"  # from 30 and 30
    assert tstd["AwA A", "paper"] == "90.3"
    assert tstd["AwA A", "diff."] == "−52.3"
    assert tstd["CUB W", "ours"] == tstd["CUB W", "diff."] == "—"
    assert tstd["CUB W", "paper"] == "33.9"
    eszsl = cells(table, "ESZSL")
    assert eszsl["AwA A", "ours"] == "41.0"
    assert cells(table, "CCA-ST")["AwA A", "ours"] == "—"


def test_a_row_before_adapting_takes_round_0(results):
    table = make_table(read_plan("table3"), results)
    assert cells(table, "JEDM, a row at a time")["AwA", "ours"] == "31.0"
    pile = cells(table, "JEDM, on the unlabelled rows together")
    assert pile["AwA", "ours"] == "34.0" and pile["AwA", "diff."] == "−42.5"


def test_the_caption_says_what_was_loaded_what_is_absent_and_what_failed(results):
    loaded = Finding(
        "loaded", note="awa1_shallow, 768 features, split awa (40/10), classes by att"
    )
    mine = pd.DataFrame([{**key("", task="statistics")._asdict(), **loaded._asdict()}])
    words = make_table(read_plan("table5"), pd.concat([results, mine])).words
    assert (
        "AwA here: awa1_shallow, 768 features, split awa (40/10), classes by att."
        in words
    )
    assert "The paper has VGG-19, split awa." in words
    assert "Without results: AwA W, CUB A, CUB W" in words
    assert "1 run failed" in words and "CUB here" not in words


def test_a_set_known_by_its_content_fills_a_column_of_its_split(tmp_path):
    there = {"awa/one@awa": 0.6, "awa/two@own": 0.5, "awa/three": 0.4, "AWA1@awa": 0.3}
    for name, share in there.items():
        runs = {key("eszsl", data=name, table="attributes"): accuracy_run([share])}
        found = read_results(write(tmp_path / name / "results.csv", runs))
        shown = cells(make_table(read_plan("table3"), found), "ESZSL")["AwA", "ours"]
        fits = name.endswith(("@awa", "@own")) and name.startswith("awa/")
        assert shown == (f"{100 * share:.1f}" if fits else "—"), name
        plan = read_plan("table3")
        usual = [replace(column, split="") for column in plan.columns]
        table = make_table(replace(plan, columns=tuple(usual)), found)
        fits = "@awa" not in name and name.startswith("awa/")
        assert (cells(table, "ESZSL")["AwA", "ours"] != "—") == fits


def test_headings_part_what_is_not_in_the_paper_in_every_form(results):
    table = make_table(read_plan("table5"), results)
    (heading,) = [label for label, found in table.rows if label == "Beyond the paper"]
    assert f"| **{heading}** | |" in table.to_markdown().replace("  ", " ")
    assert f"\\midrule\n\\emph{{{heading}}} &" in table.to_latex()
    page = render("table.html", table=table, titled=True)
    assert f'<tr class="heading"><th colspan="99" scope="rowgroup">{heading}' in page


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
