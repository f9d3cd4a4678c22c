"""Runs from a changed position on, against whole runs."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.mechanism.observation import LaterPositions, record, run_from

SEQ = 9


@pytest.fixture(scope="module")
def model() -> GPTJ:
    return GPTJ(ModelConfig(vocab_size=12, layers=3, heads=2, d_model=32, d_mlp=48, init_std=0.3), seed=2)


@pytest.mark.parametrize("first", [0, 4, SEQ - 1])
@pytest.mark.parametrize("start", range(4))
def test_a_change_at_late_positions_gives_the_logits_of_a_whole_run(model: GPTJ, first: int, start: int) -> None:
    tokens = np.random.default_rng(0).integers(12, size=(5, SEQ))
    _, written = record(model, tokens)
    change = torch.randn(5, SEQ - first, 32, generator=torch.Generator().manual_seed(start))
    for edits in ({}, {1: written[1][:1], 2: lambda values: 2 * values}):
        states, _ = record(model, tokens, edits)
        state = states[start].clone()
        state[:, first:] += change
        found = LaterPositions(model, states).logits(state[:, first:], start, edits)
        torch.testing.assert_close(found, run_from(model, state, start, edits))


def test_heads_write_what_they_write_in_a_whole_run(model: GPTJ) -> None:
    states, written = record(model, np.random.default_rng(1).integers(12, size=(4, SEQ)))
    found = LaterPositions(model, states).attend(2, states[2][:, 3:], asked=2)
    torch.testing.assert_close(found, written[2][:, -2:])
