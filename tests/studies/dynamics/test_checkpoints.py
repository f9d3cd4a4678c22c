from __future__ import annotations

import numpy as np
import pytest

import whatwhere.studies.dynamics.checkpoints
from whatwhere.errors import WhatwhereError
from whatwhere.heads.levels import score_model
from whatwhere.studies.dynamics.checkpoints import score_run
from whatwhere.studies.dynamics.history import Settings, read_history
from whatwhere.tasks import make_task
from whatwhere.training.presets import smoke
from whatwhere.training.run import Run, State

SETTINGS = Settings(inputs=8)


def test_every_checkpoint_is_scored_on_the_same_inputs(run: Run) -> None:
    seen: list[tuple[int, int, int]] = []
    history = score_run(run, SETTINGS, observer=lambda *progress: seen.append(progress))
    assert seen == [(0, 1, 3), (5, 2, 3), (10, 3, 3)]
    tokens = run.task.sample(8, seed=0).tokens
    for step, positional in zip(history.steps.tolist(), history.positional, strict=True):
        expected = score_model(run.load(step), tokens).positional.numpy()
        np.testing.assert_allclose(positional, expected, rtol=1e-9)


def test_what_is_scored_already_is_skipped(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    score_run(run, SETTINGS)
    loaded: list[int] = []
    load = Run.load
    monkeypatch.setattr(Run, "load", lambda self, step: loaded.append(step) or load(self, step))
    run.save_checkpoint(20, load(run, 10))
    history = score_run(run, SETTINGS)
    assert loaded == [20]
    assert history.steps.tolist() == [0, 5, 10, 20]
    np.testing.assert_array_equal(history.positional[2], history.positional[3])


def test_an_interruption_keeps_what_was_scored(run: Run) -> None:
    def interrupt(step: int, *_: int) -> None:
        if step == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_run(run, SETTINGS, observer=interrupt)
    assert read_history(run.scores_path).steps.tolist() == [0, 5]
    assert score_run(run, SETTINGS).steps.tolist() == [0, 5, 10]


def test_scores_are_saved_while_the_work_goes_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whatwhere.studies.dynamics.checkpoints, "_SAVE_EVERY_SECONDS", -1.0)
    there: list[list[int]] = []
    score_run(run, SETTINGS, observer=lambda *_: there.append(read_history(run.scores_path).steps.tolist()))
    assert there == [[0], [0, 5], [0, 5, 10]]


def test_other_settings_are_refused_unless_forced(run: Run) -> None:
    score_run(run, SETTINGS)
    before = run.scores_path.read_bytes()
    with pytest.raises(WhatwhereError, match=r"made with tau 0\.01, 8 inputs, seed 0, and tau 0\.1.*--force"):
        score_run(run, Settings(tau=0.1, inputs=8))
    assert run.scores_path.read_bytes() == before
    assert score_run(run, Settings(tau=0.1, inputs=8), force=True).settings.tau == 0.1


def test_a_tau_with_many_digits_is_recognised_as_the_same(run: Run) -> None:
    settings = Settings(tau=1 / 3, inputs=4)
    score_run(run, settings)
    assert len(score_run(run, settings).steps) == 3


def test_a_damaged_checkpoint_leaves_earlier_scores_whole(run: Run) -> None:
    run.checkpoint_path(10).write_bytes(b"not a model")
    with pytest.raises(WhatwhereError, match="not a whole safetensors file"):
        score_run(run, SETTINGS)
    assert read_history(run.scores_path).steps.tolist() == [0, 5]
    run.checkpoint_path(0).write_bytes(b"not a model")
    with pytest.raises(WhatwhereError, match="not a whole safetensors file"):
        score_run(run, SETTINGS, force=True)
    assert read_history(run.scores_path).steps.tolist() == [0, 5]


def test_a_run_without_checkpoints_is_refused(run: Run) -> None:
    empty = Run(run.directory.parent / "empty")
    with pytest.raises(WhatwhereError, match="a run directory"):
        score_run(empty, SETTINGS)
    empty.create(smoke(make_task("letter")))
    with pytest.raises(WhatwhereError, match="no checkpoints to score yet"):
        score_run(empty, SETTINGS)


def end(run: Run, step: int, decay_from: int | None) -> None:
    run.save_state(State(step, {"generator": np.zeros(1)}, {"decay_from": decay_from}))


@pytest.mark.parametrize(("last", "decay_from"), [(24, None), (12, 8)])
def test_following_takes_up_new_checkpoints_until_training_ends(
    run: Run, monkeypatch: pytest.MonkeyPatch, last: int, decay_from: int | None
) -> None:
    """The smoke preset ends at step 24, or four steps after its rate began to fall."""
    monkeypatch.setattr(whatwhere.studies.dynamics.checkpoints, "_LOOK_EVERY_SECONDS", 0.01)
    slept: list[float] = []

    def training_goes_on(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 1:
            run.save_checkpoint(last - 1, run.load(5))
            end(run, last - 1, decay_from)
        if len(slept) == 3:
            run.save_checkpoint(last, run.load(5))
            end(run, last, decay_from)

    monkeypatch.setattr(whatwhere.studies.dynamics.checkpoints.time, "sleep", training_goes_on)
    history = score_run(run, SETTINGS, follow=True)
    assert history.steps.tolist() == [0, 5, 10, last - 1, last]
    assert slept == [0.01] * 3


def test_following_may_begin_before_the_first_checkpoint(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = Run(run.directory.parent / "fresh")
    fresh.create(run.config)

    def first_checkpoint(_: float) -> None:
        fresh.save_checkpoint(24, run.load(0))
        end(fresh, 24, None)

    monkeypatch.setattr(whatwhere.studies.dynamics.checkpoints.time, "sleep", first_checkpoint)
    assert score_run(fresh, SETTINGS, follow=True).steps.tolist() == [24]
