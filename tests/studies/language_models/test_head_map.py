"""The rows of a head map: against scores of a plain trace, and the selection of heads."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from families import FAMILIES, own_attention, tiny_model

import whatwhere as ww
from whatwhere.errors import WhatwhereError
from whatwhere.heads.frequency import frequency_use
from whatwhere.studies.language_models.head_map import choose_heads, map_text
from whatwhere.studies.language_models.induction import induction
from whatwhere.studies.language_models.text_heads import COLUMNS, batches, map_heads
from whatwhere.trace.open import load_rotary
from whatwhere.trace.rotary import RotaryModel

TOKENS = torch.randint(3, 50, (3, 14), generator=torch.Generator().manual_seed(3))
QUERIES = [9, 13]


@pytest.fixture(scope="module")
def model() -> RotaryModel:
    return RotaryModel(tiny_model(FAMILIES["Llama"]))


@pytest.fixture
def loaded(tmp_path: Path, save_tokenizer: Callable[[Path], None]) -> RotaryModel:
    tiny_model(FAMILIES["Llama"]).save_pretrained(tmp_path / "tiny")
    save_tokenizer(tmp_path / "tiny")
    return load_rotary(str(tmp_path / "tiny"))


def write(path: Path, words: int = 60) -> Path:
    path.write_text(" ".join(f"w{3 + (i * i) % 40}" for i in range(words)))
    return path


def test_rows_are_the_scores_of_a_plain_trace(model: RotaryModel):
    rows, error = map_heads(model, TOKENS, queries=QUERIES, tau=0.02)
    found = ww.trace(model.model, TOKENS, queries=QUERIES)
    scores = ww.score(found, 0.02)
    beyond = ww.score(found, 0.02, renormalised=True, among=range(1, 14))
    again = ww.score(found, 0.02, renormalised=True)
    use = frequency_use(found)
    attention = found.attention()  # [layer, batch, head, query, key]
    assert [(row.layer, row.head) for row in rows] == [(layer, head) for layer in (0, 1) for head in range(4)]
    assert error < 1e-5
    for row in rows:
        at = row.layer, row.head
        assert row.positional == pytest.approx(float(scores.positional[at]))
        assert row.symbolic == pytest.approx(float(scores.symbolic[at]))
        assert row.entropy_share == pytest.approx(float(scores.entropy_share[at]))
        assert row.rest_positional == pytest.approx(float(beyond.positional[at]))
        assert row.rest_symbolic == pytest.approx(float(beyond.symbolic[at]))
        assert row.renormalised_symbolic == pytest.approx(float(again.symbolic[at]))
        assert row.positional_low <= row.positional <= row.positional_high
        assert row.weighted_id == pytest.approx(float(use.weighted_id[at]))
        assert row.dominant_id == int(use.dominant[at])
        assert row.dominant_frequency == pytest.approx(float(use.frequencies[row.dominant_id - 1]))
        here = attention[row.layer, :, row.head]
        assert row.first == pytest.approx(float(here[..., 0].mean()))
        assert row.previous == pytest.approx(float((here[:, 0, 8] + here[:, 1, 12]).mean() / 2))


def test_batches_of_windows_change_nothing(model: RotaryModel, monkeypatch: pytest.MonkeyPatch):
    together, _ = map_heads(model, TOKENS, queries=QUERIES)
    monkeypatch.setattr("whatwhere.studies.language_models.text_heads.TOKENS_AT_ONCE", 1)
    monkeypatch.setattr("whatwhere.studies.language_models.text_heads.CELLS_AT_ONCE", 1)
    steps: list[int] = []
    alone, _ = map_heads(model, TOKENS, queries=QUERIES, progress=lambda: steps.append(1))
    assert len(batches(TOKENS)) == 3 and len(steps) == 3 * 2
    for one, other in zip(together, alone, strict=True):
        assert one.positional == pytest.approx(other.positional, abs=1e-4)
        assert one.previous == pytest.approx(other.previous, abs=1e-5)


def test_one_window_has_intervals_over_its_queries(model: RotaryModel):
    rows, _ = map_heads(model, TOKENS[:1], queries=range(6, 14))
    assert any(row.positional_high - row.positional_low > 0.01 for row in rows)
    rows, _ = map_heads(model, TOKENS[:1])
    assert all(row.positional_high == row.positional_low for row in rows)


def test_layers_without_rotation_have_no_frequency_and_are_symbolic():
    rows, _ = map_heads(RotaryModel(tiny_model(FAMILIES["SmolLM3"])), TOKENS)
    still = [row for row in rows if row.layer == 1]
    assert all(row.planes == 0 and row.dominant_id == 0 and math.isnan(row.weighted_id) for row in still)
    assert all(row.symbolic == pytest.approx(1) for row in still)
    assert all(row.planes == 4 for row in rows if row.layer == 0)


def test_induction_is_the_attention_to_what_followed(model: RotaryModel):
    found = induction(model, length=5, inputs=2, seed=1)
    half = torch.randint(50, (2, 5), generator=torch.Generator().manual_seed(1))
    own = own_attention(model.model, torch.cat([half, half], 1))
    for layer, theirs in enumerate(own):
        mass = torch.stack([theirs[:, :, 5 + i, i + 1] for i in range(5)]).mean((0, 1))
        torch.testing.assert_close(found[layer].float(), mass, rtol=0, atol=1e-5)


def test_windows_shorter_than_three_tokens_are_refused(model: RotaryModel):
    with pytest.raises(WhatwhereError, match=r"at least three tokens .* not of 2"):
        map_heads(model, TOKENS[:, :2])


def test_a_map_of_a_text_carries_its_settings_and_writes_a_tidy_table(loaded: RotaryModel, tmp_path: Path):
    found = map_text(loaded, write(tmp_path / "text.txt"), tokens=12, windows=3, queries="2", only="1", tau=0.05)
    assert (found.windows, found.tokens, found.queries, found.interval) == (3, 12, 2, "windows")
    assert [row.layer for row in found.heads] == [1] * 4
    found.write(tmp_path / "heads.csv")
    rows = list(csv.DictReader((tmp_path / "heads.csv").read_text().splitlines()))
    assert list(rows[0])[: len(COLUMNS)] == list(COLUMNS)
    assert {row["tau"] for row in rows} == {"0.05"}
    assert float(rows[2]["positional"]) == pytest.approx(found.heads[2].positional)
    best = found.most("positional", 2)
    assert best[0].positional >= best[1].positional >= min(row.positional for row in found.heads)
    (profile,) = found.profile()
    assert profile.positional == pytest.approx(sum(row.positional for row in found.heads) / 4)
    assert profile.labels.total() == 4


@pytest.mark.parametrize(("queries", "interval"), [("3", "queries"), ("last", "none")])
def test_the_map_says_what_its_intervals_are_over(loaded: RotaryModel, tmp_path: Path, queries: str, interval: str):
    text = write(tmp_path / "text.txt", 20)
    assert map_text(loaded, text, windows=1, queries=queries, only="0.1").interval == interval


def test_heads_are_chosen_by_layer_and_number(model: RotaryModel):
    every = [0, 1, 2, 3]
    assert choose_heads(None, model) == {0: every, 1: every}
    assert choose_heads("1", model) == {1: every}
    assert choose_heads("1.3, 1.0,0.2", model) == {0: [2], 1: [0, 3]}
    assert choose_heads("0-1", model) == {0: every, 1: every}


@pytest.mark.parametrize(
    ("only", "message"),
    [
        ("2", "there is no layer 2: they run from 0 to 1"),
        ("1.4", r"there is no head 1\.4: the heads of layer 1 run from 0 to 3"),
        ("a", "layers and heads as 3,5.2,7-9 were expected, and 'a' arrived"),
        ("", "were expected, and '' arrived"),
        ("1-0", "'1-0' names none"),
    ],
)
def test_heads_that_do_not_exist_are_refused(model: RotaryModel, only: str, message: str):
    with pytest.raises(WhatwhereError, match=message):
        choose_heads(only, model)


def test_undefined_scores_are_left_out_of_the_lists(loaded: RotaryModel, tmp_path: Path):
    found: Any = map_text(loaded, write(tmp_path / "text.txt"), tokens=3, windows=2, queries="last")
    assert len(found.most("positional", 99)) == 8
    assert all(math.isnan(row.rest_positional) for row in found.heads)  # one key after the first cannot be swapped
    assert {row.rest_label for row in found.heads} == {"undefined"}
