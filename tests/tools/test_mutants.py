from __future__ import annotations

import time
import tomllib
from pathlib import Path

import pytest

import mutant_bench
import mutants


def test_each_named_fault_fits_the_source_and_its_tests_are_there():
    named = dict(mutants.named_faults())
    assert len(named) >= 30
    for name, fault in named.items():
        compile(fault.content, name, "exec")
        assert all((mutants.ROOT / test.partition("::")[0]).is_file() for test in fault.tests), name


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("a < b", ["a <= b"]),
        ("x = 1 + y", ["x = 2 + y", "x = 1 - y"]),
        ("if not a:\n    f()", ["if a:\n    f()", "if not a:\n    pass", "if not not a:\n    f()"]),
        ("if a:\n    raise E(f'{1 + 1}')", ["if a:\n    pass", "if not a:\n    raise E(f'{1 + 1}')"]),
        ("x: Literal[1] = True", ["x: Literal[1] = False"]),
        ("zip(a, b, strict=True)", ["pass"]),
        ("@dataclass(frozen=True, eq=True)\nclass A: pass", ["eq=False"]),
        ("def f(a: Int[2]) -> Int[3]:\n    return a and 0", ["    return a and 1", "    return a or 0"]),
    ],
)
def test_faults_change_what_runs_and_neither_types_nor_messages(
    text: str, changed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(mutants, "SOURCE", tmp_path)
    (tmp_path / "module.py").write_text(text)
    module = Path("module.py")
    found = [mutants.fault_at(module, place).content for place in range(mutants.places_in(module))]
    assert len(found) == len(changed)
    for expected in changed:
        assert any(expected in one for one in found), (expected, found)


def test_every_module_that_is_tried_has_tests():
    for patterns in mutants.PACKAGES.values():
        for pattern in patterns:
            modules = [path.relative_to(mutants.SOURCE) for path in mutants.SOURCE.glob(pattern)]
            assert modules, pattern
            assert all((mutants.ROOT / test).exists() for module in modules for test in mutants.tests_of(module))


WHOLE = """
LIMIT = 1
def plain(x):
    return x + LIMIT
class A:
    @cache
    def method(self):
        return 1
"""


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("x + LIMIT", "x - LIMIT", {"plain"}),
        ("return 1", "return 2", {"A.method"}),
        ("return 1", "return  1  # the same", set()),
        ("LIMIT = 1", "LIMIT = 2", None),
        ("def plain(x)", "def plain(x, y=1)", None),
        ("@cache", "@other", None),
    ],
)
def test_a_fault_within_a_function_is_told_from_one_outside(old: str, new: str, changed: set[str] | None):
    found = mutant_bench.changed_functions(WHOLE, WHOLE.replace(old, new), "module.py")
    assert (None if found is None else set(found)) == changed


@pytest.mark.slow
def test_a_fault_reaches_a_function_that_is_wrapped_and_its_remembered_results(tmp_path: Path):
    name, names = str(tmp_path / "module.py"), {}
    text = "from functools import cache\n\n@cache\ndef answer():\n    return 1\n"
    exec(compile(text, name, "exec"), names)
    assert names["answer"]() == 1
    changed = mutant_bench.changed_functions(text, text.replace("1", "2"), name)
    assert changed is not None
    assert mutant_bench.forked(lambda: mutant_bench.put_into_memory(changed, name) and names["answer"]() == 2)
    assert not mutant_bench.forked(lambda: mutant_bench.put_into_memory({"absent": changed["answer"]}, name))


def test_a_process_that_fails_or_does_not_end_has_not_passed(monkeypatch: pytest.MonkeyPatch):
    assert mutant_bench.forked(lambda: True)
    assert not mutant_bench.forked(lambda: False)
    assert not mutant_bench.forked(lambda: 1 / 0 > 0)
    monkeypatch.setattr(mutant_bench, "WAITING", 0.1)
    assert not mutant_bench.forked(lambda: time.sleep(60) is None)


def test_a_process_that_makes_progress_is_not_ended(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(mutant_bench, "WAITING", 0.3)
    assert mutant_bench.forked(lambda: time.sleep(1) is None, time.monotonic)
    assert not mutant_bench.forked(lambda: time.sleep(1) is None, lambda: 3)


def test_each_fault_that_changes_nothing_is_a_place_in_the_source_and_is_known_by_it():
    listed = [
        tuple(fault) for entry in tomllib.loads(mutants.EQUIVALENT.read_text()).values() for fault in entry["faults"]
    ]
    assert len(set(listed)) == len(listed)
    for module in {module for module, _, _ in listed}:
        places = range(mutants.places_in(Path(module)))
        faults = [mutants.fault_at(Path(module), place) for place in places]
        lines = (mutants.SOURCE / module).read_text().splitlines()
        there = {(module, lines[fault.line - 1].strip(), fault.about) for fault in faults if mutants.reason_of(fault)}
        assert there == {fault for fault in listed if fault[0] == module}
