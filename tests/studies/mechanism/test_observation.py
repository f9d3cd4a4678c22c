from __future__ import annotations

import pytest
import torch

from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.mechanism.observation import AT_ONCE, observe
from whatwhere.tasks import NumberTask


def test_observation_in_parts_is_the_trace_of_all_inputs() -> None:
    model = GPTJ(ModelConfig(vocab_size=136, layers=2, heads=2, d_model=16, d_mlp=16, init_std=0.5), seed=0)
    tokens = NumberTask().sample(AT_ONCE + 5, seed=0).tokens
    told: list[int] = []
    seen = observe(model, tokens, lambda _, done, total: told.append(done * 1000 + total))
    with torch.no_grad():
        trace = model.trace(tokens, queries=range(17), residuals=True)
        assert trace.residuals is not None
        chance = model.head(model.norm(trace.residuals)).softmax(-1)
    assert seen.layers == 2
    assert (seen.strongest == trace.attention().argmax(-1).numpy()).all()
    assert seen.weight == pytest.approx(trace.attention().amax(-1).numpy(), abs=1e-6)
    assert (seen.readable == chance.argmax(-1).numpy()).mean() > 0.999
    assert seen.at_query == pytest.approx(trace.residuals[:, :, -1].numpy(), abs=1e-4)
    total = AT_ONCE + 5
    assert told == [AT_ONCE * 1000 + total, total * 1000 + total]
    assert (seen.readable[-1, :, -1] == model.predict(tokens)).mean() > 0.999
