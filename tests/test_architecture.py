"""The house: rooms import downward only, and methods import no method."""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import unseen
from tests.checks import make_data
from unseen import TSTD

PACKAGE = Path(unseen.__file__).parent
TESTS = Path(__file__).parent

# From the ground up: a room imports rooms on lower floors, and itself. Names that start
# with an underscore (``_lazy``, ``_words``, …) are tools of the whole house, on the
# ground floor.
FLOORS = [
    {"cache", "files", "limits", "progress"},
    {"data", "naming"},
    {"loading", "labels", "onnx_export", "keep"},
    {"core"},
    {"rows", "preprocessing"},
    {"models"},
    {"transduction"},
    {"trust"},
    {"methods"},
    {"named"},
    {"photos", "texts"},
    {"experiments"},
    {"report", "review", "exporting"},
    {"unseen"},
    {"cli"},
]

# Files of models/ and transduction/ that hold no method, or share what methods need.
SHARED = {
    "models": {
        "__init__",
        "dictionary",
        "epochs",
        "kernel_ridge",
        "posterior",
        "refits",
        "relative_codes",
    },
    "transduction": {
        "__init__",
        "anchored_given",
        "anchored_explain",
        "anchored_learner",
        "anchored_look",
        "anchored_rounds",
        "graph",
        "rounds",
    },
}


# A method that is another one, and more. Each is in the folder above its own start.
KNOWN_METHODS = {
    ("tstd", "jedm"): "TSTD is JEDM that trains itself",
    ("sms", "eszsl"): "SMS is fitted as ESZSL",
    ("uda", "ridge"): "Kodirov's UDA is fitted as the ridge to rows",
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (module, name) of what a file imports from anywhere, at any depth."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


def room(module: str) -> str:
    parts = module.split(".")
    if parts[-1] == "__main__":  # the command line by another name
        return "cli"
    return parts[1] if len(parts) > 1 and parts[1] != "__init__" else "unseen"


def own_imports(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (module, name) of what a file imports from the package."""
    for module, name in imports(path):
        if module.split(".")[0] == "unseen":
            known = [name, f"{name}.py"] if name else []
            inside = any((PACKAGE / one).exists() for one in known)
            yield (f"unseen.{name}" if module == "unseen" and inside else module), name


def floor(name: str) -> int:
    if name.startswith("_"):
        return 0
    (found,) = (i for i, rooms in enumerate(FLOORS) if name in rooms)
    return found


def upward() -> set[tuple[str, str]]:
    """Return pairs of rooms of which the first imports the second from above it."""
    found = set()
    for path in modules():
        here = room(name_of(path))
        for module, _ in own_imports(path):
            there = room(module)
            if there != here and there != "unseen" and floor(there) > floor(here):
                found.add((here, there))
    return found


def test_every_room_has_a_floor():
    for path in modules():
        floor(room(name_of(path)))


def test_rooms_import_downward_only():
    assert upward() == set()


def test_private_names_stay_in_their_module():
    for path in modules():
        for module, name in own_imports(path):
            hidden = name.startswith("_") and not name.startswith("__")
            assert not hidden or module == f"unseen.{name}", f"{path}: {module}.{name}"


def test_one_file_knows_the_private_parts_of_scikit_learn():
    found = set()
    for path in modules():
        for module, name in imports(path):
            if module.split(".")[0] == "sklearn" and (
                "._" in module or (name.startswith("_") and not name.startswith("__"))
            ):
                found.add(path.name)
    assert found <= {"params.py"}


def test_a_method_imports_no_method():
    """What several methods need stands in a file that is named for it."""
    found = set()
    for folder, shared in SHARED.items():
        for path in (PACKAGE / folder).glob("*.py"):
            for module, _ in own_imports(path):
                parts = module.split(".")
                if len(parts) == 3 and parts[1] in SHARED and path.stem not in shared:
                    other = parts[2] not in SHARED[parts[1]]
                    found |= {(path.stem, parts[2])} if other else set()
    assert found == set(KNOWN_METHODS)


def test_numbers_are_compared_in_one_way():
    """Tolerances written by hand were red on one processor or another."""
    by_hand = re.compile(r"\brtol\b|\brel=|assert_allclose|assert np\.(all|is)close")
    found = {
        path.name
        for path in TESTS.rglob("*.py")
        if path.name != "checks.py" and path != Path(__file__)
        if by_hand.search(path.read_text(encoding="utf-8"))
    }
    assert found == set()


def test_the_walks_in_contributing_visit_files_that_are_there_once():
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`(unseen/[\w/.]+)`", text)
    assert [path for path in named if not (PACKAGE.parent / path).exists()] == []
    walks = walks_in(text)
    assert len(walks) == 2
    for walk in walks:
        files = re.findall(r"`(unseen/[\w/]+\.py)`", walk)
        assert len(files) == len(walk.splitlines()) == len(set(files))


def walks_in(text: str) -> list[str]:
    return re.findall(r"walk of one .+:\n\n((?:\d\. .+\n)+)", text)


def test_the_walk_of_a_row_is_the_one_it_takes(tmp_path):
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    walk = set(re.findall(r"`(unseen/[\w/]+\.py)`", walks_in(text)[0]))
    data, table = make_data(), make_data().class_embeddings
    np.save(tmp_path / "rows.npy", data.X_unseen)

    def learn():
        model = TSTD().fit(data.X_seen, data.y_seen, class_embeddings=table)
        return model.adapt(tmp_path / "rows.npy")

    assert walk <= files_called(learn)


def files_called(work: Callable[[], object]) -> set[str]:
    found = set()

    def look(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and PACKAGE in path.parents:
            found.add(path.relative_to(PACKAGE.parent).as_posix())

    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found
