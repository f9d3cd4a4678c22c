"""Streamed heads against a mask that the model itself applies, and which heads they are."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from whatwhere.studies.cache.streamed_runs import StreamedSet, streamed_sets, token_losses
from whatwhere.studies.cache.tables import CacheSettings, HeadScore, Need
from whatwhere.trace.rotary import RotaryModel

EVERY = frozenset((layer, own) for layer in (0, 1) for own in (0, 1))


def masked_losses(model: RotaryModel, ids: torch.Tensor, sink: int, recent: int) -> torch.Tensor:
    """By transformers: the same keys hidden from every head of every layer."""
    seq = ids.shape[1]
    query, key = torch.arange(seq)[:, None], torch.arange(seq)
    seen = (key <= query) & ((key < sink) | (key > query - recent))
    mask = torch.zeros(seq, seq).masked_fill(~seen, torch.finfo(torch.float32).min)[None, None]
    with torch.no_grad():
        logits = model.model(input_ids=ids, attention_mask=mask, use_cache=False).logits
    return -logits[0, :-1].log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0]


def test_losses_with_every_head_streamed_are_those_of_the_models_own_mask(tiny: RotaryModel, small: CacheSettings):
    ids = torch.randint(50, (1, 40), generator=torch.Generator().manual_seed(0))
    masks = StreamedSet("far", 0, 1.0, EVERY).masks(2, small)
    losses, likely = token_losses(tiny, ids, masks, 5)
    torch.testing.assert_close(losses, masked_losses(tiny, ids, 1, 4)[5:], rtol=0, atol=1e-5)
    full, _ = token_losses(tiny, ids, [], 5)
    torch.testing.assert_close(full, masked_losses(tiny, ids, 40, 40)[5:], rtol=0, atol=1e-5)
    assert float((full - losses).abs().max()) > 1e-3
    assert losses.shape == likely.shape == (34,)


def test_a_streamed_kv_head_masks_all_query_heads_of_its_group(small: CacheSettings):
    (mask,) = StreamedSet("far", 0, 0.5, frozenset({(1, 0), (0, 2)})).masks(3, small)
    assert mask.heads == ((0, 6), (0, 7), (0, 8), (1, 0), (1, 1), (1, 2))
    assert (mask.recent, mask.first) == (4, 1)
    assert StreamedSet("full", 0, 0.0, frozenset()).masks(3, small) == []


def test_a_larger_budget_streams_more_of_the_same_order(small: CacheSettings):
    needs = [Need(name, 0, at // 2, at % 2, 0.0, at) for name in ("far", "paper") for at in range(10)]
    sets = list(streamed_sets(needs, replace(small, budgets=(0.25, 0.5, 1.0))))
    assert [one.name for one in sets[:4]] == [("full", 0, 0), ("far", 0, 0.25), ("far", 0, 0.5), ("far", 0, 1)]
    assert [len(one.streamed) for one in sets] == [0, 2, 5, 10, 2, 5, 10]
    assert sets[1].streamed == {(0, 0), (0, 1)}
    assert sets[1].streamed < sets[2].streamed < sets[3].streamed


def test_the_cache_counts_keys_that_are_kept():
    rows = [HeadScore(0, head, head, 0, 0, 0, 0, 0, 0, keys) for head, keys in enumerate((100, 100, 20))]
    assert StreamedSet("far", 0, 0.3, frozenset({(0, 0)})).cache(rows, 10) == pytest.approx(130 / 220)
    assert StreamedSet("far", 0, 0.3, frozenset({(0, 2)})).cache(rows, 30) == 1  # its own window is shorter already
