from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.mechanism.interventions import answers_from, chunks, record
from whatwhere.tasks import NumberTask


@pytest.fixture(scope="module")
def model() -> GPTJ:
    config = ModelConfig(vocab_size=136, layers=3, heads=2, d_model=32, d_mlp=32, init_std=0.3)
    return GPTJ(config, seed=1)


TOKENS = NumberTask().sample(30, seed=0).tokens


def test_going_on_from_any_layer_gives_the_models_own_answers(model: GPTJ) -> None:
    states, attended = record(model, TOKENS)
    assert attended.shape == (3, 30, 17, 2, 16)
    for layer in range(4):
        assert (answers_from(model, states[layer], layer) == model.predict(TOKENS)).all()


def test_going_on_with_an_edit_is_running_all_of_it_with_the_edit(model: GPTJ) -> None:
    states, _ = record(model, TOKENS)

    def edit(attended: Tensor) -> Tensor:
        return -3 * attended

    changed = 0
    for layer in range(3):
        with torch.no_grad():
            *_, end = model.residuals(torch.as_tensor(TOKENS).long(), edits={layer: edit})
            wanted = model.head(model.norm(end[:, -1])).argmax(-1).numpy()
        got = answers_from(model, states[layer], layer, edit)
        assert (got == wanted).all()
        changed += int((got != model.predict(TOKENS)).sum())
    assert changed > 0


def test_chunks_cover_every_input_once() -> None:
    covered = np.concatenate([np.arange(10)[part] for part in chunks(10, 4)])
    assert covered.tolist() == list(range(10))
    assert list(chunks(0, 4)) == []
