"""results.csv: what was appended is there, whatever tears its end off."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from results_made_up import accuracy_run, key, write

from unseen.experiments.run import (
    COLUMNS,
    Finding,
    ResultsFile,
    read_results,
)


def end_of_each_run(text: str) -> list[int]:
    """Byte offsets at which the runs end: an oracle that counts lines itself."""
    ends, offset = [], 0
    for line in text.splitlines(keepends=True):
        offset += len(line.encode())
        if ",done," in line:
            ends.append(offset)
    return ends


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("results") / "results.csv"
    runs = {key("eszsl", seed): accuracy_run([0.1, 0.25]) for seed in range(3)}
    runs[key("cca")] = [Finding("warning", note="é, ü and “quotes”"), Finding("done")]
    return write(path, runs).read_bytes()


@settings(max_examples=60, deadline=None)
@given(share=st.floats(0, 1))
def test_a_file_cut_anywhere_keeps_the_runs_that_were_whole(
    whole, tmp_path_factory, share
):
    cut = int(share * len(whole))
    path = tmp_path_factory.mktemp("cut") / "results.csv"
    path.write_bytes(whole[:cut])
    with ResultsFile(path) as results:
        n_whole = len([end for end in end_of_each_run(whole.decode()) if end <= cut])
        assert len(results.finished) == n_whole
        mended = path.read_bytes()
        assert whole.startswith(mended) and mended.endswith(b"\n")
        results.append(key("ast"), [Finding("done")])
    with ResultsFile(path) as results:
        assert len(results.finished) == n_whole + 1


def test_failed_runs_are_made_again(tmp_path):
    path = tmp_path / "results.csv"
    failed, fine = key("cca"), key("eszsl")
    write(path, {failed: [Finding("failed", note="x")], fine: [Finding("done")]})
    assert len(read_results(path)) == 2
    with ResultsFile(path) as results:
        assert results.finished == {fine}
    assert "failed" not in path.read_text()


def test_two_writers_are_refused(tmp_path):
    path = tmp_path / "results.csv"
    with (
        ResultsFile(path),
        pytest.raises(FileExistsError, match="another unseen program"),
        ResultsFile(path),
    ):
        pass
    with ResultsFile(path):  # the first is gone
        pass


RUN = "accuracy,pets,attributes,eszsl,0,"
FINE = f"{','.join(COLUMNS)}\n{RUN}final,,,0.5,,\n{RUN}done,,,,,1\n"


@pytest.mark.parametrize(
    "text", ["name,score\nmine,1\n", f"{FINE}{RUN}a note of mine\n"]
)
def test_what_no_run_writes_is_left_alone(tmp_path, text):
    path = tmp_path / "results.csv"
    path.write_text(text)
    said = "is not a results.csv"
    with pytest.raises(ValueError, match=said) as error, ResultsFile(path):
        pass
    assert str(error.value).startswith(str(path)) and path.read_text() == text
