from dataclasses import replace
from pathlib import Path

import pytest
from whatwhere.zoo.ship import ship

from whatwhere.errors import WhatwhereError
from whatwhere.model.checkpoint import load_model
from whatwhere.store.storage import read_json
from whatwhere.studies.dynamics.checkpoints import score_run
from whatwhere.studies.dynamics.history import Settings
from whatwhere.tasks import make_task
from whatwhere.training.loop import train
from whatwhere.training.presets import smoke
from whatwhere.training.run import Run


def test_a_run_ships_with_its_history_and_how_it_was_made(tmp_path: Path):
    run = Run(tmp_path / "run")
    run.create(replace(smoke(make_task("letter")), threads=1))
    with pytest.raises(WhatwhereError, match="has not ended"):
        ship(run, tmp_path / "zoo")
    train(run)
    with pytest.raises(WhatwhereError, match="has no scores; make them with: whatwhere score"):
        ship(run, tmp_path / "zoo")
    score_run(run, Settings(inputs=8))
    home = ship(run, tmp_path / "zoo")
    assert home == tmp_path / "zoo" / "letter"
    assert load_model(home / "model.safetensors").task == run.task
    manifest = read_json(home / "manifest.json", "the manifest")
    assert manifest["command"] == (
        f"whatwhere train letter --preset smoke --seed 0 --threads 1 --precision {run.config.precision}"
    )
    assert manifest["test_sequences"] == 152
    assert (home / "scores.csv").read_text() == run.scores_path.read_text()
    assert (home / "metrics.csv").read_text() == run.metrics_path.read_text()
