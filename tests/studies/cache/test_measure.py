"""The study on a tiny model: whole, interrupted, and refused."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pandas.testing import assert_frame_equal

import whatwhere as ww
from whatwhere.errors import WhatwhereError
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.cache import CACHE, measure, streamed_runs
from whatwhere.studies.cache.tables import About, CacheSettings, Need, Policy, PromptAnswer, WindowLoss
from whatwhere.studies.results import Results
from whatwhere.trace.rotary import RotaryModel

SETS = 1 + 6 * 2 + 2
"""The full cache, six rankings at two budgets, and the second random order."""


def cache(model: object, settings: CacheSettings, **changed: Any) -> Results:
    return ww.study("cache", model, **{**options(settings), **changed})


def options(settings: CacheSettings) -> dict[str, Any]:
    return {field.name: getattr(settings, field.name) for field in fields(settings)}


@pytest.fixture
def able(monkeypatch: pytest.MonkeyPatch) -> None:
    """A random model finds no key: it is asked nevertheless."""
    monkeypatch.setattr(measure, "can_find_keys", lambda _: True)


@pytest.mark.usefixtures("able")
def test_every_ranking_is_measured_at_every_budget(tiny: RotaryModel, small: CacheSettings):
    results = cache(tiny, small)
    losses = results.rows("losses", WindowLoss)
    assert len(losses) == SETS and len(results.rows("answers", PromptAnswer)) == 2 * SETS
    assert len(results["policies"]) == 12 and len(results["comparisons"]) == 2 * 15
    full = losses[0].loss
    for row in results.rows("policies", Policy):
        own = [one.loss for one in losses if (one.ranking, one.budget) == (row.ranking, row.budget)]
        assert row.above.value == pytest.approx(np.mean(own) - full)
    about = results["about"].iloc[0]
    assert (about.family, about.source, about.kv_heads, about.group) == ("LlamaForCausalLM", "text.txt", 2, 2)
    assert (about.layers, about.tokens, about.loss) == (2, 30, pytest.approx(full))
    assert results["policies"].cache.tolist()[:2] == pytest.approx([1 - 25 / 120, 1 - 50 / 120])


def test_a_model_that_finds_no_key_is_asked_with_the_full_cache_alone(
    tiny: RotaryModel, small: CacheSettings, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(measure, "can_find_keys", lambda _: False)
    results = cache(tiny, small)
    assert results["answers"]["ranking"].tolist() == ["full", "full"]
    assert {row.passkey.n for row in results.rows("policies", Policy)} == {0}


def test_without_prompts_nothing_is_asked(tiny: RotaryModel, small: CacheSettings):
    results = cache(tiny, small, prompts=0)
    assert not results.has("answers")
    assert [row.passkey.n for row in results.rows("about", About)] == [0]


@pytest.mark.usefixtures("able")
def test_an_interrupted_study_goes_on_with_the_rows_that_are_there(
    tiny: RotaryModel, small: CacheSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    whole = cache(tiny, small)
    runs = []

    def counted(*given: Any) -> Any:
        runs.append(given)
        if len(runs) == 5:
            raise KeyboardInterrupt
        return streamed_runs.token_losses(*given)

    monkeypatch.setattr(measure, "token_losses", counted)
    with pytest.raises(KeyboardInterrupt):
        cache(tiny, small, out=tmp_path)
    again = cache(tiny, small, out=tmp_path)
    different = {one.streamed for one in streamed_runs.streamed_sets(whole.rows("needs", Need), small)}
    assert len(runs) == 3 * len(different) + 1  # orders that stream the same heads share a run; one run was cut off
    for table in whole:
        assert_frame_equal(again[table], whole[table], rtol=1e-6)  # rows on disk have ten digits


def test_the_policy_is_written_for_others(tiny: RotaryModel, small: CacheSettings, tmp_path: Path):
    results = cache(tiny, small, out=tmp_path, prompts=0)
    pattern = np.loadtxt(tmp_path / "cache" / "duo_attention" / "full_attention_heads.tsv", delimiter="\t")
    needs = results["needs"].query("ranking == 'positional'")
    assert pattern.tolist() == (needs.place.to_numpy().reshape(2, 2) / 3).tolist()
    config = json.loads((tmp_path / "cache" / "duo_attention" / "config.json").read_text())
    assert (config["model_name"], config["sink_size"]) == ("tiny", 1)
    scores = json.loads((tmp_path / "cache" / "head_scores.json").read_text())
    assert scores["1-3"] == pytest.approx([needs.need.tolist()[3]])
    (tmp_path / "cache" / "head_scores.json").unlink()
    cache(tiny, small, out=tmp_path, prompts=0)
    assert (tmp_path / "cache" / "head_scores.json").is_file()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"text": ()}, "expected a text, got none; name one with --text FILE"),
        ({"inputs": 2}, r"expected at least 90 tokens in text.txt \(3 windows of 30\), got 60; give a longer text"),
        ({"window": 6}, "expected windows of at least 7 tokens, so that a streamed head forgets some"),
        ({"budgets": ()}, "expected budgets above 0 and up to 1"),
        ({"budgets": (1.5,)}, "expected budgets above 0 and up to 1"),
        ({"rankings": ("far", "near")}, "expected rankings of positional, both, far, .* got far, near"),
        ({"rankings": ("far", "far")}, "expected rankings of .*, each once, got far, far"),
        ({"rankings": ()}, "each once, got none"),
        ({"recent": 0}, "expected recent of 1 or more, got 0; raise recent"),
        ({"prompts": -1}, "expected prompts of 0 or more, got -1"),
        ({"text": ("-", "-")}, r"expected - \(standard input\) once, got it 2 times"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    tiny: RotaryModel, small: CacheSettings, changed: dict[str, Any], message: str
):
    with pytest.raises(WhatwhereError, match=message):
        cache(tiny, small, **changed)


def test_models_without_a_tokenizer_are_refused(tiny: RotaryModel, small: CacheSettings):
    own = GPTJ(ModelConfig(vocab_size=10, layers=1, d_model=16, d_mlp=16), seed=0)
    for model in (own, RotaryModel(tiny.model)):
        with pytest.raises(WhatwhereError, match=r"expected a language model with its tokenizer, got .* without one"):
            cache(model, small)


def test_results_know_a_text_by_its_content(small: CacheSettings, tmp_path: Path):
    (source,) = small.text
    copy = tmp_path / "copy.txt"
    copy.write_text(Path(source).read_text())
    moved = CACHE.with_settings(**{**options(small), "text": (str(copy),)})
    assert moved.decisive() == small.decisive()
    known = CACHE.with_settings(**small.decisive())
    assert known.passages == () and known.decisive() == small.decisive()
