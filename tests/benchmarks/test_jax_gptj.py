import subprocess
import sys
from pathlib import Path

import pytest

CHECK = """
import torch
from benchmarks.jax_gptj import difference
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig

model = GPTJ(ModelConfig(20, layers=3, d_model=32, d_mlp=48, dropout=0.0, attention_dropout=0.0, **{other}))
generator = torch.Generator().manual_seed(0)
for parameter in model.parameters():
    torch.nn.init.normal_(parameter, std=0.5, generator=generator)
print(difference(model, torch.randint(0, 20, (5, 9), generator=generator)))
"""


@pytest.mark.slow  # XLA compiles for seconds
@pytest.mark.parametrize("other", [{"heads": 1}, {"heads": 4, "rotary_dim": 6}])
def test_the_peer_of_the_benchmark_is_the_same_model(other: dict[str, int]):
    """In a process of its own: JAX starts threads, and other tests fork."""
    words, root = [sys.executable, "-c", CHECK.format(other=other)], Path(__file__).parents[2]
    ended = subprocess.run(words, capture_output=True, text=True, check=True, cwd=root)
    assert float(ended.stdout) < 1e-4
