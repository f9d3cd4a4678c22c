from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.mechanism.observation import record
from whatwhere.studies.mechanism.patching import answers_from, count_flips, patch
from whatwhere.studies.mechanism.paths import change_one_hop
from whatwhere.tasks import NumberTask
from whatwhere.tasks.batch import Batch

TASK = NumberTask()


@pytest.fixture(scope="module")
def model() -> GPTJ:
    return GPTJ(ModelConfig(vocab_size=136, layers=2, d_model=32, d_mlp=32, init_std=0.5), seed=1)


@pytest.fixture(scope="module")
def pairs(model: GPTJ) -> tuple[Batch, Batch]:
    """Pairs that differ in the last pointer, with what the model answers as the answers."""
    plain, changed = change_one_hop(TASK, TASK.sample(300, hops=2, seed=0), hop=2)
    answered = model.predict(plain.tokens), model.predict(changed.tokens)
    differ = answered[0] != answered[1]
    assert differ.sum() > 10
    plain, changed = (
        replace(batch, answers=answers.astype(np.int32))
        for batch, answers in zip((plain, changed), answered, strict=True)
    )
    return plain[differ], changed[differ]


def test_the_last_state_carries_everything_and_the_last_layer_nothing_elsewhere(
    model: GPTJ, pairs: tuple[Batch, Batch]
) -> None:
    state, heads = count_flips(model, *pairs, positions=2)  # [layer, position]
    everyone = len(pairs[0])
    assert state[1].tolist() == [everyone, 0]
    assert heads[1, 1] == 0


def test_patched_heads_are_an_edit_of_the_forward_pass(model: GPTJ, pairs: tuple[Batch, Batch]) -> None:
    plain, changed = pairs
    at = torch.as_tensor(plain.paths[:, 1]).long()
    rows = torch.arange(len(at))
    kept: list[torch.Tensor] = []

    def keep(attended: torch.Tensor) -> torch.Tensor:
        kept.append(attended)
        return attended

    def put(attended: torch.Tensor) -> torch.Tensor:
        attended = attended.clone()
        attended[rows, at] = kept[0][rows, at]
        return attended

    with torch.no_grad():
        list(model.residuals(torch.as_tensor(changed.tokens).long(), edits={0: keep}))
        *_, end = model.residuals(torch.as_tensor(plain.tokens).long(), edits={0: put})
        flips = (model.head(model.norm(end[:, -1])).argmax(-1).numpy() == changed.answers).sum()
    assert count_flips(model, plain, changed, positions=2)[1, 0, 1] == flips


def test_pairs_that_the_model_does_not_solve_are_left_out_and_nothing_left_is_undefined(model: GPTJ) -> None:
    rows = patch(model, TASK, pairs=5)
    assert {(row.what, row.layer) for row in rows} == {(kind, layer) for kind in ("state", "heads") for layer in (0, 1)}
    assert [row.changed_hop for row in rows].count(4) == 2 * 2 * 4
    assert all(row.share.n == 0 and np.isnan(row.share.value) and row.same_hops == 0 for row in rows)


def test_going_on_from_any_layer_gives_the_models_own_answers(model: GPTJ) -> None:
    tokens = TASK.sample(30, seed=0).tokens
    states, written = record(model, tokens)
    assert written.shape == (2, 30, 17, 1, 32)
    for layer in range(3):
        assert (answers_from(model, states[layer], layer) == model.predict(tokens)).all()


def test_going_on_with_an_edit_is_running_all_of_it_with_the_edit(model: GPTJ) -> None:
    tokens = TASK.sample(30, seed=0).tokens
    states, _ = record(model, tokens)

    def edit(written: torch.Tensor) -> torch.Tensor:
        return -3 * written

    changed = 0
    for layer in range(2):
        with torch.no_grad():
            *_, end = model.residuals(torch.as_tensor(tokens).long(), edits={layer: edit})
            wanted = model.head(model.norm(end[:, -1])).argmax(-1).numpy()
        got = answers_from(model, states[layer], layer, edit)
        assert (got == wanted).all()
        changed += int((got != model.predict(tokens)).sum())
    assert changed > 0
