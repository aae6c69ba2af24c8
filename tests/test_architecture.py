"""The house: rooms import downward only, methods import no method, files are short."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import unseen

PACKAGE = Path(unseen.__file__).parent
LONGEST = 400  # lines of a module

# From the ground up: a room imports rooms on lower floors, and itself. Names that start
# with an underscore (``_files``, ``_params``, …) are tools of the whole house, on the
# ground floor.
FLOORS = [
    {"limits", "class_table", "metrics", "data", "naming", "labels"},
    {"loading", "onnx_export", "storage"},
    {"rows"},
    {"preprocessing"},
    {"models"},
    {"transduction"},
    {"model_selection"},
    {"methods"},
    {"photos", "texts"},
    {"experiments"},
    {"report", "review"},
    {"unseen"},
    {"cli"},
]

# Debts, each with its reason. A debt that is paid leaves the list.
KNOWN_UPWARD = {
    ("naming", "loading"): "encoders share the messages of loading/parts.py",
    ("labels", "loading"): "a table of labels names the set it belongs to, on demand",
    ("_onnxruntime", "loading"): "its message for a missing extra is in parts.py",
    ("experiments", "report"): "tables are escaped as pages are",
    ("photos", "report"): "labelling photos ends with a page, on demand",
}
KNOWN_LONG: dict[str, str] = {
    "class_table.py": "who competes belongs in a file of its own",
    "data.py": "two lines too many",
    "model_selection.py": "folds and search are two subjects",
    "models/jedm.py": "two readings of the paper, and the learner",
    "transduction/anchored.py": "adapting from prototypes belongs apart",
}
# Files of models/ and transduction/ that hold no method, or share what methods need.
SHARED = {
    "models": {
        "__init__",
        "adapting",
        "answers",
        "base",
        "bilinear",
        "dictionary",
        "kernel_ridge",
        "maps",
        "posterior",
        "scoring",
    },
    "transduction": {
        "__init__",
        "anchored_learner",
        "around",
        "given",
        "graph",
        "guided_rounds",
        "memory",
        "rounds",
        "start",
        "transducer",
    },
}


LEARNER, BASE = "takes its learner", "takes its base class: a file of its own is due"
HELPER = "takes a helper that belongs in _linalg.py or base.py"
KNOWN_METHODS: dict[str, dict[tuple[str, str], str]] = {
    "models": {
        ("conse", "cca"): HELPER,
        ("dap", "ridge"): HELPER,
        ("eszsl", "jedm"): HELPER,
        ("jlse_lite", "placed"): BASE,
        ("latem", "ranking"): BASE,
        ("placed", "eszsl"): LEARNER,
        ("ranking", "cca"): HELPER,
        ("ranking", "eszsl"): LEARNER,
        ("ridge", "cca"): HELPER,
        ("ridge", "jedm"): HELPER,
        ("sae", "cca"): HELPER,
        ("sync", "jedm"): HELPER,
        ("sync", "placed"): BASE,
        ("sync", "ridge"): HELPER,
    },
    "transduction": {("tmvhlp", "prototype_averaging"): HELPER},
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
    assert upward() <= set(KNOWN_UPWARD)


def test_no_module_is_longer_than_it_can_be_read():
    long = {
        path.relative_to(PACKAGE).as_posix()
        for path in modules()
        if len(path.read_text(encoding="utf-8").splitlines()) > LONGEST
    }
    assert long <= set(KNOWN_LONG)


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
    assert found <= {"_params.py"}


@pytest.mark.parametrize("folder", ["models", "transduction"])
def test_a_method_imports_no_method(folder):
    """What several methods need stands in a file that is named for it."""
    shared, found = SHARED[folder], set()
    for path in (PACKAGE / folder).glob("*.py"):
        for module, _ in own_imports(path):
            parts = module.split(".")
            if len(parts) == 3 and parts[1] == folder and path.stem not in shared:
                found |= {(path.stem, parts[2])} if parts[2] not in shared else set()
    assert found <= set(KNOWN_METHODS[folder])
