"""The figures and the report of a watched training, from tables that a watch wrote."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from whatwhere.cli import app
from whatwhere.errors import WhatwhereError
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.measuring import draw, measure
from whatwhere.studies.results import Results
from whatwhere.studies.subject import NOTHING
from whatwhere.studies.watched import WATCHED
from whatwhere.studies.watched.callbacks import HeadWatch

NAMES = [
    "watched-heads.pdf", "watched-heads.png", "watched-heads.csv", "watched-training.pdf", "watched-training.png",
    "watched-training-scores.csv", "watched-training-metrics.csv",
]  # fmt: skip


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
    assert (found["page"], found["claims"]) == (None, [])
    assert all(Path(file).stat().st_size > 10 for file in found["figures"])
    assert not (watched / "claims.md").exists()


def test_only_watched_heads_are_drawn_and_counted(watched: Path) -> None:
    drawn = Results.open(WATCHED, watched).figures()
    shown = [axes.get_title() for axes in drawn["watched-heads"].axes if axes.get_visible()]
    assert shown == ["0.1", "2.0"]
    assert "all 2" in [text.get_text() for text in drawn["watched-training"].axes[0].texts]


def test_the_summary_counts_labels(watched: Path) -> None:
    text = Results.open(WATCHED, watched).summary
    assert text.startswith("GPTJ in training: 2 heads at 3 steps, 0 to 2, on 3 inputs of 7 tokens, tau 0.0001.\n")
    assert "At the end: " in text
    assert "pure for good" in text


def test_damage_is_named(watched: Path, tmp_path: Path) -> None:
    (watched / "scores.csv").write_text("step\n")
    with pytest.raises(WhatwhereError, match=r"scores\.csv is not the file that manifest\.json describes"):
        draw({"mine": Results.open(WATCHED, watched)}, tmp_path / "figures")


def test_no_command_can_measure_it() -> None:
    with pytest.raises(WhatwhereError, match="expected a HeadWatch in a training loop, got a command"):
        measure(WATCHED, NOTHING.open(None), None, None)
