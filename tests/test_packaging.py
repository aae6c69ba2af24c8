"""What is installed works alone, and importing it is quick and light."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = (
    "dask distributed h5py pyarrow polars matplotlib torch rich typer jinja2".split()
)
BASELINE = "import sklearn.base, pandas"


def run(*command: object, **options) -> str:
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, **options
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def loaded_by(statement: str) -> set[str]:
    tell = f"{statement}; import sys; print(*[m for m in {HEAVY} if m in sys.modules])"
    return set(run(sys.executable, "-c", tell).split())


def test_importing_loads_core_dependencies_only():
    # pandas itself loads pyarrow where it finds it.
    assert loaded_by("import unseen") <= loaded_by(BASELINE)


def cpu_seconds(statement: str) -> float:
    """Processor time of a fresh interpreter; hardly minds what else is running."""
    child = subprocess.Popen([sys.executable, "-c", statement])
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, statement
    return usage.ru_utime + usage.ru_stime


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="needs the child's own clock")
def test_importing_costs_little_more_than_scikit_learn_and_pandas():
    ours, theirs = [], []
    for _ in range(7):  # in turns, so that both meet the same machine
        ours.append(cpu_seconds("import unseen"))
        theirs.append(cpu_seconds(BASELINE))
    ratio = min(ours) / min(theirs)
    assert ratio <= 1.2, f"{min(ours):.2f} s against {min(theirs):.2f} s"


@pytest.mark.slow
def test_the_wheel_alone_in_an_empty_environment_runs_the_demo(tmp_path):
    build = (sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, ROOT)
    run(*build, cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")

    venv.create(tmp_path / "empty", with_pip=True)
    scripts = tmp_path / "empty" / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / "python"
    quietly = ("--quiet", "--disable-pip-version-check", "--no-input")
    run(python, "-m", "pip", "install", *quietly, wheel, cwd=tmp_path)

    where = run(python, "-c", "import unseen; print(unseen.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(tmp_path)
    said = run(scripts / "unseen", "demo", "--out", tmp_path / "out", cwd=tmp_path)
    assert "by the names alone" in said and "adapted" in said
    page = Path(said.splitlines()[-1].removeprefix("Open "))
    assert page.is_relative_to(tmp_path) and page.stat().st_size > 10_000
