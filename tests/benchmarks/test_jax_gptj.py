import jax
import numpy as np
import pytest
import torch
from benchmarks.jax_gptj import logits_of, weights_of

from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig


@pytest.mark.slow  # XLA compiles for seconds
@pytest.mark.parametrize(("heads", "rotary_dim"), [(1, None), (4, 6)])
def test_the_peer_of_the_benchmark_is_the_same_model(heads: int, rotary_dim: int | None):
    config = ModelConfig(
        20, layers=3, heads=heads, d_model=32, d_mlp=48, rotary_dim=rotary_dim, dropout=0.0, attention_dropout=0.0
    )
    model = GPTJ(config)
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5, generator=generator)
    tokens = torch.randint(0, config.vocab_size, (5, 9), generator=generator)
    theirs = jax.jit(logits_of(model, torch.float32))(weights_of(model), tokens.numpy(), jax.random.key(0))
    with torch.no_grad():
        np.testing.assert_allclose(np.asarray(theirs), model.answer_logits(tokens).numpy(), rtol=1e-4, atol=1e-4)
