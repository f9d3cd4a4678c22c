"""Held-out accuracy per hop class (Figure 2A)."""

from __future__ import annotations

import torch

from whatwhere.model.gptj import GPTJ
from whatwhere.tasks.batch import Batch
from whatwhere.training.run import Run, TestAccuracy


def accuracy_by_hop(model: GPTJ, batch: Batch, max_hops: int) -> list[float]:
    """The share of right answers for 1 .. max_hops hops; NaN for a class without sequences."""
    right = model.predict(batch.tokens) == batch.answers
    classes = [right[batch.hops == hop] for hop in range(1, max_hops + 1)]
    return [float(of_class.mean()) if len(of_class) else float("nan") for of_class in classes]


def measure_on_test_split(run: Run) -> list[TestAccuracy]:
    """Accuracy of a run's last model on its full test split, kept as ``RUN/test.csv`` (read from there if current).

    Large products have the precision of the training.
    """
    if known := run.test():
        return known
    config, step = run.config, run.steps()[-1]
    test = config.task.split("test", config.dataset_size, config.seed)
    model = run.load(step)
    model.multiply_in(getattr(torch, config.precision))
    by_hop = accuracy_by_hop(model, test, config.task.max_hops)
    rows = [
        TestAccuracy(step, hop, accuracy, int((test.hops == hop).sum())) for hop, accuracy in enumerate(by_hop, start=1)
    ]
    run.write_test(rows)
    return rows
