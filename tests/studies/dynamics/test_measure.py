from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

import whatwhere.studies.dynamics.measure as module
from whatwhere.errors import WhatwhereError
from whatwhere.heads.levels import score_model_weightings
from whatwhere.heads.weighting import TAUS, band, reading_mask
from whatwhere.store.manifest import Manifest
from whatwhere.studies.dynamics import DYNAMICS
from whatwhere.studies.dynamics.tables import Accuracy, DynamicsSettings, Score
from whatwhere.studies.measuring import measure
from whatwhere.studies.results import Results
from whatwhere.studies.study import no_progress
from whatwhere.tasks import make_task
from whatwhere.training import run as runs
from whatwhere.training.presets import smoke
from whatwhere.training.run import Run, State

SETTINGS = DynamicsSettings(inputs=8, readings=6)
"""Of 24 steps with checkpoints every 4, all are read at every query."""


def measured(run: Run, settings: DynamicsSettings = SETTINGS, progress=no_progress) -> Results:
    opened = DYNAMICS.subject.open(run)
    return measure(DYNAMICS, opened, settings, opened.home / "dynamics", progress=progress)


def stored(run: Run) -> list[int]:
    results = Results.open(DYNAMICS, run.directory / "dynamics")
    return sorted({row.step for row in results.rows("scores", Score)})


def test_scores_of_every_reading_and_tau_are_those_of_an_independent_trace(run: Run) -> None:
    results = measured(run)
    batch = run.task.sample(8, seed=0)
    rows = {(row.step, row.layer, row.reading, row.tau): row for row in results.rows("readings", Score)}
    assert len(rows) == 3 * 2 * 3 * len(TAUS)
    for step in (0, 4, 8):
        for tau, each in zip(
            TAUS, score_model_weightings(run.load(step), batch.tokens, band(), queries=range(17)), strict=True
        ):
            for reading in ("last", "path", "all"):
                mask = torch.tensor(reading_mask(reading, 17, 8, batch.paths))[:, None]
                for layer in range(2):
                    row = rows[step, layer, reading, tau]
                    for name in ("positional", "symbolic"):
                        wanted = torch.where(mask, getattr(each, f"each_{name}")[layer], torch.nan)
                        assert getattr(row, name) == pytest.approx(float(wanted.nanmean()), abs=1e-6)
                    assert row.n == int(mask.sum())
    assert rows[8, 0, "last", 1e-4].entropy_share == pytest.approx(
        rows[8, 0, "last", 1e-4].entropy / np.log(17), abs=1e-6
    )
    assert {row.n for key, row in rows.items() if key[2] == "path"} == {int(batch.hops.sum())}


def test_the_table_of_scores_is_the_last_query_at_the_chosen_tau(run: Run) -> None:
    results = measured(run, DynamicsSettings(inputs=8, tau=0.5, readings=6))
    rows = results.rows("scores", Score)
    assert rows == [row for row in results.rows("readings", Score) if (row.reading, row.tau) == ("last", 0.5)]
    assert len(rows) == 3 * 2


def test_accuracy_is_measured_on_the_scored_inputs_and_taken_from_the_training(run: Run) -> None:
    run.write_test([runs.TestAccuracy(8, hop, 0.25, 100) for hop in (1, 2, 3, 4)])
    rows = measured(run).rows("accuracy", Accuracy)
    batch = run.task.sample(8, seed=0)
    for step in (0, 4, 8):
        right = run.load(step).predict(batch.tokens) == batch.answers
        for hop in (1, 2, 3, 4):
            (row,) = [row for row in rows if (row.step, row.split, row.hop) == (step, "scored", hop)]
            assert (row.accuracy.value, row.accuracy.n) == (right[batch.hops == hop].mean(), 2)
    kept = [(row.step, row.hop, row.accuracy.value, row.accuracy.n) for row in rows if row.split == "validation"]
    assert kept == [(step, hop, 0.5, 2) for step in (0, 4) for hop in (1, 2, 3, 4)]
    assert [(row.hop, row.accuracy.n) for row in rows if row.split == "test"] == [(hop, 100) for hop in (1, 2, 3, 4)]


def test_other_queries_are_read_at_some_checkpoints_and_at_the_last(run: Run) -> None:
    rows = measured(run, DynamicsSettings(inputs=4, readings=1)).rows("readings", Score)
    assert {row.step for row in rows if row.reading == "all"} == {0, 8}
    assert {row.step for row in rows if row.reading == "last"} == {0, 4, 8}


def test_what_is_scored_already_is_skipped_and_a_run_in_training_is_followed(run: Run, monkeypatch) -> None:
    assert not Manifest(measured(run).directory).record.complete
    loaded: list[int] = []
    load = Run.load
    monkeypatch.setattr(Run, "load", lambda self, step: loaded.append(step) or load(self, step))
    run.save_checkpoint(24, load(run, 8))
    run.save_state(State(24, {"generator": np.zeros(1)}, {}))
    results = measured(run)
    assert loaded == [24]
    assert stored(run) == [0, 4, 8, 24]
    assert Manifest(results.directory).record.complete
    scores = [(row.layer, row.positional) for row in results.rows("scores", Score)]
    assert scores[-2:] == scores[-4:-2]


def test_an_interruption_keeps_what_was_scored(run: Run, monkeypatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    seen: list[tuple[str, int, int]] = []

    def interrupt(*told: object) -> None:
        seen.append(told)  # pyright: ignore[reportArgumentType]
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measured(run, progress=interrupt)
    assert stored(run) == [0, 4]
    assert seen == [("step 0 scored", 1, 3), ("step 4 scored", 2, 3)]
    whole = measured(run)
    assert stored(run) == [0, 4, 8]
    assert len(whole["purity"]) == 3 * len(TAUS) * 2 * 2 * 2  # readings, taus, gammas, kinds, heads


def test_a_step_that_one_table_lacks_is_scored_again(run: Run) -> None:
    results = measured(run)
    before = results["readings"]
    results.write("readings", [row for row in results.rows("readings", Score) if row.step != 4])
    assert measured(run)["readings"].equals(before)


def test_scores_are_saved_while_the_work_goes_on(run: Run, monkeypatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    monkeypatch.setattr(module, "_SAVE_EVERY_SECONDS", -1.0)
    there: list[list[int]] = []
    measured(run, progress=lambda *_: there.append(stored(run)))
    assert there == [[0], [0, 4], [0, 4, 8]]


def test_several_cores_give_the_same(run: Run, monkeypatch) -> None:
    alone = measured(run)["readings"]
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    shutil.rmtree(run.directory / "dynamics")
    assert measured(run)["readings"].equals(alone)


def test_a_damaged_checkpoint_leaves_earlier_scores_whole(run: Run, monkeypatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    run.checkpoint_path(8).write_bytes(b"not a model")
    with pytest.raises(WhatwhereError, match="safetensors"):
        measured(run)
    assert stored(run) == [0, 4]


def test_a_run_without_checkpoints_is_refused(tmp_path: Path) -> None:
    empty = Run(tmp_path / "empty")
    empty.create(smoke(make_task("letter")))
    with pytest.raises(WhatwhereError, match=r"expected a run with checkpoints, got .*empty.*train it first"):
        measured(empty)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"inputs": 0}, "expected inputs of 1 or more, got 0"),
        ({"readings": 0}, "expected readings of 1 or more, got 0"),
        ({"tau": -1.0}, "expected a tau above 0, got -1"),
        ({"tau": float("inf")}, "expected a tau above 0, got inf"),
    ],
)
def test_impossible_settings_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(WhatwhereError, match=message):
        DynamicsSettings(**settings)


def test_some_checkpoints_are_denser_early_and_all_are_what_is_scored_without_the_option(run: Run) -> None:
    measured(run, DynamicsSettings(inputs=8, readings=6, checkpoints=3))
    assert stored(run) == [0, 8], "of steps 0, 6 and 24 by the plan: those nearest to them that are there"
    assert "checkpoints" not in SETTINGS.decisive(), "results that were made before there was the option stay valid"
    with pytest.raises(WhatwhereError, match="expected checkpoints of 1 or more, got 0"):
        DynamicsSettings(checkpoints=0)
