import os
from pathlib import Path

import pytest


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes ``toy_jobs`` importable, in worker processes too."""
    here = str(Path(__file__).parent)
    monkeypatch.syspath_prepend(here)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([here, os.environ.get("PYTHONPATH", "")]))
