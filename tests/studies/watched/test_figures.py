"""The figures of a watched training, from tables written by a watch."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from whatwhere.cli import app
from whatwhere.errors import WhatwhereError
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.watched.callbacks import HeadWatch
from whatwhere.studies.watched.figures import draw_watched

NAMES = ["watched-heads.pdf", "watched-heads.png", "watched-training.pdf", "watched-training.png"]


@pytest.fixture
def watched(tmp_path: Path) -> Path:
    """A run whose heads 0.1 and 2.0 were watched; beside it lies what a trainer of transformers leaves."""
    model = GPTJ(ModelConfig(20, layers=3, heads=2, d_model=16, d_mlp=32, init_std=0.5))
    inputs = np.random.default_rng(0).integers(0, 20, (3, 7))
    watch = HeadWatch(model, inputs, tmp_path / "run", every=1, heads=[(0, 1), (2, 0)], budget=None)
    for step in range(3):
        watch(step, loss=3.0 - step)
    (tmp_path / "run" / "config.json").write_text('{"model_type": "llama"}')
    return tmp_path / "run"


@pytest.mark.slow
def test_the_report_draws_a_watched_training(watched: Path) -> None:
    result = CliRunner().invoke(app, ["report", str(watched), "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert [Path(file).name for file in found["figures"]] == NAMES
    assert (found["page"], found["missing"], found["claims"]) == (None, [], [])
    assert all(Path(file).stat().st_size > 1000 for file in found["figures"])
    with (watched / "figures" / "index.csv").open(newline="") as opened:
        assert [row["file"] for row in csv.DictReader(opened)] == NAMES
    assert not (watched / "claims.md").exists()


def test_damage_is_named(watched: Path, tmp_path: Path) -> None:
    (watched / "scores.csv").unlink()
    with pytest.raises(WhatwhereError, match=r"scores\.csv, and there is no such file"):
        draw_watched(watched, tmp_path / "figures")
    assert not (tmp_path / "figures").exists()
