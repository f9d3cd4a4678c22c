"""Held-out accuracy per hop class (Figure 2A)."""

from __future__ import annotations

from typing import Any

import numpy as np

from whatwhere.model.gptj import GPTJ
from whatwhere.store.storage import read_json, write_json
from whatwhere.tasks.batch import Batch
from whatwhere.training.run import Run


def accuracy_by_hop(model: GPTJ, batch: Batch, max_hops: int) -> list[float]:
    """The share of right answers for 1 .. max_hops hops; NaN for a class without sequences."""
    right = model.predict(batch.tokens) == batch.answers
    classes = [right[batch.hops == hop] for hop in range(1, max_hops + 1)]
    return [float(of_class.mean()) if len(of_class) else float("nan") for of_class in classes]


def mean_accuracy(by_hop: list[float]) -> float:
    """The mean over hop classes, equal weights (the paper's magenta line)."""
    return float(np.mean(by_hop))


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
