"""The fault suite: its short form is part of the tests, the long one runs with ``make faults``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import Zygote, analyse, make_run


@pytest.fixture(scope="session")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    made = Zygote(tmp_path_factory.mktemp("zygote"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was trained, measured and asked every question."""
    directory = tmp_path_factory.mktemp("faults") / "run"
    analyse(make_run(directory).directory)
    return directory


@pytest.fixture(scope="session")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with another seed."""
    directory = tmp_path_factory.mktemp("faults") / "other"
    analyse(make_run(directory, seed=1).directory)
    return directory


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Prints the figures that the tests reported."""
    reports = [report for group in terminalreporter.stats.values() for report in group]
    ended = [report for report in reports if getattr(report, "when", "") == "call"]
    figures = [value for report in ended for name, value in report.user_properties if name == "figure"]
    if figures:
        terminalreporter.section("faults")
        for figure in figures:
            terminalreporter.write_line(figure)
