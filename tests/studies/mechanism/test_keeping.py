from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
import torch

from whatwhere.model.gptj import GPTJ
from whatwhere.studies.mechanism.ablation import MeanAblation
from whatwhere.studies.mechanism.keeping import keeping, sources_of
from whatwhere.studies.mechanism.observation import observe
from whatwhere.studies.mechanism.path_tables import Keeping
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.task import Task


def task_of(model: GPTJ) -> Task:
    assert model.task is not None
    return model.task


def rows_of(model: GPTJ, batch: Batch) -> dict[int | None, Keeping]:
    rows = keeping(observe(model, batch.tokens), batch, MeanAblation(model, batch.tokens), task_of(model).answer_ids)
    return {row.layer: row for row in rows}


def test_a_built_index_model_keeps_the_answer_in_the_stream_and_copies_it_again(index_machine: GPTJ) -> None:
    rows = rows_of(index_machine, task_of(index_machine).sample(90, seed=1))
    assert [rows[layer].there.value for layer in range(4)] == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert np.isnan(rows[0].kept.value)
    assert (rows[None].kept.value, rows[None].kept.n) == (1, 30 + 60 + 90)
    assert rows[None].residual.value == rows[3].residual.value == 1  # without any later head
    for layer in (None, 1, 2, 3):  # it looks at the place that its number points at, which holds the answer
        assert rows[layer].equal.value == pytest.approx(1, abs=1e-3)
        assert rows[layer].itself.value == pytest.approx(0, abs=1e-3)
        assert rows[layer].equal_logit.value > 10
        assert abs(rows[layer].elsewhere_logit.value) < 0.1


def test_without_attention_the_stream_alone_keeps_what_the_token_says(index_machine: GPTJ) -> None:
    silent = deepcopy(index_machine)
    with torch.no_grad():
        for block in silent.layers():
            block.w_out.zero_()
    batch = task_of(silent).sample(30, hops=1, seed=0)
    tokens = batch.tokens.copy()
    tokens[:, -1] = batch.answers  # the last token is the answer
    rows = rows_of(silent, Batch(tokens, batch.answers, batch.hops, batch.paths))
    for row in rows.values():
        assert (row.there.value, row.residual.value, row.kept.value) == (1, 1, 1)
        assert row.itself.value > 0.5  # a letter asks for itself
        assert row.itself_logit.value == row.equal_logit.value == row.elsewhere_logit.value == 0


def test_a_layer_that_wipes_the_answer_out_does_not_keep_it(index_machine: GPTJ) -> None:
    batch = task_of(index_machine).sample(30, hops=1, seed=0)
    seen = observe(index_machine, batch.tokens)
    seen.readable[2, :10, -1] = -1
    rows = keeping(seen, batch, MeanAblation(index_machine, batch.tokens), task_of(index_machine).answer_ids)
    of = {row.layer: row for row in rows}
    assert of[1].kept.value == pytest.approx(2 / 3)
    assert of[2].there.value == pytest.approx(2 / 3)
    assert (of[None].kept.value, of[None].kept.n) == (pytest.approx(70 / 80), 80)
    low, high = of[None].kept.interval
    assert high - low > 0.1  # by input: thirty, not eighty


def test_sources_are_the_attention_and_the_writing_of_every_key(guesser: GPTJ) -> None:
    task = task_of(guesser)
    batch = task.sample(12, seed=5)
    seen = observe(guesser, batch.tokens)
    found = sources_of(guesser, batch, seen.readable[:-1], task.answer_ids)
    assert found.shape == (12, 2, 6)
    np.testing.assert_allclose(found[:, :, :3].sum(-1), 1, atol=1e-5)
    with torch.no_grad():  # what the last layer's heads write is a part of the stream that is read
        states = list(guesser.residuals(guesser.check_tokens(batch.tokens)))
        block = list(guesser.layers())[-1]
        block.w_out[:, :16] *= 2
        doubled = list(guesser.residuals(guesser.check_tokens(batch.tokens)))[-1][:, -1]
        block.w_out[:, :16] /= 2
        end, size = states[-1][:, -1], states[-1][:, -1].var(-1, correction=0, keepdim=True).add(1e-5).sqrt()
        part = (doubled - end) - (doubled - end).mean(-1, keepdim=True)
        logits = (part / size * guesser.norm.weight @ guesser.head.weight.T).numpy()
    for row, answer in enumerate(batch.answers):
        others = [token for token in task.answer_ids if token != answer]
        assert found[row, -1, 3:].sum() == pytest.approx(logits[row, answer] - logits[row, others].mean(), abs=1e-4)
