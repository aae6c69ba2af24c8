"""Results as runs would leave them, made up for tests."""

from pathlib import Path

from unseen.experiments.run import Finding, RunKey, as_lines, write_lines


def accuracy_run(rounds, final=None, *, together=None, rates=(0.4, 0.6, 0.8, 1.0)):
    """Findings of a run: the accuracy before and after every round."""
    found = [Finding("chosen", note="{}")]
    if together is not None:
        found.append(Finding("together", value=together))
    for number, share in enumerate(rounds):
        rate = "" if number == 0 else f"{rates[number - 1]:g}"
        note = "" if number == 0 else f"Kept {number} of 9 rows."
        found.append(Finding("accuracy", rate, number, share, note))
    found.append(Finding("final", value=rounds[-1] if final is None else final))
    return [*found, Finding("done", seconds=1.5)]


def key(method, seed=0, *, task="accuracy", data="awa1_shallow", table=None):
    return RunKey(task, data, table or "att_continuous", method, seed)


def write(path: Path, runs) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_lines(path, [line for run in runs.items() for line in as_lines(*run)])
    return path
