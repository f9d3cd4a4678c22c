from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import whatwhere as ww
from ship import ship
from whatwhere.errors import WhatwhereError
from whatwhere.model.checkpoint import load_model
from whatwhere.store.documents import read_json
from whatwhere.studies import study_named
from whatwhere.studies.results import Results
from whatwhere.tasks import make_task
from whatwhere.training.loop import train
from whatwhere.training.presets import smoke
from whatwhere.training.run import Run
from whatwhere.zoo import load, take


@pytest.mark.slow
def test_a_run_ships_with_its_history_and_can_be_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    run = Run(tmp_path / "run")
    run.create(replace(smoke(make_task("letter")), threads=1))
    with pytest.raises(WhatwhereError, match="has not ended"):
        ship(run, tmp_path / "zoo")
    train(run)
    with pytest.raises(WhatwhereError, match="was not scored; do it with: whatwhere dynamics"):
        ship(run, tmp_path / "zoo")
    ww.study("dynamics", run, out=run.directory, inputs=8)
    home = ship(run, tmp_path / "zoo", "mine")
    assert home == tmp_path / "zoo" / "mine"
    assert load_model(home / "model.safetensors").task == run.task
    about = read_json(home / "about.json", "it")
    assert about["command"] == (
        "whatwhere train letter --generator paper --preset smoke --seed 0 --threads 1 "
        f"--precision {run.config.precision}"
    )
    assert [row["hop"] for row in about["test"]] == [1, 2, 3, 4]
    for module in (load, take):
        monkeypatch.setattr(module, "SHIPPED_AT", tmp_path / "zoo")
    taken = take.take("mine", tmp_path / "taken")
    assert taken is not None
    assert taken.steps() == [24]
    pd.testing.assert_frame_equal(pd.DataFrame(taken.metrics()), pd.DataFrame(run.metrics()))
    assert taken.test() == run.test()
    scores = pd.read_csv(tmp_path / "taken" / "dynamics" / "scores.csv")
    assert scores.equals(pd.read_csv(run.directory / "dynamics" / "scores.csv"))
    again = ww.study("dynamics", taken, out=taken.directory, inputs=8)
    assert len(again["scores"]) == len(scores), "the history is kept, though the checkpoints before the last are not"
    assert take.take("mine", tmp_path / "taken") is None
    ship(run, tmp_path / "zoo", "seeds/11/letter")
    assert not (tmp_path / "zoo" / "seeds/11/letter/model.safetensors").exists()
    assert take.further_seeds() == ["seeds/11/letter"]
    evidence = take.take("seeds/11/letter", tmp_path / "evidence")
    assert evidence is not None
    assert evidence.steps() == []
    assert Results.open(study_named("dynamics"), tmp_path / "evidence" / "dynamics")["scores"].equals(scores)
    (tmp_path / "evidence" / "dynamics" / "scores.csv").unlink()  # as a kill between two files leaves it
    assert take.take("seeds/11/letter", tmp_path / "evidence") is not None
    assert take.take("seeds/11/letter", tmp_path / "evidence") is None
    (tmp_path / "zoo" / "other").mkdir()
    (tmp_path / "zoo" / "other" / "about.json").write_text('{"command": "whatwhere train number"}')
    with pytest.raises(WhatwhereError, match="expected the shipped model 'other', got another run"):
        take.take("other", tmp_path / "taken")
