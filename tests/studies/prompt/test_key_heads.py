"""Which heads look at the key: against the model's own attention."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from families import own_attention

from whatwhere.studies.cache.passkey import PasskeyPrompt
from whatwhere.studies.prompt.measure import attention_to_keys, filler_of, find_key_heads, key_places, prompts_of
from whatwhere.studies.prompt.tables import PromptSettings
from whatwhere.trace.rotary import RotaryModel


@pytest.fixture
def prompts(tiny: RotaryModel, small: PromptSettings) -> list[PasskeyPrompt]:
    return list(prompts_of(tiny, filler_of(tiny, small), 120, 3, small).values())


def test_each_token_of_the_key_is_found_in_both_places(prompts: list[PasskeyPrompt]):
    for prompt in prompts:
        text = "".join(map(chr, prompt.ids[0].tolist()))
        key = text[-prompt.answer :]  # with its space
        first = text.index(key)
        second = text.index(key, first + 1)
        assert second < len(text) - prompt.answer
        for at, row in enumerate(key_places(prompt)):
            assert row.nonzero().flatten().tolist() == [first + at, second + at]
        assert list(prompt.answering) == list(range(len(text) - 7, len(text) - 1))


def test_a_key_that_is_tokenised_otherwise_counts_as_its_sentence():
    prompt = PasskeyPrompt(torch.tensor([[1, 2, 3, 4, 9, 9, 7, 8]]), answer=2, place=1, sentence=3)
    assert key_places(prompt).sum(1).tolist() == [3, 3] and key_places(prompt)[0, 1:4].all()


def test_attention_to_the_key_is_the_models_own(tiny: RotaryModel, prompts: list[PasskeyPrompt]):
    tiny.model.set_attn_implementation("eager")
    by_hand = np.zeros((len(prompts), 2, 4))
    for number, prompt in enumerate(prompts):
        for layer, attention in enumerate(own_attention(tiny.model, prompt.ids)):
            for query, row in zip(prompt.answering, key_places(prompt), strict=True):
                by_hand[number, layer] += attention[0, :, query, row].sum(-1).numpy() / prompt.answer
    tiny.model.set_attn_implementation("sdpa")
    found = attention_to_keys(tiny, prompts, [(0, 1), (1, 3)])
    assert found == pytest.approx((by_hand[:, 0, 1] + by_hand[:, 1, 3]) / 2, rel=1e-4)
    rows = find_key_heads(tiny, prompts, 3)
    order = by_hand.mean(0).flatten().argsort()[::-1][:3]
    assert [4 * row.layer + row.head for row in rows] == order.tolist()
    assert [row.attention for row in rows] == pytest.approx(by_hand.mean(0).flatten()[order], rel=1e-4)
    assert all(row.positional + row.symbolic >= 1 - 1e-9 for row in rows)
