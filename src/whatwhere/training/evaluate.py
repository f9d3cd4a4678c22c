"""Held-out accuracy per hop class (Figure 2A), and how far attention moved between two evaluations."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from whatwhere.machine.threads import side_by_side
from whatwhere.model.gptj import GPTJ
from whatwhere.store.storage import read_json, write_json
from whatwhere.tasks.batch import Batch
from whatwhere.training.run import Run

_TOGETHER = 50
"""Sequences that are traced at a time: their activations fit the cache of a core."""


def accuracy_by_hop(model: GPTJ, batch: Batch, max_hops: int) -> list[float]:
    """The share of right answers for 1 .. max_hops hops; NaN for a class without sequences."""
    right = model.predict(batch.tokens) == batch.answers
    classes = [right[batch.hops == hop] for hop in range(1, max_hops + 1)]
    return [float(of_class.mean()) if len(of_class) else float("nan") for of_class in classes]


def mean_accuracy(by_hop: list[float]) -> float:
    """The mean over hop classes, equal weights (the paper's magenta line)."""
    return float(np.mean(by_hop))


def last_attention(model: GPTJ, batch: Batch) -> Float[Tensor, "layer batch head key"]:
    """Where the last query looks, in every layer."""

    @torch.no_grad()  # a setting of each thread
    def of_some(tokens: Tensor) -> Tensor:
        return model.trace(tokens).attention()[..., 0, :]

    return torch.cat(side_by_side(of_some, torch.from_numpy(batch.tokens).split(_TOGETHER)), 1)


def drift(before: Tensor, after: Tensor) -> float:
    """How far attention moved: the total variation distance, mean over layers, inputs and heads."""
    return float((before - after).abs().sum(-1).mul(0.5).mean())


def measure_on_test_split(run: Run) -> dict[str, Any]:
    """Accuracy of a run's last model on its full test split, kept as ``RUN/test.json`` (read from there if current)."""
    config, step = run.config, run.steps()[-1]
    path = run.directory / "test.json"
    if path.is_file():
        known = read_json(path, "the run's test result", run.owner)
        if known.get("step") == step:
            return known
    test = config.task.split("test", config.dataset_size, config.seed)
    result = {
        "step": step,
        "accuracy_by_hop": accuracy_by_hop(run.load(step), test, config.task.max_hops),
        "sequences": len(test),
        "seconds": run.metrics()[-1]["seconds"],
    }
    write_json(path, result, run.owner)
    return result
