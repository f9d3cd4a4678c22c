from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import whatwhere as ww
from whatwhere.errors import WhatwhereError
from whatwhere.model.checkpoint import save_model
from whatwhere.studies.forecast import measure
from whatwhere.studies.forecast.tables import ForecastSettings, PredictedBreak
from whatwhere.studies.forecast.variants import interventions_of
from whatwhere.tasks import LetterTask
from whatwhere.trace.interventions import ClosePlanes, ScaleAngles, ScaleLogits

TASK = LetterTask()
SMALL: dict[str, Any] = {"inputs": 8, "forecast_inputs": 8, "longest": 40, "variations": ("as-trained", "logits-0.5")}


@pytest.fixture(autouse=True)
def answering(monkeypatch) -> list[int]:
    """A model that is right below 30 tokens and wrong from there on; the lengths that it was asked."""
    asked: list[int] = []

    def oracle(_model, tokens, _changes):
        asked.append(tokens.shape[1])
        return TASK.solve(tokens) if tokens.shape[1] < 30 else np.zeros(len(tokens), np.int64)

    monkeypatch.setattr(measure, "answers", oracle)
    return asked


def test_breaks_are_measured_between_the_lengths_that_bracket_them(tiny, answering) -> None:
    results = ww.study("forecast", tiny(TASK), **SMALL)
    assert set(results["forecasts"].method) == {"carried", "chain", "dispersion"}
    assert set(results["variants"].variation) == {"as-trained", "logits-0.5"}
    assert results["breaks"].length.between(24, 34).all()
    assert set(results["calibration"].broken) <= {0, 2}
    assert max(answering) > 30


def test_no_longer_input_is_run_before_every_forecast_is_on_disk_and_sealed(tiny, tmp_path: Path, monkeypatch) -> None:
    oracle, longer = measure.answers, []

    def watched(model, tokens, changes):
        if tokens.shape[1] > TASK.length:
            longer.append(tokens.shape[1])
            assert (tmp_path / "forecast" / "seal.csv").is_file()
            assert len((tmp_path / "forecast" / "forecasts.csv").read_text().splitlines()) == 1 + 2 * 3 * 2
        return oracle(model, tokens, changes)

    monkeypatch.setattr(measure, "answers", watched)
    ww.study("forecast", tiny(TASK), out=tmp_path, **SMALL)
    assert longer


def test_an_interrupted_study_goes_on_with_the_forecasts_that_were_sealed(tiny, tmp_path: Path, monkeypatch) -> None:
    oracle = measure.answers

    def stops(model, tokens, changes):
        if tokens.shape[1] > 30:
            raise KeyboardInterrupt
        return oracle(model, tokens, changes)

    with monkeypatch.context() as patched:
        patched.setattr(measure, "answers", stops)
        with pytest.raises(KeyboardInterrupt):
            ww.study("forecast", tiny(TASK), out=tmp_path, **SMALL)
    before = (tmp_path / "forecast" / "forecasts.csv").read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(measure, "forecast", lambda *_: pytest.fail("forecast again"))
        results = ww.study("forecast", tiny(TASK), out=tmp_path, **SMALL)
    assert (tmp_path / "forecast" / "forecasts.csv").read_bytes() == before
    whole = ww.study("forecast", tiny(TASK), **SMALL)
    for table in whole:
        pd.testing.assert_frame_equal(results[table], whole[table])


def test_forecasts_that_were_changed_after_the_seal_are_refused(tiny) -> None:
    results = ww.study("forecast", tiny(TASK), **SMALL)
    rows = results.rows("forecasts", PredictedBreak)
    results.write("forecasts", [replace(rows[0], length=20.0, beyond=False), *rows[1:]])
    with pytest.raises(WhatwhereError, match="expected the forecasts that were sealed before longer inputs were run"):
        measure._seal(results)


def test_further_models_stand_in_the_same_tables(tiny, tmp_path: Path) -> None:
    other = tiny(TASK, layers=1)
    save_model(tmp_path / "other.safetensors", other)
    more = (str(tmp_path / "other.safetensors"),)
    results = ww.study("forecast", tiny(TASK), more=more, out=tmp_path, **{**SMALL, "variations": ("as-trained",)})
    assert results["variants"].model.tolist() == ["model", *more]
    assert results["variants"].weights.nunique() == 2
    assert set(results["calibration"].group) == {"held out", "all", "model", *more}
    with pytest.raises(WhatwhereError, match=r"expected different models, got .*other.safetensors twice"):
        ww.study("forecast", other, more=more, **SMALL)


def test_a_variant_that_does_not_solve_the_task_is_left_out(tiny, monkeypatch) -> None:
    monkeypatch.setattr(measure, "answers", lambda _model, tokens, _changes: np.zeros(len(tokens), np.int64))
    results = ww.study("forecast", tiny(TASK), **SMALL)
    assert not results["variants"].counts.any()
    assert results["forecasts"].empty
    assert results["breaks"].empty
    assert "Left out, below 0.95 at the training length: as-trained" in results.summary


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"inputs": 2}, "expected at least 8 inputs and 8 forecast inputs, got 2 and 48"),
        ({"variations": ()}, "expected one or more variations, each once, got none"),
        ({"longest": 0}, "expected a longest length of 1 token or more, got 0"),
    ],
)
def test_impossible_settings_are_refused(changed, message: str) -> None:
    with pytest.raises(WhatwhereError, match=message):
        ForecastSettings(**changed)


def test_a_longest_length_that_is_no_longer_than_training_is_refused(tiny) -> None:
    with pytest.raises(WhatwhereError, match="beyond the 17 tokens of training, got 17"):
        ww.study("forecast", tiny(TASK), **{**SMALL, "longest": 17})


def test_variations_are_read_from_their_names() -> None:
    assert interventions_of("as-trained", 64) == []
    assert interventions_of("logits-0.5", 64) == [ScaleLogits(0.5)]
    assert interventions_of("closed-3of8+logits-2", 64) == [ClosePlanes(tuple(range(17, 25))), ScaleLogits(2.0)]
    (base,) = interventions_of("base-16", 4)
    assert isinstance(base, ScaleAngles)
    assert base.factors == pytest.approx((1, 1 / 2, 1 / 4, 1 / 8))


@pytest.mark.parametrize("name", ["logits", "base-0", "closed-9of8", "closed-1of99", "sharper-2", "logits-2+"])
def test_a_variation_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(WhatwhereError, match="expected a variation such as as-trained"):
        interventions_of(name, 64)
