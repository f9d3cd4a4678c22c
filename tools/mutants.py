"""Small faults put into the source one by one: do the tests notice? ``make mutants`` prints a table per package.

    python tools/mutants.py --minutes 10 --seed 0     a sample of all single faults
    python tools/mutants.py --named                   the faults of tools/named_faults.toml

Each fault goes into a copy of the package; a forked process, which has torch and the other libraries loaded, then runs
the tests that mirror the module. A fault is killed if a test fails or the tests take far longer than without it.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "whatwhere"
NAMED = Path(__file__).with_name("named_faults.toml")
PACKAGES: dict[str, tuple[str, ...]] = {
    "tasks": ("tasks/*.py", "tasks/generators/*.py"),
    "heads": ("heads/*.py",),
    "theory": ("theory/*.py",),
    "store": ("store/*.py",),
    "training": ("training/run.py", "training/loop.py", "training/config.py", "training/optimiser.py"),
    "claims": ("studies/judging.py", "studies/claim.py", "studies/*/claims*.py"),
    "rotation": ("trace/rotation.py", "trace/attention.py"),
}
TESTS: dict[str, tuple[str, ...]] = {
    "tasks/generators": ("tests/tasks/test_generators.py",),
    "tasks/letter.py": ("tests/tasks/test_task.py", "tests/tasks/test_generators.py"),
    "store/mirror.py": ("tests/store/test_addresses.py",),
    "theory/oracle.py": ("tests/theory/test_index_head.py", "tests/theory/test_retrieval_head.py"),
    "theory/check.py": ("tests/theory/test_feasibility.py",),
    "theory/directions.py": ("tests/theory/test_construction.py", "tests/theory/test_retrieval_head.py"),
    "theory/printed.py": ("tests/theory/test_errata.py",),
    "studies/claim.py": ("tests/studies/test_judging.py",),
    "studies/dynamics/claims_purity.py": ("tests/studies/dynamics/test_claims.py",),
    "trace/attention.py": ("tests/trace/test_trace.py", "tests/trace/test_families.py"),
    "trace/rotation.py": ("tests/trace/test_rotation.py", "tests/trace/test_trace.py"),
}
"""Tests of modules, or of all modules of a folder, that no file of the mirrored name tests."""
PATIENCE = 5.0
"""How many times longer than without a fault the tests may take, and 30 s more."""


@dataclass(frozen=True)
class Fault:
    """One change of the source."""

    module: Path
    """Below the package."""
    line: int
    about: str
    content: str
    """The module with the fault."""
    tests: tuple[str, ...]


def tests_of(module: Path) -> tuple[str, ...]:
    """The tests nearest to a module: named in :data:`TESTS`, mirrored, or those of the folder."""
    for known in (module.as_posix(), module.parent.as_posix()):
        if known in TESTS:
            return TESTS[known]
    mirrored = Path("tests") / module.parent / f"test_{module.name}"
    return (str(mirrored),) if (ROOT / mirrored).is_file() else (str(mirrored.parent),)


_COMPARE = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}


class _Mutator(ast.NodeTransformer):
    """Counts the places where something can be changed, and changes the n-th."""

    def __init__(self, wanted: int = -1) -> None:
        self.wanted, self.count, self.line, self.about = wanted, 0, 0, ""

    def _hit(self, node: ast.AST, about: str) -> bool:
        self.count += 1
        if self.count - 1 != self.wanted:
            return False
        self.line, self.about = getattr(node, "lineno", 0), about
        return True

    def visit(self, node: ast.AST) -> ast.AST | None:
        """Leaves out annotations, messages and what only a type checker reads."""
        if isinstance(node, ast.JoinedStr | ast.Raise | ast.Import | ast.ImportFrom):
            return self._removed(node) if isinstance(node, ast.Raise) else node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return node
        if isinstance(node, ast.FunctionDef):
            node.body = [made for one in node.body if (made := self.visit(one)) is not None]  # pyright: ignore[reportAttributeAccessIssue]
            return node
        if isinstance(node, ast.AnnAssign):
            node.value = node.value and self.visit(node.value)  # pyright: ignore[reportAttributeAccessIssue]
            return node
        return self._changed(self.generic_visit(node))

    def _removed(self, node: ast.Raise) -> ast.AST:
        return ast.copy_location(ast.Pass(), node) if self._hit(node, "raise removed") else node

    def _changed(self, node: ast.AST) -> ast.AST:
        match node:
            case ast.Compare(ops=[op, *rest]) if type(op) in _COMPARE and self._hit(node, "comparison changed"):
                node.ops = [_COMPARE[type(op)](), *rest]
            case ast.BinOp(op=op) if type(op) in _ARITHMETIC and self._hit(node, "arithmetic changed"):
                node.op = _ARITHMETIC[type(op)]()
            case ast.BoolOp() if self._hit(node, "and or exchanged"):
                node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            case ast.UnaryOp(op=ast.Not()) if self._hit(node, "not removed"):
                return node.operand
            case ast.If() | ast.IfExp() if self._hit(node, "condition negated"):
                node.test = ast.UnaryOp(ast.Not(), node.test)
            case ast.Constant(value=bool()) if self._hit(node, "truth exchanged"):
                node.value = not node.value
            case ast.Constant(value=int() | float()) if type(node.value) is not bool and self._hit(node, "number + 1"):
                node.value += 1  # pyright: ignore[reportOperatorIssue]
            case ast.Expr(value=ast.Call()) if self._hit(node, "call removed"):
                return ast.copy_location(ast.Pass(), node)
            case _:
                pass
        return node


def faults_of(module: Path) -> Iterator[Fault]:
    """Every single fault of a module."""
    text = (SOURCE / module).read_text(encoding="utf-8")
    counter = _Mutator()
    counter.visit(ast.parse(text))
    for number in range(counter.count):
        mutator, tree = _Mutator(number), ast.parse(text)
        changed = mutator.visit(tree)
        assert changed is not None
        made = ast.unparse(ast.fix_missing_locations(changed))
        yield Fault(module, mutator.line, mutator.about, made, tests_of(module))


def named_faults() -> Iterator[tuple[str, Fault]]:
    """The faults of the list; each replaces one text by another."""
    for name, entry in tomllib.loads(NAMED.read_text(encoding="utf-8")).items():
        module = Path(entry["module"])
        text = (SOURCE / module).read_text(encoding="utf-8")
        if text.count(entry["old"]) != 1:
            raise SystemExit(f"{NAMED.name}, {name}: expected {entry['old']!r} once in {module}; mend the list.")
        line = text[: text.index(entry["old"])].count("\n") + 1
        yield name, Fault(module, line, name, text.replace(entry["old"], entry["new"]), tuple(entry["tests"]))


class Bench:
    """A copy of the package, and forked processes that run tests against it."""

    def __init__(self, directory: Path) -> None:
        self.package = Path(
            shutil.copytree(SOURCE, directory / "whatwhere", ignore=shutil.ignore_patterns("__pycache__"))
        )
        os.environ |= {"PYTHONPATH": str(directory), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(directory))
        os.chdir(ROOT)
        self._usual: dict[tuple[str, ...], float] = {}
        import matplotlib  # noqa: F401 (loaded once, for all children)
        import pandas  # noqa: F401
        import pydantic  # noqa: F401
        import scipy.stats  # noqa: F401
        import torch  # noqa: F401

    def kills(self, fault: Fault) -> bool | None:
        """Whether tests notice a fault; None if they fail without it."""
        usual = self._usual_time(fault.tests)
        if usual is None:
            return None
        path = self.package / fault.module
        whole = path.read_text(encoding="utf-8")
        path.write_text(fault.content, encoding="utf-8")
        try:
            return self._run(fault.tests, PATIENCE * usual + 30) is None
        finally:
            path.write_text(whole, encoding="utf-8")

    def _usual_time(self, tests: tuple[str, ...]) -> float | None:
        if tests not in self._usual:
            self._usual[tests] = self._run(tests, 600) or 0.0
        return self._usual[tests] or None

    def _run(self, tests: Sequence[str], seconds: float) -> float | None:
        """The seconds that tests took; None if one failed or they took longer than allowed."""
        began = time.monotonic()
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            import pytest

            quiet = ["-x", "-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
            os._exit(int(pytest.main([*quiet, *tests])))
        while time.monotonic() - began < seconds:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return time.monotonic() - began if os.waitstatus_to_exitcode(status) == 0 else None
            time.sleep(0.05)
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return None


def sample(bench: Bench, minutes: float, seed: int, only: Sequence[str]) -> int:
    """Tries faults of all packages in turn until the time is over, and prints the table."""
    rng = random.Random(seed)
    waiting: dict[str, list[Fault]] = {}
    for package, patterns in PACKAGES.items():
        modules = sorted({path.relative_to(SOURCE) for pattern in patterns for path in SOURCE.glob(pattern)})
        waiting[package] = [fault for module in modules for fault in faults_of(module)]
        rng.shuffle(waiting[package])
    sizes = {package: len(faults) for package, faults in waiting.items()}
    ends, counts, survivors = time.monotonic() + 60 * minutes, defaultdict[str, Counter[str]](Counter), []
    chosen = [package for package in PACKAGES if not only or package in only]
    while time.monotonic() < ends and any(waiting[package] for package in chosen):
        for package in chosen:
            if waiting[package] and time.monotonic() < ends:
                fault = waiting[package].pop()
                killed = bench.kills(fault)
                outcome = "skipped" if killed is None else "killed" if killed else "survived"
                counts[package][outcome] += 1
                if outcome == "survived":
                    survivors.append(fault)
                print(f"{outcome}: {fault.module}:{fault.line} {fault.about}", flush=True)
    print("\n| package | faults | tried | killed | survived | share |\n|---|---|---|---|---|---|")
    for package in chosen:
        killed, survived = counts[package]["killed"], counts[package]["survived"]
        share = f"{killed / (killed + survived):.0%}" if killed + survived else ""
        print(f"| {package} | {sizes[package]:,} | {killed + survived} | {killed} | {survived} | {share} |")
    print("\nSurvivors:")
    for fault in survivors:
        print(f"  {fault.module}:{fault.line} {fault.about}")
    return 0


def named(bench: Bench, only: Sequence[str]) -> int:
    """Tries the faults of the list; exit code 1 if one survives."""
    survived = 0
    for name, fault in named_faults():
        if only and not any(word in name for word in only):
            continue
        killed = bench.kills(fault)
        survived += killed is not True
        words = {True: "killed", False: "SURVIVED", None: "its tests fail without it"}
        print(f"{words[killed]}: {name} ({fault.module}:{fault.line})", flush=True)
    return int(survived > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--named", action="store_true", help="the faults of named_faults.toml")
    parser.add_argument("--minutes", type=float, default=10.0, help="how long to go on with the sample")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("only", nargs="*", help="packages, or words in the names of named faults")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(Path(scratch))
        if chosen.named:
            return named(bench, chosen.only)
        return sample(bench, chosen.minutes, chosen.seed, chosen.only)


if __name__ == "__main__":
    sys.exit(main())
