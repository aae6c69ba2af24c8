"""Change the code in small ways, and see whether a test notices.

    python tools/mutants.py                          100 mutants, seed 0
    python tools/mutants.py --count 20 --only unseen/core
    python tools/mutants.py --numbers 3,17           these two of the hundred, again
    python tools/mutants.py --show --numbers 17      what mutant 17 changes

Each mutant is one edit (a sign, a bound, a factor, a dropped call, ...) in a copy of
the tree, in which the file's own examples and the tests that speak most of it run until
one fails. A mutant that none notices survives: a test is missing, or the edit changes
nothing that matters. The tests see no real data (``../shared`` is not beside the copy).
At the end the tests that noticed something run without any edit; if one fails all the
same, its mutants are judged again without it.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import os
import random
import re
import resource
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("unseen",)
N_FILES = 4  # test files that run for one mutant, of those that speak of its file
N_OTHERS = 2  # and of those that speak of its function
SECONDS = 90  # of processor time for one mutant, at first: ends an endless loop
OUT_OF_TIME = "the processor time it took"
ALWAYS = ("tests/test_signatures.py",)  # quick, and about every estimator
# Slow, or not about answers.
LEFT_OUT = (
    "test_packaging",
    "test_docs",
    "test_common",
    "test_architecture",
    "test_installed",
    "test_review_kills",
    "test_review_browser",
    "test_no_network",
)
PRELOADED = (
    "pandas",
    "scipy.optimize",
    "scipy.sparse",
    "sklearn.model_selection",
    "sklearn.utils.estimator_checks",
)
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
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
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
        case ast.Call(keywords=[*most, _]) if most or new.args:
            new.keywords = most
        case ast.Expr(value=ast.Call()):
            return ast.Pass()  # a call for its effect
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in {
            one.id for one in ast.walk(value) if isinstance(one, ast.Name)
        }:
            return ast.Pass()  # a step of several
        case ast.If():
            new.test = ast.UnaryOp(ast.Not(), new.test)
        case ast.IfExp():
            new.body, new.orelse = new.orelse, new.body
        case ast.comprehension(ifs=[_, *rest]):
            new.ifs = rest
        case ast.Slice(upper=ast.expr()):
            new.upper = None
        case ast.Slice(lower=ast.expr()):
            new.lower = None
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
            line = getattr(node, "target", node).lineno
            found.append(Mutant(name, place, line, before, after))
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


def tests_of(mutant: Mutant) -> list[str]:
    """Return the test files that speak most of a mutant, the most telling first.

    First those of its file. A file that no test names, such as a base class or the
    rounds of a method, is tested through its importers, and theirs. Then those that
    share words with the function around the edit that few tests know.
    """
    path, words = mutant.path, words_of_tests()
    module = path.removesuffix(".py").replace("/", ".")
    near, far = importers(module), set()
    for other in near:
        far |= importers(other.removesuffix(".py").replace("/", ".")) - near
    through = set().union(*map(defined, near | far))
    stems = {Path(other).stem for other in near | far}
    known = Counter(word for those in words.values() for word in those)
    around = words_around(mutant)
    by_file, by_words = {}, {}
    for test, those in words.items():
        score = 3 * len(defined(path) & those) + len(through & those) / 2
        score += 20 * (module in (ROOT / test).read_text("utf-8"))
        score += 40 * (Path(path).stem in Path(test).stem)
        score += 10 * any(stem in Path(test).stem for stem in stems)
        by_file[test] = score
        by_words[test] = sum(1 / known[word] for word in around & those)
    best = sorted((t for t in by_file if by_file[t]), key=lambda t: (-by_file[t], t))
    others = sorted(set(words) - set(best[:N_FILES]), key=lambda t: (-by_words[t], t))
    return [path, *ALWAYS, *best[:N_FILES], *others[:N_OTHERS]]


@cache
def words_of_tests() -> dict[str, set[str]]:
    """Return the words of every test file."""
    return {
        test.relative_to(ROOT).as_posix(): set(
            re.findall(r"\w+", test.read_text("utf-8"))
        )
        for test in (ROOT / "tests").glob("**/test_*.py")
        if test.stem not in (*LEFT_OUT, "test_signatures")
    }


def words_around(mutant: Mutant) -> set[str]:
    """Return the words of the classes around an edit, and of the innermost function."""
    source = ast.parse((ROOT / mutant.path).read_text("utf-8"))
    kinds = (ast.ClassDef, ast.FunctionDef)
    around = [
        node
        for node in ast.walk(source)
        if isinstance(node, kinds) and node.lineno <= mutant.line <= node.end_lineno
    ]
    inner = ast.unparse(around[-1]) if around else ""
    return {node.name for node in around} | set(re.findall(r"[A-Za-z_]\w{3,}", inner))


@cache
def importers(module: str) -> set[str]:
    """Return the files of the package that import a module by its name."""
    return {
        other.relative_to(ROOT).as_posix()
        for other in (ROOT / "unseen").glob("**/*.py")
        if f"from {module} import" in other.read_text("utf-8")
    }


@cache
def defined(path: str) -> set[str]:
    """Return the classes and functions of a file."""
    source = ast.parse((ROOT / path).read_text("utf-8"))
    kinds = (ast.ClassDef, ast.FunctionDef)
    return {node.name for node in source.body if isinstance(node, kinds)}


def run_quietly(tests: list[str], seconds: int) -> str:
    """Return the first test that fails, or the empty string; for a process of its own.

    Processor time is limited, so that an endless loop ends.
    """
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    plugin = FirstFailure()
    try:
        code = pytest.main(["-qx", "-p", "no:cacheprovider", *tests], [plugin])
    except BaseException as error:
        return f"pytest itself, which broke down: {error!r}"
    broken = "" if code in (0, 5) else f"pytest, which ended with {int(code)}"
    return plugin.test or broken


class FirstFailure:
    """A plugin of pytest that remembers the first test that failed."""

    test = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep the name of the first failure."""
        if report.failed and not self.test:
            self.test = report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        """Keep the name of a file that cannot be collected."""
        self.pytest_runtest_logreport(report)


class Trials:
    """Runs tests in a copy of the tree, each time in a fork of this process.

    What tests import beside the package is imported once, here.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mutants-"))
        self.tree = self.folder / "0" / "tree"  # a checkout without neighbours
        ignore = shutil.ignore_patterns(".*", "__pycache__", "_build", "auto_examples")
        shutil.copytree(ROOT, self.tree, ignore=ignore)
        sys.dont_write_bytecode = True  # or an edit within a second would be missed
        os.chdir(self.tree)
        sys.path[:0] = [str(self.tree)]
        os.environ["PYTHONPATH"] = str(self.tree)  # for tests that start programs
        for name in PRELOADED:
            importlib.import_module(name)

    def first_failure(self, tests: list[str], seconds: int) -> str:
        """Return the first test that fails, or the empty string."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(writer, run_quietly(tests, seconds).encode())
            finally:
                os._exit(0)  # whatever happened: all else is the parent's
        os.close(writer)
        with os.fdopen(reader) as answer:
            found = answer.read()
        _, status = os.waitpid(child, 0)
        return OUT_OF_TIME if os.WIFSIGNALED(status) else found

    def killer(self, mutant: Mutant, without: Iterable[str] = ()) -> str:
        """Return the test that notices a mutant, or the empty string.

        Time that runs out counts only where the tests without the edit end in time.
        """
        target = self.tree / mutant.path
        whole = target.read_text("utf-8")
        tests = [*(f"--deselect={test}" for test in without), *tests_of(mutant)]
        seconds = SECONDS
        while True:
            target.write_text(source_of(mutant), "utf-8")
            try:
                found = self.first_failure(tests, seconds)
            finally:
                target.write_text(whole, "utf-8")
            if found != OUT_OF_TIME:
                return found
            if self.first_failure(tests, seconds) != OUT_OF_TIME:
                return found
            seconds *= 2

    def unsound(self, tests: set[str]) -> set[str]:
        """Return those of some tests that fail without any edit."""
        found: set[str] = set()
        left = {test for test in tests if "::" in test}
        while left:
            failed = self.first_failure(sorted(left), 10 * SECONDS)
            if not failed:
                break
            found, left = found | {failed}, left - {failed}
            if failed == OUT_OF_TIME or "::" not in failed:
                break
        return found

    def close(self) -> None:
        """Remove the copy."""
        os.chdir(ROOT)
        shutil.rmtree(self.folder)


def main() -> None:
    """Draw, run, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", help="a folder; may be repeated")
    parser.add_argument("--numbers", help="only these mutants of the draw, as 3,17")
    parser.add_argument("--show", action="store_true", help="print edits, run nothing")
    options = parser.parse_args()
    mutants = dict(
        enumerate(draw(options.only or list(ROOMS), options.count, options.seed))
    )
    if options.numbers:
        mutants = {int(n): mutants[int(n)] for n in options.numbers.split(",")}
    if options.show:
        for number, mutant in mutants.items():
            print(number, mutant, *tests_of(mutant), sep="\n  ")
        return
    trials = Trials()
    killers = {}
    try:
        for number, mutant in mutants.items():
            killers[number] = trials.killer(mutant)
            print(f"{number:3d} {mutant}\n    {verdict(killers[number])}", flush=True)
        unsound = trials.unsound(set(killers.values()))
        for number in [n for n, killer in killers.items() if killer in unsound]:
            killers[number] = trials.killer(mutants[number], unsound)
            print(f"{number:3d} judged again: {verdict(killers[number])}", flush=True)
    finally:
        trials.close()
    survivors = [str(n) for n, killer in killers.items() if not killer]
    print(f"{len(survivors)} of {len(mutants)} survive: {', '.join(survivors)}")


def verdict(killer: str) -> str:
    """Say who noticed a mutant."""
    return f"noticed by {killer}" if killer else "SURVIVES"


if __name__ == "__main__":
    main()
