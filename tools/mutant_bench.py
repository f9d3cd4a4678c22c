"""Runs tests against a copy of the package with one fault at a time; the work of ``tools/mutants.py``.

A forked process loads the tests and the package once, and forks again for each fault. Most faults lie within a
function: the child gives the function its changed code and runs the tests. Those that noticed a fault before and those
that take little time come first; the first that fails ends the trial, and must pass without the fault. What lies
outside of functions, and every fault that no test noticed in this way, is tried once more in a process that imports
all again.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import gc
import importlib.util
import inspect
import os
import resource
import shutil
import signal
import sys
import time
import types
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

Outcome = Literal["killed", "survived", "its tests fail without it"]
PATIENCE = 5.0
"""How many times longer than before a test may compute, and 15 s more."""
UNKNOWN = 120
"""Seconds that a test may compute of which nothing is known."""
WAITING = 300.0
"""How many seconds one test may take by the clock; a machine may be loaded."""


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


def changed_functions(before: str, after: str, name: str) -> dict[str, types.CodeType] | None:
    """The code of functions that differ, by qualified name; None if something outside of functions differs."""
    if _shell(before) != _shell(after):
        return None
    old, new = (_functions(compile(ast.unparse(ast.parse(text)), name, "exec")) for text in (before, after))
    changed = {key: codes for key, codes in new.items() if codes != old.get(key)}
    return None if any(len(codes) > 1 for codes in changed.values()) else {key: one for key, [one] in changed.items()}


def _shell(text: str) -> str:
    """A module without the bodies of its functions."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.body = []
    return ast.dump(tree)


def _functions(code: types.CodeType) -> dict[str, list[types.CodeType]]:
    """Functions and methods, without those inside of other functions."""
    found = defaultdict[str, list[types.CodeType]](list)
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            if one.co_flags & inspect.CO_OPTIMIZED:
                found[one.co_qualname].append(one)
            else:  # the body of a class
                for key, codes in _functions(one).items():
                    found[key] += codes
    return found


def put_into_memory(changed: dict[str, types.CodeType], name: str) -> bool:
    """Gives functions their changed code, wherever they are referred to; false if one is not loaded."""
    done = set[str]()
    gc.unfreeze()  # the tests freeze what imports made, and frozen objects are not listed
    for one in gc.get_objects():
        if type(one) is types.FunctionType and one.__code__.co_filename == name:
            key = one.__code__.co_qualname
            if key in changed and one.__code__.co_freevars == changed[key].co_freevars:
                one.__code__ = changed[key]
                done.add(key)
        elif type(one) is functools._lru_cache_wrapper:  # isinstance would ask objects that answer with an error
            one.cache_clear()
    return done == set(changed)


def forked(work: Callable[[], bool], progress: Callable[[], object] = lambda: None) -> bool:
    """Whether work in a process of its own succeeds; it is ended if there is no progress for long."""
    began, seen = time.monotonic(), None
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        passed = False
        with contextlib.suppress(BaseException):
            passed = work()
        os._exit(0 if passed else 1)
    ended, status = 0, 1
    try:
        while not ended and time.monotonic() - began < WAITING:
            time.sleep(0.02)
            ended, status = os.waitpid(pid, os.WNOHANG)
            if (now := progress()) != seen:
                began, seen = time.monotonic(), now
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # and what tests left running
        if not ended:
            os.waitpid(pid, 0)
    return bool(ended) and os.waitstatus_to_exitcode(status) == 0


class Trials:
    """A plugin of pytest that keeps what is known of tests, in a file, and runs those that may say most first."""

    def __init__(self, notes: Path) -> None:
        self.notes = notes
        self.kills, self.seconds = Counter[str](), dict[str, float]()
        self.healthy: dict[str, bool] = {}
        """Whether a test passes without a fault."""
        self.last, self.loaded = "", set[str]()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Hypothesis stops at the first example that fails, and does the same each time."""
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", deadline=None, database=None, derandomize=True, phases=phases)
        settings.load_profile("mutants")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Notes a test and its seconds; a test that computes for ever is ended."""
        began, usual = time.process_time(), self.seconds.get(item.nodeid)
        seconds = int(began + (UNKNOWN if usual is None else PATIENCE * usual + 15))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))
        self._note("start", item.nodeid)
        try:
            return (yield)
        finally:
            self._note(str(time.process_time() - began), item.nodeid)

    def _note(self, word: str, test: str) -> None:
        with self.notes.open("a", encoding="utf-8") as notes:
            notes.write(f"{word} {test}\n")

    def tried(self, work: Callable[[], bool]) -> bool:
        """Does work that runs tests, in a process of its own, and learns from its notes."""
        self.notes.write_text("", encoding="utf-8")
        passed, self.last = forked(work, lambda: self.notes.stat().st_size), ""
        for line in self.notes.read_text(encoding="utf-8").splitlines():
            word, _, test = line.partition(" ")
            if word == "start":
                self.last = test
            elif word == "load":
                self.loaded.add(test)
            else:
                self.seconds[test] = float(word)
        return passed

    def noticed(self, healthy: Callable[[str], bool]) -> bool:
        """Whether the test that failed last passes without the fault."""
        test = self.last
        if test not in self.healthy:
            self.healthy[test] = healthy(test)
        self.kills[test] += self.healthy[test]
        return self.healthy[test]

    def order(self, item: pytest.Item) -> tuple[Any, ...]:
        """Files stay together, for their fixtures."""
        slow = item.get_closest_marker("slow") is not None
        return item.path, -self.kills[item.nodeid], self.seconds.get(item.nodeid, 5.0 if slow else 0.1)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Sorts the tests."""
        items.sort(key=self.order)


class LoadedTrials(Trials):
    """Instead of running the tests once, runs them in a forked process for each fault."""

    def __init__(self, package: Path, faults: Sequence[Fault], killed: Callable[[int], None], notes: Path) -> None:
        super().__init__(notes)
        self.package, self.faults, self.killed = package, faults, killed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Tells the number of each fault that is killed."""
        items = session.items
        for number, fault in enumerate(self.faults):
            if self._kills(session, items, fault):
                self.killed(number)
        return True

    def _kills(self, session: pytest.Session, items: list[pytest.Item], fault: Fault) -> bool:
        path = self.package / fault.module
        changed = changed_functions(path.read_text(encoding="utf-8"), fault.content, str(path))
        if changed is None:
            return False
        chosen = sorted((one for one in items if one.nodeid.startswith(fault.tests)), key=self.order)
        with in_file(path, fault):
            survived = self.tried(lambda: not put_into_memory(changed, str(path)) or self._run(session, chosen))
        self._load()
        if survived or not self.last:
            return False
        return self.noticed(
            lambda test: self.tried(lambda: self._run(session, [one for one in items if one.nodeid == test]))
        )

    def _run(self, session: pytest.Session, items: list[pytest.Item]) -> bool:
        from _pytest.main import pytest_runtestloop

        session.items, before = items, set(sys.modules)
        try:
            pytest_runtestloop(session)
        finally:
            for name in sys.modules.keys() - before:
                self._note("load", name)
        return session.testsfailed == 0

    def _load(self) -> None:
        """Imports what a child had to import, so that the next need not."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name in sorted(self.loaded - sys.modules.keys()):
                with contextlib.suppress(Exception):
                    importlib.import_module(name)
        self.loaded.clear()


@contextlib.contextmanager
def in_file(path: Path, fault: Fault) -> Iterator[None]:
    """The fault in the copy of the package, where processes that tests start read it."""
    whole = path.read_text(encoding="utf-8")
    path.write_text(fault.content, encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(whole, encoding="utf-8")


class Bench:
    """A copy of the package, and forked processes that run tests against it."""

    def __init__(self, source: Path, directory: Path, root: Path) -> None:
        shutil.copytree(source, directory / "whatwhere", ignore=shutil.ignore_patterns("__pycache__"))
        self.directory, self.package = directory, directory / "whatwhere"
        self.trials = Trials(directory / "notes.txt")
        os.environ |= {"PYTHONPATH": str(directory), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(directory))
        os.chdir(root)
        found = importlib.util.find_spec("whatwhere")
        if found is None or found.origin != str(self.package / "__init__.py") or "whatwhere" in sys.modules:
            raise SystemExit(f"expected the copy of the package in {directory}, got {found}")
        for name in ("matplotlib.pyplot", "pandas", "pydantic", "scipy.stats", "torch"):
            importlib.import_module(name)  # once, for all children

    def outcomes(self, faults: Sequence[Fault]) -> Iterator[tuple[Fault, Outcome]]:
        """Whether tests notice each of some faults."""
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            with os.fdopen(writing, "w", buffering=1) as answers:
                plugin = LoadedTrials(
                    self.package, faults, lambda number: print(number, file=answers), self.trials.notes
                )
                os._exit(not self._pytest(sorted({test for fault in faults for test in fault.tests}), plugin))
        os.close(writing)
        unsure = dict(enumerate(faults))
        try:
            with os.fdopen(reading) as answers:
                for answer in answers:
                    yield unsure.pop(int(answer)), "killed"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)
        for fault in unsure.values():
            yield fault, self._anew(fault)

    def _anew(self, fault: Fault) -> Outcome:
        """Tries a fault in a process that imports all again."""
        with in_file(self.package / fault.module, fault):
            if self.trials.tried(lambda: self._pytest(fault.tests, self.trials)):
                return "survived"
        tests = (self.trials.last,) if self.trials.last else fault.tests  # none began: it cannot be imported
        whole = self.trials.noticed(lambda _: self.trials.tried(lambda: self._pytest(tests, self.trials)))
        return "killed" if whole else "its tests fail without it"

    def _pytest(self, tests: Sequence[str], plugin: Trials) -> bool:
        log = os.open(self.directory / f"log-{os.getpid()}.txt", os.O_WRONLY | os.O_CREAT)
        os.dup2(log, 1)
        os.dup2(log, 2)
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"--basetemp={self.directory / 'pytest'}"]
        return pytest.main([*options, *tests], plugins=[plugin]) == 0
