"""Readings of models that are known to follow letters, distances, or neither."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import whatwhere as ww
from whatwhere.errors import WhatwhereError
from whatwhere.heads.scores import score
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.preference.tables import PreferenceSettings
from whatwhere.tasks import BothTask, LetterTask
from whatwhere.trace.traceable import trace

TASK = BothTask(target=4, context=4, integers=4)


@pytest.fixture
def model() -> GPTJ:
    made = GPTJ(ModelConfig(TASK.vocab_size, layers=2, heads=2, d_model=32, d_mlp=32, init_std=0.3), seed=0)
    made.task = TASK
    return made.requires_grad_(False)


@pytest.mark.parametrize("cue", ["symbolic", "positional", "other"])
def test_an_oracle_of_one_cue_gives_its_answers_at_every_length(
    model: GPTJ, cue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    solve = {"symbolic": TASK.solve_symbolic, "positional": TASK.solve_positional}
    monkeypatch.setattr(model, "predict", solve.get(cue, lambda tokens: np.zeros(len(tokens), int) - 1))
    results = ww.study("preference", model, inputs=32, lengths=(33, 145))
    assert sorted(results["accuracy"].length.unique()) == [9, 33, 145]
    assert (results["accuracy"].accuracy == (cue != "other")).all()
    shares = results["answers"].groupby("reading").share
    assert (shares.min() == shares.max()).all()
    assert shares.min().to_dict() == {reading: float(reading == cue) for reading in ("symbolic", "positional", "other")}
    assert set(results["answers"]["where"]) == {"last", "every"}
    assert results["answers"].query("length == 145 and hop.isna()").share_n.tolist() == [7] * 6


def test_heads_have_the_scores_of_the_path_at_the_training_length(model: GPTJ) -> None:
    found = ww.study("preference", model, inputs=16, lengths=())["heads"]
    batch = TASK.sample(16, seed=0)
    scores = score(trace(model, batch.tokens, queries=range(4, 9)), reading="path", paths=batch.paths)
    np.testing.assert_allclose(found.positional.to_numpy().reshape(2, 2), scores.positional)
    np.testing.assert_allclose(found.symbolic.to_numpy().reshape(2, 2), scores.symbolic)


def test_what_is_there_is_not_measured_again(model: GPTJ, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ww.study("preference", model, inputs=16, lengths=(33,))
    seen: list[int] = []
    plain = GPTJ.predict

    def predict(self: GPTJ, tokens: np.ndarray) -> np.ndarray:
        seen.append(tokens.shape[1])
        if len(seen) == 5:  # in the midst of the second length
            raise KeyboardInterrupt
        return plain(self, tokens)

    monkeypatch.setattr(GPTJ, "predict", predict)
    with pytest.raises(KeyboardInterrupt):
        ww.study("preference", model, out=tmp_path, inputs=16, lengths=(33,))
    resumed = ww.study("preference", model, out=tmp_path, inputs=16, lengths=(33,))
    assert seen == [9, 9, 9, 33, 33, 33, 33, 33]
    for table in whole:
        pd.testing.assert_frame_equal(resumed[table], whole[table])


def test_models_of_other_tasks_and_impossible_settings_are_refused() -> None:
    task = LetterTask()
    other = GPTJ(ModelConfig(task.vocab_size, layers=1, d_model=16, d_mlp=16))
    other.task = task
    with pytest.raises(WhatwhereError, match=r"expected a model of the both task, got one of the letter task\. Train"):
        ww.study("preference", other)
    with pytest.raises(WhatwhereError, match="expected inputs of 16 or more, got 4; raise inputs"):
        PreferenceSettings(inputs=4)
    with pytest.raises(WhatwhereError, match="expected lengths of 1 token or more, got 0"):
        PreferenceSettings(lengths=(0,))
