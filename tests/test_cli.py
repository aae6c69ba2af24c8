"""The command line: what is printed where, and how it ends."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import unseen
from unseen.cli import app
from unseen.photos.bundled import load_photos
from unseen.trust.metrics import per_class_accuracy

runner = CliRunner()


# Stands in for packages that are no dependency: importing one is an error.
WITHOUT_EXTRAS = """
import sys
from pathlib import Path
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"onnx", "onnxruntime", "tokenizers", "torch"}:
            raise ImportError(f"{name} is not to be had")
sys.meta_path.insert(0, Missing())
sys.argv = ["unseen", "demo", "--json", "--out", sys.argv[1]]
from unseen.cli import main
main()
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What the demo prints, in a process that lacks every extra package."""
    out = tmp_path_factory.mktemp("demo") / "a" / "b"
    args = [sys.executable, "-c", WITHOUT_EXTRAS, str(out)]
    ended = subprocess.run(args, capture_output=True, text=True, check=True)
    return ended, out


def test_version_and_help():
    assert runner.invoke(app, ["--version"]).stdout == f"unseen {unseen.__version__}\n"
    assert "demo" in runner.invoke(app, ["--help"]).stdout
    shown = runner.invoke(app, ["demo", "--help"])
    assert shown.exit_code == 0
    assert "unseen demo --json" in shown.stdout
    assert "--out" in shown.stdout


def test_demo_as_json_is_json_alone_and_needs_no_extra(shown):
    ended, out = shown
    numbers = json.loads(ended.stdout)
    assert "Turning names" in ended.stderr
    assert numbers["report"] == str(out / "report.html")
    assert len(numbers["by_class"]) == 10
    for when in ("before", "after"):
        mean = sum(row[when] for row in numbers["by_class"].values()) / 10
        assert numbers[when] == pytest.approx(mean)
    assert numbers["by_round"][0] == numbers["before"]
    assert numbers["by_round"][-1] == numbers["after"]


def test_the_demo_keeps_what_was_measured(shown):
    numbers = json.loads(shown[0].stdout)
    assert 0.76 < numbers["before"] < 0.80  # 76.7 % when it was built
    assert 0.82 < numbers["after"] < 0.86  # 85.0 %
    assert numbers["chance"] == pytest.approx(0.1)


def test_the_gallery_says_what_the_accuracy_says(shown):
    ended, out = shown
    html = (out / "gallery.html").read_text()
    text = html.split('id="data">')[1].split("</script>")[0]
    photos = load_photos()
    truth = dict(zip(photos.paths, photos.truth, strict=True))
    told = {p[1]: label for label, row in json.loads(text)["rows"] for p in row}
    assert told.keys() == truth.keys()
    accuracy = per_class_accuracy(list(truth.values()), [told[p] for p in truth])
    assert accuracy == pytest.approx(json.loads(ended.stdout)["after"])
    assert len(list((out / json.loads(text)["folder"]).glob("*.jpg"))) == 1000


def test_the_demo_prints_a_table(tmp_path):
    ended = runner.invoke(app, ["demo", "--out", str(tmp_path)])
    assert ended.exit_code == 0
    *_, mean, summary, gallery, page, last = ended.stdout.splitlines()
    assert mean.startswith("mean")
    assert summary.startswith("1,000 photos, no label: ") and "chance 10 %" in summary
    assert gallery.endswith(str(tmp_path / "gallery.html"))
    assert page == f"Open {tmp_path / 'report.html'}"
    assert last.endswith(f"unseen review {tmp_path / 'labels.csv'}")


@pytest.mark.parametrize("out", ["file", "file/below"])
def test_a_bad_folder_is_one_line_and_exit_code_2(tmp_path, out):
    (tmp_path / "file").write_text("in the way")
    ended = runner.invoke(app, ["demo", "--out", str(tmp_path / out)])
    assert ended.exit_code == 2
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert line.startswith("unseen: ") and "file" in line


def test_the_module_of_a_command_imports_nothing_heavy():
    code = (
        "import sys, types; import unseen; before = set(sys.modules);"
        "import unseen.cli; new = set(sys.modules) - before;"
        "heavy = {'matplotlib', 'jinja2', 'unseen.experiments', 'unseen.report'};"
        "print(sorted(new & heavy))"
    )
    args = [sys.executable, "-c", code]
    ended = subprocess.run(args, capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("words", [["--version"], ["data", "list"], ["run", "--help"]])
def test_a_full_disk_behind_standard_output_is_a_line_and_exit_code_2(words):
    command = [sys.executable, "-m", "unseen", *words]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 2
    assert ended.stderr == "unseen: standard output: No space left on device\n"
