from __future__ import annotations

import numpy as np
import torch

from whatwhere.model.gptj import GPTJ
from whatwhere.studies.mechanism.attribution import answer_direction, logits_of_values, values_of
from whatwhere.studies.mechanism.observation import record
from whatwhere.trace.traceable import trace


def test_the_direct_parts_of_the_stream_add_up_to_the_answers_logit(guesser: GPTJ) -> None:
    task = guesser.task
    assert task is not None
    batch = task.sample(10, seed=3)
    states, _ = record(guesser, batch.tokens)
    end = states[-1, :, -1]
    with torch.no_grad():
        guesser.norm.bias.fill_(0.3)
        direction = answer_direction(guesser, end, batch.answers, task.answer_ids)
        ahead = (guesser.head(guesser.norm(end)) - guesser.head(guesser.norm.bias)).numpy()
        guesser.norm.bias.zero_()
    for row, answer in enumerate(batch.answers):
        others = [token for token in task.answer_ids if token != answer]
        wanted = ahead[row, answer] - ahead[row, others].mean()
        np.testing.assert_allclose(float(direction[row] @ end[row]), wanted, atol=1e-4)


def test_the_parts_of_all_keys_are_what_the_heads_write(guesser: GPTJ) -> None:
    task = guesser.task
    assert task is not None
    batch = task.sample(10, seed=3)
    states, written = record(guesser, batch.tokens)
    direction = answer_direction(guesser, states[-1, :, -1], batch.answers, task.answer_ids)
    attention = trace(guesser, batch.tokens).attention()[..., 0, :]  # [layer, n, head, key]
    with torch.no_grad():
        for layer, block in enumerate(guesser.layers()):
            found = logits_of_values(guesser, layer, values_of(guesser, layer, states[layer]), direction)
            wrote = written[layer, :, -1].flatten(1) @ block.w_out[:, :16].T  # [n, d_model]
            torch.testing.assert_close((attention[layer] * found).sum((1, 2)), (direction * wrote).sum(1))
