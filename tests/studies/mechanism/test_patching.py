from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.mechanism.patching import count_flips, patch
from whatwhere.studies.mechanism.paths import change_one_hop
from whatwhere.tasks import NumberTask
from whatwhere.tasks.batch import Batch

TASK = NumberTask()


@pytest.fixture(scope="module")
def model() -> GPTJ:
    return GPTJ(ModelConfig(vocab_size=136, layers=2, d_model=32, d_mlp=32, init_std=0.5), seed=1)


@pytest.fixture(scope="module")
def pairs(model: GPTJ) -> tuple[Batch, Batch]:
    """Pairs that differ in the last pointer, with what the model says on them as the answers."""
    plain, changed = change_one_hop(TASK, TASK.sample(300, hops=2, seed=0), hop=2)
    said = model.predict(plain.tokens), model.predict(changed.tokens)
    differ = said[0] != said[1]
    assert differ.sum() > 10
    plain, changed = (
        replace(batch, answers=answers.astype(np.int32)) for batch, answers in zip((plain, changed), said, strict=True)
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
    assert {(row.kind, row.layer) for row in rows} == {(kind, layer) for kind in ("state", "heads") for layer in (0, 1)}
    assert [row.changed_hop for row in rows].count(4) == 2 * 2 * 4
    assert all(row.count == 0 and np.isnan(row.share) and row.same_hops == 0 for row in rows)
