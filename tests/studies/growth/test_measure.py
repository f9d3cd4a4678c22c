"""A tiny training: against transformers' own attention, against an oracle of copying, and interrupted."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

import whatwhere as ww
from whatwhere.errors import WhatwhereError
from whatwhere.studies.growth import GROWTH
from whatwhere.studies.growth import measure as growth_measure
from whatwhere.studies.growth.corpus import make_corpus
from whatwhere.studies.growth.measure import copying_gain, evaluated_steps, rate_at
from whatwhere.studies.growth.tables import GrowthSettings
from whatwhere.studies.measuring import measure
from whatwhere.studies.subject import NOTHING
from whatwhere.studies.watched.callbacks import HeadWatch

pytestmark = pytest.mark.slow  # models are trained
QUERIES = [8, 10, 13, 15]
"""Four over the second half of a window of 16."""


def run(settings: GrowthSettings, out: Path | None = None, progress: Any = lambda *_: None) -> Any:
    return measure(GROWTH, NOTHING.open(None), settings, out, progress=progress)


def test_heads_are_scored_from_the_first_step_to_the_last(small: GrowthSettings) -> None:
    results = run(small)
    assert results["losses"]["step"].tolist() == sorted(evaluated_steps(8, 4))
    assert results["losses"]["step"].iloc[-1] == 8
    assert results["losses"]["tokens"].iloc[-1] == 8 * 4 * 16
    assert math.isnan(results["losses"]["training"].iloc[0])
    assert len(results["scores"]) == len(results["detectors"]) == 4 * len(results["losses"])
    assert "A Llama of 2 layers" in results.summary


def llama(small: GrowthSettings, vocabulary: int) -> LlamaForCausalLM:
    """The model of the study before its first step, built by hand."""
    torch.manual_seed(small.seed)
    config = LlamaConfig(
        vocab_size=vocabulary, hidden_size=16, intermediate_size=42, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=16,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


def test_attention_to_the_token_before_is_that_of_transformers(small: GrowthSettings, prose: Path) -> None:
    found = run(small)["detectors"].query("step == 0")
    corpus = make_corpus([prose.read_text()], small.vocabulary, small.window)
    model = llama(small, corpus.vocabulary)
    model.set_attn_implementation("eager")
    windows = torch.from_numpy(corpus.held_out_windows(8, 16))
    with torch.no_grad():
        attentions = model(windows, output_attentions=True).attentions
    queries = torch.tensor(QUERIES)
    wanted = [layer[:, :, queries, queries - 1].mean((0, 2)).tolist() for layer in attentions]
    assert found["previous"].tolist() == pytest.approx(np.ravel(wanted).tolist(), abs=1e-6)


def test_the_callback_for_a_loop_of_ones_own_scores_the_same(
    small: GrowthSettings, prose: Path, tmp_path: Path
) -> None:
    corpus = make_corpus([prose.read_text()], small.vocabulary, small.window)
    model, windows = llama(small, corpus.vocabulary), corpus.held_out_windows(8, 16)
    watch = HeadWatch(model, torch.from_numpy(windows), tmp_path, queries=QUERIES)
    watch(0)
    found = run(small)["scores"].query("step == 0").reset_index(drop=True)
    pd.testing.assert_frame_equal(watch.results["scores"], found)


def test_repetition_helps_a_model_that_copies_and_no_other(small: GrowthSettings) -> None:
    def copies(input_ids: torch.Tensor, **_: Any) -> SimpleNamespace:
        logits = torch.zeros(*input_ids.shape, 50)
        half = input_ids.shape[1] // 2
        after = input_ids.roll(-1, 1)[:, half:]  # the second copy continues as the first did
        logits[:, half:] = 100.0 * torch.nn.functional.one_hot(after, 50)
        return SimpleNamespace(logits=logits)

    def knows_nothing(input_ids: torch.Tensor, **_: Any) -> SimpleNamespace:
        return SimpleNamespace(logits=torch.zeros(*input_ids.shape, 50))

    assert copying_gain(copies, 50, small) == pytest.approx(math.log(50), abs=1e-4)  # pyright: ignore[reportArgumentType]
    assert copying_gain(knows_nothing, 50, small) == pytest.approx(0)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("stopped_at", [1, 5, 8])
def test_a_training_that_is_interrupted_goes_on_to_the_same_tables(
    small: GrowthSettings, tmp_path: Path, stopped_at: int
) -> None:
    undisturbed = run(small, tmp_path / "whole")

    def stop(_: str, done: int, __: int) -> None:
        if done >= stopped_at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(small, tmp_path / "broken", stop)
    resumed = run(small, tmp_path / "broken")
    for table in ("scores", "detectors", "onsets"):
        pd.testing.assert_frame_equal(resumed[table], undisturbed[table])
    columns = ["step", "tokens", "held_out", "copying"]
    pd.testing.assert_frame_equal(resumed["losses"][columns], undisturbed["losses"][columns])


def test_the_same_seed_gives_the_same_model_and_another_does_not(small: GrowthSettings) -> None:
    first, again, other = (run(one)["losses"]["held_out"].tolist() for one in (small, small, replace(small, seed=1)))
    assert first == again
    assert first != other


def test_the_rate_rises_to_its_peak_and_falls_to_a_tenth(small: GrowthSettings) -> None:
    long = replace(small, tokens=1000 * 4 * 16)
    rates = [rate_at(step, long) for step in range(1, 1001)]
    assert max(rates) == long.lr == rates[49]
    assert rates[-1] == pytest.approx(long.lr / 10)


def test_evaluations_come_the_more_often_the_earlier() -> None:
    steps = sorted(evaluated_steps(1000, 20))
    assert steps[0] == 0
    assert steps[-1] == 1000
    assert steps[-1] - steps[-2] > steps[5] - steps[4]


def test_a_loss_that_is_no_number_ends_the_training_with_advice(
    small: GrowthSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growth_measure, "rate_at", lambda step, _: math.nan if step == 2 else 0.0)
    with pytest.raises(WhatwhereError, match="expected a finite loss, got nan at step 3; lower --lr"):
        run(small)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokens": 0}, "expected tokens from 1 to"),
        ({"vocabulary": 200}, "expected vocabulary from 257 to"),
        ({"d_model": 30, "heads": 4}, "take a multiple of 8"),
        ({"lr": 2.0}, "expected an lr between 0 and 1"),
        ({"evaluations": 100_000}, "expected evaluations from 2 to 1,000, got 100,000"),
        ({"text": ("nowhere.txt",)}, "expected a text file at nowhere.txt"),
    ],
)
def test_settings_that_cannot_be_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(WhatwhereError, match=message):
        ww.study("growth", **change)


def test_a_model_is_not_wanted() -> None:
    with pytest.raises(WhatwhereError, match="this study needs no model"):
        ww.study("growth", "letter")
