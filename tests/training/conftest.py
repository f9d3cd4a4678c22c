from dataclasses import replace
from pathlib import Path

import pytest

from whatwhere.tasks import make_task
from whatwhere.training.config import TrainingConfig
from whatwhere.training.presets import smoke
from whatwhere.training.run import Run


@pytest.fixture
def config() -> TrainingConfig:
    """The smoke preset on one thread: a tiny model, 24 steps."""
    return replace(smoke(make_task("letter")), threads=1)


@pytest.fixture
def run(tmp_path: Path, config: TrainingConfig) -> Run:
    run = Run(tmp_path / "run")
    run.create(config)
    return run
