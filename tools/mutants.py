"""Change the code in small ways, and see whether a test notices.

    python tools/mutants.py                    100 mutants, seed 0, two at a time
    python tools/mutants.py --count 20 --only unseen/rows
    python tools/mutants.py --show 17          what mutant 17 changes

Each mutant is one edit (a sign, a bound, a factor, a dropped call, ...) in a copy of
the tree, in which the file's own examples and the tests that speak most of it run until
one fails. A mutant that none notices survives: a test is missing, or the edit changes
nothing that matters. The tests see no real data (``../shared`` is not beside the copy),
and a test file that fails without any edit is left out and named.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).parents[1]
ROOMS = ("unseen/rows", "unseen/models", "unseen/transduction")
TESTS = ("tests/estimators", "tests/rows", "tests")
N_FILES = 6  # test files that run for one mutant, at most
SECONDS = 150  # of processor time for one test file: ends an endless loop
LEFT_OUT = ("test_packaging", "test_docs")  # slow, and not about answers
SPEED_ONLY = re.compile("BLOCK|CACHE|BYTES|ELEMENTS|BATCH|CHUNK")  # sizes, no answers
OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
NAMES = {"max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum"}


@dataclass(frozen=True)
class Mutant:
    """One edit: a node of a file, by its place in a walk, and what it becomes."""

    path: str
    place: int
    line: int
    before: str
    after: str

    def __str__(self) -> str:
        """Show file, line and edit."""
        return f"{self.path}:{self.line}: {self.before}  ->  {self.after}"


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Walk the parts of a module that decide answers: no messages, no annotations."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or is_talk(child):
                continue
            yield child
            yield from nodes(child)


def is_talk(node: ast.AST) -> bool:
    """Answer whether a node only speaks: errors, warnings, docstrings, imports."""
    if isinstance(node, ast.Raise | ast.Import | ast.ImportFrom | ast.JoinedStr):
        return True
    if isinstance(node, ast.Expr):
        return "warn" in ast.unparse(node)[:20] or isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assign | ast.AnnAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        named = ast.unparse(target)
        return named in ("__all__", "_parameter_constraints") or bool(
            named.isupper() and SPEED_ONLY.search(named)
        )
    return False


def edited(node: ast.AST) -> ast.AST | None:
    """Return what a node becomes; None where there is no edit for it."""
    new = copy.deepcopy(node)
    match new:
        case ast.BinOp(op=op) | ast.AugAssign(op=op) | ast.BoolOp(op=op):
            if type(op) not in OPERATORS:
                return None
            new.op = OPERATORS[type(op)]()
        case ast.Compare(ops=[op]) if type(op) in OPERATORS:
            new.ops = [OPERATORS[type(op)]()]
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            return new.operand
        case ast.Constant(value=bool()):
            new.value = not new.value
        case ast.Constant(value=int() | float()):
            new.value = new.value * 2 or 1
        case ast.Call(func=ast.Name(id=name)) if name in NAMES:
            new.func.id = NAMES[name]
        case ast.Call(func=ast.Attribute(attr=name)) if name in NAMES:
            new.func.attr = NAMES[name]
        case ast.Call(args=[first, second, *rest]) if not isinstance(
            first, ast.Starred
        ) and not isinstance(second, ast.Starred):
            if ast.dump(first) == ast.dump(second):
                return None
            new.args = [second, first, *rest]
        case ast.Expr(value=ast.Call()):
            return ast.Pass()  # a call for its effect
        case ast.Attribute(attr="T"):
            return None
        case _:
            return None
    return new


def mutants_of(path: Path) -> list[Mutant]:
    """Return every edit of one file."""
    tree = ast.parse(path.read_text("utf-8"))
    found = []
    for place, node in enumerate(nodes(tree)):
        new = edited(node)
        if new is not None:
            before, after = (" ".join(ast.unparse(n).split())[:70] for n in (node, new))
            name = path.relative_to(ROOT).as_posix()
            found.append(Mutant(name, place, node.lineno, before, after))
    return found


def source_of(mutant: Mutant) -> str:
    """Return the edited file."""
    tree = ast.parse((ROOT / mutant.path).read_text("utf-8"))
    old = next(n for place, n in enumerate(nodes(tree)) if place == mutant.place)
    new = edited(old)
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, field, new)
            elif isinstance(value, list):
                value[:] = [new if item is old else item for item in value]
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def draw(rooms: list[str], count: int, seed: int) -> list[Mutant]:
    """Draw mutants: files in turn by their size, edits of a file alike."""
    files = sorted(path for room in rooms for path in (ROOT / room).glob("**/*.py"))
    every = [mutant for path in files for mutant in mutants_of(path)]
    return random.Random(seed).sample(every, min(count, len(every)))


def tests_of(path: str) -> list[str]:
    """Return the test files that speak most of a file, the most telling first.

    A file that no test names, such as a base class, is tested through its importers.
    """
    module = path.removesuffix(".py").replace("/", ".")
    own, through = defined(path), set()
    for other in (ROOT / "unseen").glob("**/*.py"):
        if f"from {module} import" in other.read_text("utf-8"):
            through |= defined(other.relative_to(ROOT).as_posix())
    scores = {}
    for folder in TESTS:
        for test in (ROOT / folder).glob("test_*.py"):
            text = test.read_text("utf-8")
            words = set(re.findall(r"\w+", text))
            score = 3 * len(own & words) + len(through & words) / 2
            score += 20 * (module in text) + 40 * (Path(path).stem in test.stem)
            if score and test.stem not in LEFT_OUT:
                scores[test.relative_to(ROOT).as_posix()] = score
    best = sorted(scores, key=lambda test: (-scores[test], test))
    return [path, *best[:N_FILES]]


@cache
def defined(path: str) -> set[str]:
    """Return the classes and functions of a file."""
    source = ast.parse((ROOT / path).read_text("utf-8"))
    kinds = (ast.ClassDef, ast.FunctionDef)
    return {node.name for node in source.body if isinstance(node, kinds)}


def limit_processor_time() -> None:
    """Let a child be ended after some work, however busy the machine is."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


class Trials:
    """Runs tests in copies of the tree, one copy for each worker."""

    def __init__(self, jobs: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mutants-"))
        self.copies: Queue[Path] = Queue()
        self.sound: dict[str, tuple[bool, float]] = {}
        self.lock = threading.Lock()
        ignore = shutil.ignore_patterns(".*", "__pycache__", "_build", "auto_examples")
        for number in range(jobs):
            # As deep as a checkout whose neighbour is not there.
            place = self.folder / str(number) / "tree"
            shutil.copytree(ROOT, place, ignore=ignore)
            self.copies.put(place)

    def passes(self, tree: Path, test: str) -> bool:
        """Answer whether a test file passes in a tree."""
        command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider"]
        settings = {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
        settings |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [*command, test],
            cwd=tree,
            env=os.environ | settings,
            capture_output=True,
            preexec_fn=limit_processor_time,
        )
        return done.returncode in (0, 5)  # 5: nothing to run without real data

    def is_sound(self, tree: Path, test: str) -> bool:
        """Answer whether a test file passes without any edit; asked once."""
        with self.lock:
            if test not in self.sound:
                start = time.perf_counter()
                passed = self.passes(tree, test)
                self.sound[test] = passed, time.perf_counter() - start
                if not passed:
                    print(f"left out, it fails as it is: {test}", flush=True)
            return self.sound[test][0]

    def killer(self, mutant: Mutant) -> str | None:
        """Return the test file that notices a mutant, or None."""
        tree = self.copies.get()
        try:
            tests = [t for t in tests_of(mutant.path) if self.is_sound(tree, t)]
            target = tree / mutant.path
            whole = target.read_text("utf-8")
            target.write_text(source_of(mutant), "utf-8")
            try:
                return next((t for t in tests if not self.passes(tree, t)), None)
            finally:
                target.write_text(whole, "utf-8")
        finally:
            self.copies.put(tree)

    def close(self) -> None:
        """Remove the copies."""
        shutil.rmtree(self.folder)


def main() -> None:
    """Draw, run, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", action="append", help="a folder; may be repeated")
    parser.add_argument("--show", type=int, help="print a mutant's edit, run nothing")
    options = parser.parse_args()
    mutants = draw(options.only or list(ROOMS), options.count, options.seed)
    if options.show is not None:
        mutant = mutants[options.show]
        print(mutant, *tests_of(mutant.path), sep="\n  ")
        return
    trials = Trials(options.jobs)
    survivors = 0
    try:
        with ThreadPoolExecutor(options.jobs) as pool:
            for number, (mutant, killer) in enumerate(
                zip(mutants, pool.map(trials.killer, mutants), strict=True)
            ):
                survivors += killer is None
                word = "SURVIVES" if killer is None else f"noticed by {killer}"
                print(f"{number:3d} {mutant}\n    {word}", flush=True)
    finally:
        trials.close()
    print(f"{survivors} of {len(mutants)} survive.")


if __name__ == "__main__":
    main()
