"""The scores of heads against a plain trace, and the order that follows from them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from families import FAMILIES, tiny_model

import whatwhere as ww
from whatwhere.studies.cache.cache_needs import far_mass, kv_heads, need_rows, score_heads
from whatwhere.studies.cache.measure import texts_of
from whatwhere.studies.cache.tables import CacheSettings, HeadScore
from whatwhere.studies.language_models.induction import induction
from whatwhere.studies.language_models.token_windows import query_positions
from whatwhere.studies.study import no_progress
from whatwhere.trace.rotary import RotaryModel


def test_heads_have_the_scores_of_a_plain_trace(tiny: RotaryModel, small: CacheSettings):
    ids = texts_of(tiny, small).scored
    rows = score_heads(tiny, ids, small, no_progress)
    queries = query_positions("8", 30)
    found = ww.trace(tiny.model, ids, queries=queries)
    paper, rest = ww.score(found), ww.score(found, renormalised=True, among=range(1, 30))
    attention = found.attention()  # [layer, batch, head, query, key]
    repeats = induction(tiny, 50, seed=0)
    assert [(row.layer, row.head, row.kv_head) for row in rows] == [(la, h, h // 2) for la in (0, 1) for h in range(4)]
    for row in rows:
        at = row.layer, row.head
        far = [attention[row.layer, 0, row.head, i, 1 : q - 3].sum() for i, q in enumerate(queries)]
        assert row.positional == pytest.approx(float(paper.positional[at]))
        assert row.symbolic == pytest.approx(float(paper.symbolic[at]))
        assert row.rest_positional == pytest.approx(float(rest.positional[at]))
        assert row.rest_symbolic == pytest.approx(float(rest.symbolic[at]))
        assert row.far == pytest.approx(float(torch.stack(far).mean()), abs=1e-6)
        assert row.induction == pytest.approx(float(repeats[at]))
        assert row.keys == 30


def test_a_layer_with_a_window_of_its_own_holds_fewer_keys(word_tokenizer, small: CacheSettings):
    model = RotaryModel(tiny_model(FAMILIES["Gemma 3"]), "models/gemma", word_tokenizer)  # layer 0 sees 5 keys
    rows = score_heads(model, texts_of(model, small).scored, small, no_progress)
    assert {(row.layer, row.keys) for row in rows} == {(0, 5), (1, 30)}
    assert all(row.far < 1 / 2 for row in rows if row.layer == 0)


def test_what_nobody_forgets_is_not_far(tiny: RotaryModel):
    (layer,) = ww.trace(tiny.model, torch.arange(12)[None], layers=[1], queries=[5, 11]).layers
    assert far_mass(layer, 0, 12).tolist() == [0] * 4
    assert far_mass(layer, 0, 1).sum() > far_mass(layer, 2, 1).sum() > far_mass(layer, 2, 4).sum() > 0


def test_a_configuration_that_names_no_kv_heads_has_one_for_each_head():
    assert kv_heads(RotaryModel(tiny_model(FAMILIES["GPT-NeoX, Pythia"]))) == 4
    assert kv_heads(RotaryModel(tiny_model(FAMILIES["Llama"]))) == 2


def heads(**columns: list[float]) -> list[HeadScore]:
    """Two layers with two KV heads of two query heads each."""
    blank = HeadScore(0, 0, 0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 30)
    return [
        replace(blank, layer=at // 4, head=at % 4, kv_head=at % 4 // 2, **{k: v[at] for k, v in columns.items()})
        for at in range(8)
    ]


def order(rows: list[HeadScore], settings: CacheSettings, ranking: str, draw: int = 0) -> list[tuple[int, int]]:
    needs = [row for row in need_rows(rows, settings) if (row.ranking, row.draw) == (ranking, draw)]
    return [(row.layer, row.kv_head) for row in sorted(needs, key=lambda row: row.place)]


def test_the_most_positional_and_the_least_far_looking_groups_come_first(small: CacheSettings):
    rows = heads(
        rest_positional=[0.9, 0.1, 0.6, 0.6, 1, 1, 0, 0], far=[0, 0, 0.9, 0.9, 0.2, 0.2, 0.1, 0.3],
        induction=[0, 1, 0, 0, 0.1, 0.1, 0.4, 0.2], positional=[0, 0, 0.2, 0.2, 0.4, 0.4, 0.6, 0.6],
    )  # fmt: skip
    assert order(rows, small, "positional") == [(1, 0), (0, 1), (0, 0), (1, 1)]
    assert order(rows, small, "far") == [(0, 0), (1, 0), (1, 1), (0, 1)]
    assert order(rows, small, "both") == [(0, 0), (1, 0), (1, 1), (0, 1)]
    assert order(rows, small, "induction") == [(0, 1), (1, 0), (1, 1), (0, 0)]
    assert order(rows, small, "paper") == [(1, 1), (1, 0), (0, 1), (0, 0)]
    needs = {(r.layer, r.kv_head): r.need for r in need_rows(rows, small) if r.ranking == "both"}
    assert needs[1, 1] == pytest.approx(0.2) and needs[0, 1] == pytest.approx(0.36)


def test_a_head_without_a_score_keeps_its_cache(small: CacheSettings):
    rows = heads(rest_positional=[math.nan, 1, 0, 0, 0, 0, 0, 0])
    assert order(rows, small, "positional")[-1] == (0, 0)


def test_random_orders_differ_and_come_back_with_their_seed(small: CacheSettings):
    rows = [replace(row, layer=layer) for layer in range(10) for row in heads()[:4]]
    first, second = order(rows, small, "random"), order(rows, small, "random", 1)
    assert sorted(first) == sorted(second) and first != second
    assert order(rows, small, "random") == first != order(rows, replace(small, seed=1), "random")
    assert len([row for row in need_rows(rows, small) if row.ranking == "random"]) == 2 * 20
    places = [row.place for row in need_rows(rows, small) if row.ranking == "random" and row.draw == 1]
    assert np.array_equal(np.sort(places), np.arange(20))
