"""Packages import downward only, methods import no method, and nothing grows."""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Callable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import numpy as np

import unseen
from tests.checks import make_data
from unseen import TSTD

PACKAGE = Path(unseen.__file__).parent
TESTS = Path(__file__).parent

# From below: a package imports packages of lower layers, and itself. Names that start
# with an underscore (``_lazy``, ``_words``, …) serve all of them, from the
# lowest layer.
LAYERS = [
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
        "kernel_ridge",
        "posterior",
        "refits",
        "relative_codes",
    },
    "transduction": {
        "__init__",
        "anchored_explain",
        "anchored_open",
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


def package(module: str) -> str:
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


def layer(name: str) -> int:
    if name.startswith("_"):
        return 0
    (found,) = (i for i, those in enumerate(LAYERS) if name in those)
    return found


def upward() -> set[tuple[str, str]]:
    """Return pairs of packages of which the first imports the second from above it."""
    found = set()
    for path in modules():
        here = package(name_of(path))
        for module, _ in own_imports(path):
            there = package(module)
            if there != here and there != "unseen" and layer(there) > layer(here):
                found.add((here, there))
    return found


def test_every_package_has_a_layer():
    for path in modules():
        layer(package(name_of(path)))


def test_packages_import_from_lower_layers_only():
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


# ---- how much there is ---------------------------------------------------------------

# As it is: to be lowered as packages shrink, never to be raised.
CEILINGS = {
    "lines": 29_058,
    "code lines": 17_359,
    "modules": 153,
    "lines of tests": 18_457,
    "constants": 93,
    "import cycles": 0,
}


def test_the_package_is_no_larger_than_it_was():
    texts = {path: path.read_text(encoding="utf-8") for path in modules()}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    tests = [path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py")]
    found = {
        "lines": sum(len(text.splitlines()) for text in texts.values()),
        "code lines": sum(code_lines(texts[path], trees[path]) for path in texts),
        "modules": len(texts),
        "lines of tests": sum(len(text.splitlines()) for text in tests),
        "constants": sum(n_constants(tree) for tree in trees.values()),
        "import cycles": n_cycles(trees),
    }
    assert {k: n for k, n in found.items() if n > CEILINGS[k]} == {}, "lower: CEILINGS"


def code_lines(text: str, tree: ast.Module) -> int:
    """Count lines that are neither blank, nor comment alone, nor docstring."""
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.string.strip() and token.type != tokenize.COMMENT:
            lines |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            if isinstance(getattr(body[0].value, "value", None), str):
                lines -= set(range(body[0].lineno, body[0].end_lineno + 1))
    return len(lines)


def n_constants(tree: ast.Module) -> int:
    """Count names in capitals of a module that hold a number or a string."""
    pairs = []
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            pairs.append((target, node.value))
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs += zip(target.elts, node.value.elts, strict=True)
    return sum(getattr(name, "id", "").isupper() and is_plain(x) for name, x in pairs)


def is_plain(value: ast.expr) -> bool:
    """Tell a number or a string, also signed, added, multiplied."""
    parts = ast.Constant, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop
    truth = isinstance(getattr(value, "value", 0), bool | None)
    plain = all(isinstance(part, parts) for part in ast.walk(value)) and not truth
    return plain or isinstance(value, ast.JoinedStr)


def n_cycles(trees: dict[Path, ast.Module]) -> int:
    """Count one if modules import each other in a circle when they are imported."""
    names = {name_of(path).removesuffix(".__init__"): path for path in trees}
    edges: dict[str, set[str]] = {}
    for module, path in names.items():
        top = [n for n in trees[path].body if isinstance(n, ast.ImportFrom)]
        pairs = [
            (f"{n.module}.{alias.name}", n.module) for n in top for alias in n.names
        ]
        edges[module] = {full if full in names else base for full, base in pairs}
        edges[module] = edges[module] & set(names) - {module}
    try:
        TopologicalSorter(edges).prepare()
    except CycleError:
        return 1
    return 0


def test_the_call_chains_in_contributing_visit_files_that_are_there_once():
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`(unseen/[\w/.]+)`", text)
    assert [path for path in named if not (PACKAGE.parent / path).exists()] == []
    chains = call_chains(text)
    assert len(chains) == 2
    for chain in chains:
        files = re.findall(r"`(unseen/[\w/]+\.py)`", chain)
        assert len(files) == len(chain.splitlines()) == len(set(files))


def call_chains(text: str) -> list[str]:
    return re.findall(r"call chain of one .+:\n\n((?:\d\. .+\n)+)", text)


def test_the_call_chain_of_a_row_is_the_one_it_takes(tmp_path):
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    chain = set(re.findall(r"`(unseen/[\w/]+\.py)`", call_chains(text)[0]))
    data, table = make_data(), make_data().class_embeddings
    np.save(tmp_path / "rows.npy", data.X_unseen)

    def learn():
        model = TSTD().fit(data.X_seen, data.y_seen, class_embeddings=table)
        return model.adapt(tmp_path / "rows.npy")

    assert chain <= files_called(learn)


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
