"""What holds for all tests."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from typing import Any

import pytest
from checked_types import install
from hypothesis import settings

metadata.packages_distributions = cache(metadata.packages_distributions)  # inspect-ai asks at each run, for a second
gc.disable()  # while all is imported: nothing of it is garbage
install()
settings.register_profile("whatwhere", deadline=None)  # machines are shared: a slow example says nothing
settings.load_profile("whatwhere")


@pytest.fixture(scope="session", autouse=True)
def unsynced() -> Iterator[None]:
    """Spares the wait for the disk at each file: no test cuts the power. Processes that tests start do wait."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    """Closes the figures that a test leaves open; matplotlib warns of more than twenty."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def pytest_collection_finish() -> None:
    """What imports made stays. A search for garbage that leaves it out is short."""
    gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says how many tests were left out, and why: a machine without a browser or a compiler tests less."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(one.longrepr[2] if isinstance(one.longrepr, tuple) else one.longrepr) for one in skipped)
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"not run here: {count} tests. {reason.removeprefix('Skipped: ')}")
