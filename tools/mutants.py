"""Small faults put into the source one by one: do the tests notice? ``make mutants`` prints a table per package.

    python tools/mutants.py --faults 20 --seed 0      a sample of all single faults, 20 in each package
    python tools/mutants.py --named                   the faults of tools/named_faults.toml

Each fault goes into a copy of the package, and the tests that mirror the module run (``mutant_bench.py``). A fault is
killed if a test fails or takes far longer than without it. Survivors that change nothing which a test could see, such
as how much is computed at a time, are listed with their reasons in ``tools/equivalent_faults.toml``.
"""

from __future__ import annotations

import argparse
import ast
import random
import signal
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from mutant_bench import Bench, Fault, Outcome

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "whatwhere"
NAMED = Path(__file__).with_name("named_faults.toml")
EQUIVALENT = Path(__file__).with_name("equivalent_faults.toml")
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
    "tasks/__init__.py": ("tests/tasks/test_task.py",),
    "tasks/balance.py": ("tests/tasks/test_balance.py", "tests/tasks/test_generators.py"),
    "tasks/both_vocabulary.py": ("tests/tasks/test_both.py",),
    "tasks/letter.py": ("tests/tasks/test_task.py", "tests/tasks/test_generators.py"),
    "tasks/number.py": ("tests/tasks/test_task.py", "tests/tasks/test_number.py"),
    "store/mirror.py": ("tests/store/test_addresses.py",),
    "theory/oracle.py": ("tests/theory/test_construction.py", "tests/theory/test_index_head.py"),
    "theory/check.py": ("tests/theory/test_feasibility.py",),
    "theory/directions.py": ("tests/theory/test_construction.py", "tests/theory/test_retrieval_head.py"),
    "theory/printed.py": ("tests/theory/test_errata.py",),
    "studies/claim.py": ("tests/studies/test_judging.py",),
    "studies/dynamics/claims_purity.py": ("tests/studies/dynamics/test_claims.py",),
    "studies/growth/claims.py": ("tests/studies/growth/test_onsets.py",),
    "studies/prompt/claims.py": ("tests/studies/prompt/test_showing.py",),
    "studies/preference/claims.py": ("tests/studies/preference/test_arms.py",),
    "studies/vocabularies/claims.py": ("tests/studies/vocabularies/test_measure.py",),
    "trace/attention.py": ("tests/trace/test_attention.py", "tests/trace/test_trace.py"),
    "trace/rotation.py": ("tests/trace/test_rotation.py", "tests/trace/test_trace.py"),
}
"""Tests of modules, or of all modules of a folder, that no file of the mirrored name tests."""


SHIPPED_CLAIMS = ("dynamics", "mechanism", "geometry", "length", "hops")
"""Studies whose claims are also judged on the shipped tables."""


def tests_of(module: Path) -> tuple[str, ...]:
    """The tests nearest to a module: named in :data:`TESTS`, mirrored, or those of the folder."""
    shipped = module.name.startswith("claims") and module.parent.name in SHIPPED_CLAIMS
    more = ("tests/studies/test_shipped_claims.py",) if shipped else ()
    for known in (module.as_posix(), module.parent.as_posix()):
        if known in TESTS:
            return TESTS[known] + more
    mirrored = Path("tests") / module.parent / f"test_{module.name}"
    return (str(mirrored if (ROOT / mirrored).is_file() else mirrored.parent), *more)


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
        """Leaves out annotations, messages, and guards against programmers only: frozen classes, zips of one length."""
        if isinstance(node, ast.JoinedStr | ast.Raise | ast.Import | ast.ImportFrom):
            return self._removed(node) if isinstance(node, ast.Raise) else node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return node
        if isinstance(node, ast.FunctionDef):
            node.body = [made for one in node.body if (made := self.visit(one)) is not None]  # pyright: ignore[reportAttributeAccessIssue]
            return node
        if isinstance(node, ast.keyword) and node.arg in ("strict", "frozen"):
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


def places_in(module: Path) -> int:
    """In how many places a module can have a fault."""
    counter = _Mutator()
    counter.visit(ast.parse((SOURCE / module).read_text(encoding="utf-8")))
    return counter.count


def fault_at(module: Path, place: int) -> Fault:
    """One fault of a module."""
    mutator = _Mutator(place)
    changed = mutator.visit(ast.parse((SOURCE / module).read_text(encoding="utf-8")))
    assert changed is not None
    made = ast.unparse(ast.fix_missing_locations(changed))
    return Fault(module, mutator.line, mutator.about, made, tests_of(module))


def named_faults() -> Iterator[tuple[str, Fault]]:
    """The faults of the list; each replaces one text by another."""
    for name, entry in tomllib.loads(NAMED.read_text(encoding="utf-8")).items():
        module = Path(entry["module"])
        text = (SOURCE / module).read_text(encoding="utf-8")
        if text.count(entry["old"]) != 1:
            raise SystemExit(f"{NAMED.name}, {name}: expected {entry['old']!r} once in {module}; fix the list.")
        line = text[: text.index(entry["old"])].count("\n") + 1
        yield name, Fault(module, line, name, text.replace(entry["old"], entry["new"]), tuple(entry["tests"]))


def reason_of(fault: Fault) -> str:
    """Why a fault changes nothing, if it is on the list; otherwise nothing."""
    line = (SOURCE / fault.module).read_text(encoding="utf-8").splitlines()[fault.line - 1].strip()
    for reason, entry in tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).items():
        if [str(fault.module), line, fault.about] in entry["faults"]:
            return reason
    return ""


def drawn(package: str, number: int, seed: int) -> tuple[int, list[Fault]]:
    """How many faults a package can have, and a sample of them."""
    modules = sorted({path.relative_to(SOURCE) for pattern in PACKAGES[package] for path in SOURCE.glob(pattern)})
    places = [(module, place) for module in modules for place in range(places_in(module))]
    random.Random(f"{seed} {package}").shuffle(places)
    return len(places), [fault_at(module, place) for module, place in places[:number]]


def tried(bench: Bench, faults: Sequence[Fault]) -> Iterator[tuple[Fault, Outcome]]:
    """Faults and what became of them, printed one by one."""
    for fault, outcome in bench.outcomes(faults):
        reason = f" ({reason_of(fault) or 'not on the list'})" if outcome == "survived" else ""
        print(f"{outcome}: {fault.module}:{fault.line} {fault.about}{reason}", flush=True)
        yield fault, outcome


def sample(bench: Bench, number: int, seed: int, only: Sequence[str]) -> int:
    """Tries some faults of each package, and prints the table."""
    rows, survivors = list[str](), list[Fault]()
    for package in only or PACKAGES:
        size, faults = drawn(package, number, seed)
        counts = Counter[str]()
        for fault, outcome in tried(bench, faults):
            listed = outcome == "survived" and bool(reason_of(fault))
            counts["change nothing" if listed else outcome] += 1
            if outcome == "survived" and not listed:
                survivors.append(fault)
        numbers = [counts[name] for name in ("killed", "change nothing", "survived", "its tests fail without it")]
        rows.append(f"| {package} | {size:,} | {' | '.join(map(str, numbers))} |")
    head = "| package | possible faults | killed | change nothing, by the list | survived | not decided |"
    print(f"\n{head}\n|---|---|---|---|---|---|", *rows, sep="\n")
    print("\nSurvivors:", *(f"  {fault.module}:{fault.line} {fault.about}" for fault in survivors), sep="\n")
    return 0


def named(bench: Bench, only: Sequence[str]) -> int:
    """Tries the faults of the list; exit code 1 if one survives."""
    chosen = [fault for name, fault in named_faults() if not only or any(word in name for word in only)]
    outcomes = [outcome for _, outcome in tried(bench, chosen)]
    return int(set(outcomes) != {"killed"})


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--named", action="store_true", help="the faults of named_faults.toml")
    parser.add_argument("--faults", type=int, default=20, help="how many of each package")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("only", nargs="*", help="packages, or words in the names of named faults")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends the tests, too
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(SOURCE, Path(scratch), ROOT)
        if chosen.named:
            return named(bench, chosen.only)
        return sample(bench, chosen.faults, chosen.seed, chosen.only)


if __name__ == "__main__":
    sys.exit(main())
