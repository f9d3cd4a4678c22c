from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from vocabularies_world import write_sizes


@pytest.fixture
def sweep(tmp_path: Path) -> Callable[..., Path]:
    """Makes the sweep; see :func:`write_sizes`."""
    return partial(write_sizes, tmp_path / "sweep")
