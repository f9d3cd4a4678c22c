"""A small text with much repetition, and the smallest training on it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from whatwhere.studies.growth.tables import GrowthSettings


@pytest.fixture(scope="session")
def prose(tmp_path_factory: pytest.TempPathFactory) -> Path:
    words = [f"word{number}" for number in range(40)]
    drawn = np.random.default_rng(0).integers(0, len(words), 1500)
    path = tmp_path_factory.mktemp("growth") / "prose.txt"
    path.write_text(" ".join(words[number] for number in drawn))
    return path


@pytest.fixture
def small(prose: Path) -> GrowthSettings:
    return GrowthSettings(
        text=(str(prose),), tokens=8 * 4 * 16, vocabulary=300, layers=2, heads=2, d_model=16, window=16, batch=4,
        evaluations=4,
    )  # fmt: skip
