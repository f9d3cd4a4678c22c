"""Traces made by hand, and the definition of the scores done literally: the oracle of this folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
from torch import Tensor

from whatwhere.model.gptj import GPTJ
from whatwhere.model.rope import Layout, Rotation, rope_frequencies
from whatwhere.tasks import make_task
from whatwhere.trace.layer import LayerTrace
from whatwhere.training.presets import smoke
from whatwhere.training.run import Run


@pytest.fixture(scope="session")
def make_layer() -> Callable[..., LayerTrace]:
    """Makes a layer's trace from random queries and keys, or from given ones."""

    def make(
        *,
        batch: int = 2,
        heads: int = 2,
        seq: int = 9,
        width: int = 8,
        rotated: int | None = None,
        layout: Layout = "half",
        queries: Sequence[int] = (-1,),
        size: float = 2.0,
        seed: int = 0,
        keys: Tensor | None = None,
        asked: Tensor | None = None,
        frequencies: Tensor | None = None,
        dtype: torch.dtype = torch.float64,
    ) -> LayerTrace:
        generator = torch.Generator().manual_seed(seed)
        if keys is None:
            keys = torch.randn(batch, heads, seq, width, generator=generator, dtype=dtype) * size
        batch, heads, seq, width = keys.shape
        if asked is None:
            asked = torch.randn(batch, heads, len(queries), width, generator=generator, dtype=dtype) * size
        if frequencies is None:
            frequencies = rope_frequencies(width if rotated is None else rotated, 10000.0)
        positions = torch.tensor([query % seq for query in queries])
        visible = torch.arange(seq) <= positions[:, None]
        return LayerTrace(0, asked, keys, Rotation(frequencies, layout), 1.0, positions, visible)

    return make


@pytest.fixture(scope="session")
def brute_force() -> Callable[..., tuple[float, float]]:
    """The definition, word for word: swap two keys, compute logits and softmax again, weigh, compare."""

    def scores(layer: LayerTrace, input: int, head: int, query: int, tau: float) -> tuple[float, float]:
        keys = layer.keys[input, head].detach().double()
        asked = layer.queries[input, head, query].detach().double()
        at = int(layer.query_positions[query])
        seen = layer.visible[query]

        def attention(contents: Tensor) -> Tensor:
            logits = [
                layer.scale * contents[p] @ layer.rotation.turn(asked, torch.tensor(at - p))
                if seen[p]
                else torch.tensor(-torch.inf, dtype=torch.float64)
                for p in range(len(contents))
            ]
            return torch.stack(logits).softmax(-1)

        def cosine(a: Tensor, b: Tensor) -> Tensor:
            a, b = a / a.max(), b / b.max()  # a cosine has no scale, and small squares underflow
            return a @ b / (a.norm() * b.norm())

        before = attention(keys)
        moved, positional, symbolic = [], [], []
        others = [p for p in range(len(keys)) if seen[p] and p != at]
        for i in others:
            for j in others:
                if i < j:
                    swapped = keys.clone()
                    swapped[[i, j]] = keys[[j, i]]
                    after = attention(swapped)
                    moved.append((before[i] - before[j]).abs() / tau)
                    positional.append(cosine(after[[i, j]], before[[i, j]]))
                    symbolic.append(cosine(after[[i, j]], before[[j, i]]))
        weights = torch.stack(moved).softmax(0)
        return float(weights @ torch.stack(positional)), float(weights @ torch.stack(symbolic))

    return scores


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run on the number task with three checkpoints of untrained models, the later the sharper."""
    run = Run(tmp_path / "run")
    run.create(smoke(make_task("number")))
    for step in (0, 5, 10):
        run.save_checkpoint(step, sharp_model(run, step))
    return run


def sharp_model(run: Run, step: int) -> GPTJ:
    """A small random model whose attention is the sharper, the later the step."""
    model = GPTJ(run.config.model, seed=step)
    model.task = run.task
    with torch.no_grad():
        for block in model.layers():
            block.w_in.mul_(2 + step)
    return model
