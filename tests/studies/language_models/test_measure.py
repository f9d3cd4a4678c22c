"""The tables of heads: against scores of a plain trace, resumed, chosen, and refused where they make no sense."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from families import FAMILIES, own_attention, tiny_model

import whatwhere as ww
from whatwhere.errors import WhatwhereError
from whatwhere.heads.frequency import frequency_use
from whatwhere.heads.levels import score_model
from whatwhere.heads.weighting import TAUS
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.language_models import HEADS
from whatwhere.studies.language_models.induction import induction
from whatwhere.studies.language_models.layer_facts import LEAST_SHARE
from whatwhere.studies.language_models.scored_inputs import choose_heads
from whatwhere.studies.language_models.tables import (
    About,
    HeadRow,
    HeadsSettings,
    Look,
    PlaneWeight,
    TemperatureScore,
    Token,
    WindowScore,
)
from whatwhere.studies.measuring import study
from whatwhere.studies.results import Results
from whatwhere.trace.rotary import RotaryModel
from whatwhere.trace.traceable import traceable

HERE = "whatwhere.studies.language_models"


def heads(model: object, **settings: Any) -> Results:
    return study("heads", model, **settings)


def rows(results: Results) -> list[HeadRow]:
    return results.rows("heads", HeadRow)


def about(results: Results) -> About:
    (found,) = results.rows("about", About)
    return found


def windows_of(text: str, length: int, count: int) -> torch.Tensor:
    ids = [int(word[1:]) for word in Path(text).read_text().split()]
    return torch.tensor([ids[length * i : length * (i + 1)] for i in range(count)])


def test_rows_of_a_text_are_the_scores_of_a_plain_trace(tiny: RotaryModel, text: str):
    results = heads(tiny, text=(text,), window=14, inputs=3, queries="2", tau=0.02)
    queries = [7, 13]
    found = ww.trace(tiny.model, windows_of(text, 14, 3), queries=queries)
    scores = ww.score(found, 0.02)
    beyond = ww.score(found, 0.02, renormalised=True, among=range(1, 14))
    again = ww.score(found, 0.02, renormalised=True)
    use = frequency_use(found)
    attention = found.attention()  # [layer, batch, head, query, key]
    assert [(row.layer, row.head) for row in rows(results)] == [(layer, head) for layer in (0, 1) for head in range(4)]
    for row in rows(results):
        at = row.layer, row.head
        assert row.positional.value == pytest.approx(float(scores.positional[at]))
        assert row.symbolic.value == pytest.approx(float(scores.symbolic[at]))
        assert row.entropy_share == pytest.approx(float(scores.entropy_share[at]))
        assert row.rest_positional == pytest.approx(float(beyond.positional[at]))
        assert row.rest_symbolic == pytest.approx(float(beyond.symbolic[at]))
        assert row.renormalised_symbolic == pytest.approx(float(again.symbolic[at]))
        assert row.positional.low <= row.positional.value <= row.positional.high
        assert row.positional.n == 6
        assert row.weighted_id == pytest.approx(float(use.weighted_id[at]))
        assert row.dominant_id is not None and row.dominant_id == int(use.dominant[at])
        assert row.dominant_frequency == pytest.approx(float(use.frequencies[row.dominant_id - 1]))
        here = attention[row.layer, :, row.head]
        assert row.first == pytest.approx(float(here[..., 0].mean()))
        assert row.previous == pytest.approx(float((here[:, 0, 6] + here[:, 1, 12]).mean() / 2))
        planes = [r for r in results.rows("spectrum", PlaneWeight) if (r.layer, r.head) == at]
        assert [r.weight for r in planes] == pytest.approx(use.weights[at].tolist())
        assert planes[1].frequency == pytest.approx(float(use.frequencies[1]))
    known = about(results)
    assert known.error < 1e-5
    assert (known.inputs, known.tokens, known.queries, known.interval, known.begins) == (3, 14, 2, "inputs", "")
    assert (known.source, known.is_text, known.family) == ("text.txt", True, "LlamaForCausalLM")


def test_rows_of_our_own_model_are_scored_on_its_task_at_the_last_query(own: GPTJ):
    results = heads(own, inputs=40, seed=3)
    assert own.task is not None
    tokens = own.task.sample(40, seed=3).tokens
    scores = score_model(own, tokens)
    for row in rows(results):
        assert row.positional.value == pytest.approx(float(scores.positional[row.layer, row.head]))
        assert row.symbolic.value == pytest.approx(float(scores.symbolic[row.layer, row.head]))
    assert rows(results)[0].label == "uniform"
    assert [row.self_attending for row in rows(results)] == [False, True]
    known = about(results)
    assert (known.source, known.is_text, known.queries, known.tokens) == ("the number task", False, 1, own.task.length)
    assert math.isnan(known.error)  # nothing is rebuilt
    assert [t.text for t in results.rows("tokens", Token) if t.input == 1] == own.task.decode(tokens[1]).split()


def test_a_shipped_model_has_its_known_heads():
    found = heads("letter", inputs=64)
    assert {row.label for row in rows(found) if row.layer < 5} == {"symbolic"}
    assert not any(row.label == "positional" for row in rows(found))


def test_the_band_of_temperatures_and_windows_come_on_request(own: GPTJ):
    results = heads(own, inputs=20, taus=True, windows=True)
    assert own.task is not None
    tokens = own.task.sample(20, seed=0).tokens
    attention = ww.trace(own, tokens).attention().detach()  # [layer, batch, head, 1, key]
    by_tau = results.rows("temperatures", TemperatureScore)
    assert [row.tau for row in by_tau if row.layer == 1] == list(TAUS)
    for row in by_tau:
        assert row.symbolic == pytest.approx(float(score_model(own, tokens, row.tau).symbolic[row.layer, row.head]))
    within = results.rows("windows", WindowScore)
    assert [row.window for row in within if row.layer == 1] == ["target", "pre-target"]
    for row in within:
        places = list(own.task.windows[row.window])
        alone = score_model(own, tokens, renormalised=True, among=places)
        assert row.positional == pytest.approx(float(alone.positional[row.layer, row.head]))
        mass = attention[row.layer, :, row.head, 0][:, places].sum(-1).mean()
        assert row.attention == pytest.approx(float(mass), abs=1e-6)
    plain = heads(own, inputs=4)
    assert not plain.has("temperatures") and not plain.has("windows")


def test_windows_of_a_text_are_its_quarters(tiny: RotaryModel, text: str):
    found = heads(tiny, text=(text,), window=20, inputs=1, windows=True, only="0.0").rows("windows", WindowScore)
    assert [row.window for row in found] == ["0-4", "5-9", "10-14", "15-19"]
    assert sum(row.attention for row in found) == pytest.approx(1)


@pytest.mark.slow
def test_swapped_tokens_are_scored_by_running_the_model_again(own: GPTJ):
    found = heads(own, inputs=6, level="tokens", only="1")
    assert own.task is not None
    scores = score_model(own, own.task.sample(6, seed=0).tokens, level="tokens")
    (row,) = rows(found)
    assert row.symbolic.value == pytest.approx(float(scores.symbolic[1, 0]))
    assert row.entropy == pytest.approx(float(scores.entropy[1, 0]))
    assert "Tokens were swapped" in found.summary


def test_batches_of_inputs_change_nothing(tiny: RotaryModel, text: str, monkeypatch: pytest.MonkeyPatch):
    together = rows(heads(tiny, text=(text,), window=14))
    monkeypatch.setattr(f"{HERE}.measure.TOKENS_AT_ONCE", 1)
    monkeypatch.setattr(f"{HERE}.layer_facts.CELLS_AT_ONCE", 1)
    for one, other in zip(together, rows(heads(tiny, text=(text,), window=14)), strict=True):
        assert one.positional.value == pytest.approx(other.positional.value, abs=1e-4)
        assert one.previous == pytest.approx(other.previous, abs=1e-5)


@pytest.mark.parametrize(("queries", "interval"), [("3", "queries"), ("last", "none")])
def test_one_window_has_intervals_over_its_queries(tiny: RotaryModel, text: str, queries: str, interval: str):
    found = heads(tiny, text=(text,), inputs=1, queries=queries)
    assert about(found).interval == interval
    assert any(row.positional.high - row.positional.low > 0.01 for row in rows(found)) == (interval == "queries")


def test_layers_without_rotation_have_no_frequency_and_are_symbolic(half_turning: RotaryModel, text: str):
    found = heads(half_turning, text=(text,), window=14)
    still = [row for row in rows(found) if row.layer == 1]
    assert all(row.planes == 0 and row.dominant_id is None and math.isnan(row.weighted_id) for row in still)
    assert all(row.symbolic.value == pytest.approx(1) for row in still)
    assert all(row.planes == 4 for row in rows(found) if row.layer == 0)
    assert {row.layer for row in found.rows("spectrum", PlaneWeight)} == {0}


def test_undefined_scores_stay_undefined(tiny: RotaryModel, text: str):
    found = rows(heads(tiny, text=(text,), window=3, queries="last"))
    assert all(math.isnan(row.rest_positional) for row in found)  # one key after the first cannot be swapped
    assert {row.rest_label for row in found} == {"undefined"}


def test_only_the_chosen_heads_are_scored_as_if_all_were(tiny: RotaryModel, text: str):
    every = {(row.layer, row.head): row for row in rows(heads(tiny, text=(text,), window=14))}
    found = heads(tiny, text=(text,), window=14, only="1.3,0.1,0.2")
    assert [(row.layer, row.head) for row in rows(found)] == [(0, 1), (0, 2), (1, 3)]
    for row in rows(found):
        one, other = row.positional, every[row.layer, row.head].positional
        # Not equal to the last digit: products of fewer heads add up in another order on some processors.
        assert (one.value, *one.interval) == pytest.approx((other.value, *other.interval), abs=1e-6)
        assert one.n == other.n
        assert row.induction == pytest.approx(every[row.layer, row.head].induction)
    assert {(row.layer, row.head) for row in found.rows("attention", Look)} == {(0, 1), (0, 2), (1, 3)}


def test_layers_that_do_not_attend_have_no_rows(word_tokenizer: Any, text: str):
    found = heads(RotaryModel(tiny_model(FAMILIES["LFM2"]), "lfm", word_tokenizer), text=(text,), window=14)
    assert {row.layer for row in rows(found)} == {0, 2}


def test_heads_are_chosen_by_layer_and_number():
    every = [0, 1, 2, 3]
    assert choose_heads(None, 2, 4) == {0: every, 1: every}
    assert choose_heads(None, 3, 4, [0, 2]) == {0: every, 2: every}
    assert choose_heads("1", 2, 4) == {1: every}
    assert choose_heads("1.3, 1.0,0.2", 2, 4) == {0: [2], 1: [0, 3]}
    assert choose_heads("0-1", 2, 4) == {0: every, 1: every}


@pytest.mark.parametrize(
    ("only", "message"),
    [
        ("2", "expected a layer from 0 to 1, got 2"),
        ("1.4", "expected a head of layer 1 from 0 to 3, got 4"),
        ("a", "expected layers and heads as 3,5.2,7-9, got 'a'"),
        ("", "got ''"),
        ("1-0", "from the lower to the higher, got '1-0'"),
    ],
)
def test_heads_that_do_not_exist_are_refused(only: str, message: str):
    with pytest.raises(WhatwhereError, match=message):
        choose_heads(only, 2, 4)


def test_shown_attention_is_the_models_own(text: str, word_tokenizer: Any):
    model = tiny_model(FAMILIES["Llama"])
    found = heads(RotaryModel(model, "tiny", word_tokenizer), text=(text,), window=20)
    theirs = own_attention(model, windows_of(text, 20, 2))
    looks = found.rows("attention", Look)
    assert {look.input for look in looks} == {0, 1} and max(look.query for look in looks) == 19
    shown = {(look.layer, look.input, look.head, look.query, look.key): look.share for look in looks}
    for layer, attention in enumerate(theirs):
        for at in (attention[:, :, sorted({look.query for look in looks})] >= LEAST_SHARE + 1e-3).nonzero().tolist():
            query = sorted({look.query for look in looks})[at[2]]
            share = float(attention[at[0], at[1], query, at[3]])
            assert shown[layer, at[0], at[1], query, at[3]] == pytest.approx(share, abs=6e-4)
    tokens = [token.text.strip() for token in found.rows("tokens", Token) if token.input == 0]
    assert tokens == Path(text).read_text().split()[:20]


@pytest.mark.parametrize("kind", ["language model", "own model"])
def test_induction_is_the_attention_to_what_followed(kind: str, tiny: RotaryModel, own: GPTJ):
    half = torch.randint(50, (2, 5), generator=torch.Generator().manual_seed(1))
    twice = torch.cat([half, half], 1)
    model: Any = tiny if kind == "language model" else own
    found = induction(traceable(model), 50, length=5, inputs=2, seed=1)
    every = own_attention(tiny.model, twice) if model is tiny else ww.trace(own, twice, queries=range(10)).attention()
    for layer, theirs in enumerate(every):
        mass = torch.stack([theirs[:, :, 5 + i, i + 1] for i in range(5)]).mean((0, 1))
        torch.testing.assert_close(found[layer].float(), mass, rtol=0, atol=1e-5)


def test_interrupted_work_is_done_again(tiny: RotaryModel, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    settings: dict[str, Any] = {"text": (text,), "window": 14, "out": tmp_path}
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(f"{HERE}.measure.shown_attention", stop)
        heads(tiny, **settings)
    found = heads(tiny, **settings)
    assert found.has("attention") and len(rows(found)) == 8
    again = Results.open(HEADS, tmp_path / "heads")
    assert again.settings.text[0].startswith("sha256:")
    assert again.summary.splitlines()[1:] == found.summary.splitlines()[1:]


def test_another_content_of_the_same_file_is_another_input(tiny: RotaryModel, text: str, tmp_path: Path):
    heads(tiny, text=(text,), window=14, out=tmp_path / "out")
    moved = Path(text).rename(tmp_path / "moved.txt")
    heads(tiny, text=(str(moved),), window=14, out=tmp_path / "out")  # the same content
    moved.write_text("w9 " * 50)
    with pytest.raises(WhatwhereError, match="holds other results: expected text"):
        heads(tiny, text=(str(moved),), window=14, out=tmp_path / "out")


def test_what_a_model_cannot_be_scored_on_is_refused(own: GPTJ, tiny: RotaryModel, text: str):
    for model, settings, message in (
        (own, {"text": (text,)}, "expected no text for a model of whatwhere"),
        (own, {"template": True}, "expected no template for a model of whatwhere"),
        (tiny, {}, "expected a text for the language model tiny, got none; name one with --text FILE"),
        (tiny, {"text": (text,), "task": "number"}, "expected task for a model of whatwhere only, got it for tiny"),
        (tiny, {"text": (text,), "level": "tokens"}, "expected level tokens for a model of whatwhere only"),
        (
            tiny.model,
            {"text": (text,)},
            "expected a language model with its tokenizer, got LlamaForCausalLM without one",
        ),
    ):
        with pytest.raises(WhatwhereError, match=message):
            heads(model, **settings)


def test_a_model_that_does_not_say_its_task_needs_one():
    model = GPTJ(ModelConfig(vocab_size=136, layers=1, d_model=16, d_mlp=16))
    with pytest.raises(WhatwhereError, match="name the task with --task number"):
        heads(model)
    assert len(rows(heads(model, task="number", inputs=4))) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"inputs": 0}, "expected inputs of 1 or more, got 0"),
        ({"window": 2}, "expected windows of at least 3 tokens .*, got 2"),
        ({"queries": "many"}, "expected queries as last, all or a number above 0, got 'many'"),
        ({"queries": "0"}, "got '0'"),
        ({"tau": 0.0}, "expected a tau above 0, got 0.0"),
        ({"gamma": 0.7}, "expected a gamma between 0 and 0.5, got 0.7"),
        ({"level": "words"}, "expected a level of keys, tokens, got 'words'"),
        ({"level": "tokens", "queries": "all"}, "expected queries last for level tokens, got 'all'"),
        ({"text": ("-", "-")}, r"expected - \(standard input\) once, got it 2 times"),
        ({"text": ("missing.txt",)}, "expected a text file at missing.txt"),
    ],
)
def test_a_mistake_in_a_setting_shows_before_a_model_is_loaded(settings: dict[str, Any], message: str):
    with pytest.raises(WhatwhereError, match=message):
        HeadsSettings(**settings)
    with pytest.raises(WhatwhereError, match=message):
        heads("no/model", **settings)


def test_exact_scores_are_those_of_versions_without_samples_and_no_samples_are_refused():
    assert "samples" not in HeadsSettings().decisive()
    assert HeadsSettings(samples=10).decisive()["samples"] == 10
    with pytest.raises(WhatwhereError, match="expected 1 or more samples, got 0; leave samples out"):
        HeadsSettings(samples=0)
