from __future__ import annotations

import pytest
import torch

from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.mechanism.observation import AT_ONCE, observe
from whatwhere.tasks import NumberTask
from whatwhere.trace.traceable import trace


def test_observation_in_parts_is_the_trace_of_all_inputs() -> None:
    model = GPTJ(ModelConfig(vocab_size=136, layers=2, heads=2, d_model=16, d_mlp=16, init_std=0.5), seed=0)
    tokens = NumberTask().sample(AT_ONCE + 5, seed=0).tokens
    told: list[int] = []
    seen = observe(model, tokens, lambda _, done, total: told.append(done * 1000 + total))
    with torch.no_grad():
        found = trace(model, tokens, queries=range(17))
        residuals = torch.stack(list(model.residuals(model.check_tokens(tokens))))
        chance = model.head(model.norm(residuals)).softmax(-1)
    assert seen.layers == 2
    assert (seen.strongest == found.attention().argmax(-1).numpy()).all()
    assert seen.weight == pytest.approx(found.attention().amax(-1).numpy(), abs=1e-6)
    assert (seen.readable == chance.argmax(-1).numpy()).mean() > 0.999
    assert seen.at_query == pytest.approx(residuals[:, :, -1].numpy(), abs=1e-4)
    total = AT_ONCE + 5
    assert told == [AT_ONCE * 1000 + total, total * 1000 + total]
    assert (seen.readable[-1, :, -1] == model.predict(tokens)).mean() > 0.999
