"""The balanced data with its splits (Appendix "Implementation"; exact counts in docs/tasks.md)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from whatwhere import storage
from whatwhere.errors import WhatwhereError
from whatwhere.tasks import Task, task_from_dict
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.task import random_streams

TRAIN, VALIDATION = 0.9, 0.005
"""Shares of the first two splits; the test set is the rest."""
REDRAWS = 20
SPLITS = ("train", "validation", "test")
FORMAT = 1


@dataclass(frozen=True, eq=False)
class Dataset:
    """Three splits, stratified by hop class, that share no sequence. Rows go through the hop classes in turn."""

    task: Task
    train: Batch
    validation: Batch
    test: Batch
    seed: int


def make_dataset(task: Task, size: int, seed: int) -> Dataset:
    """Draws ``size`` different sequences, with equal hop classes and balanced solutions, and splits them.

    Within a hop class the sequences are exchangeable, and rows go through the classes in turn; so plain slices are
    random splits, exact by hop class: 108,000 / 600 / 11,400 of each with the paper's 480,000.

    Raises:
        WhatwhereError: too few sequences for the splits, or more than the task has.
    """
    smallest = round(task.max_hops / VALIDATION)
    if size < smallest:
        raise WhatwhereError(
            f"a dataset of {task.max_hops} hop classes needs {smallest} sequences or more, so that the validation set "
            f"({VALIDATION:.1%}) holds each class, and {size} were asked for."
        )
    rng, _ = random_streams(seed, "dataset")
    batch = task.instances(rng, np.arange(size) % task.max_hops + 1)
    for _ in range(REDRAWS):
        rows = _repeated(batch.tokens)
        if not len(rows):
            break
        old = batch[rows]
        places = np.take_along_axis(old.paths, old.hops[:, None], 1)[:, 0]
        tokens, paths = batch.tokens.copy(), batch.paths.copy()
        fresh = task.build(rng, old.hops, old.answers, places)
        tokens[rows], paths[rows] = fresh.tokens, fresh.paths
        batch = replace(batch, tokens=tokens, paths=paths)
    else:
        raise WhatwhereError(
            f"{size} different sequences were asked for, and this {task.name} task has too few: after {REDRAWS} draws "
            f"{len(rows)} still repeat others. Ask for fewer, or enlarge its windows or vocabulary."
        )
    validation = round(size * TRAIN)
    test = validation + round(size * VALIDATION)
    return Dataset(task, batch[:validation], batch[validation:test], batch[test:], seed)


def _repeated(tokens: Int[np.ndarray, "n seq"]) -> Int[np.ndarray, "repeats"]:
    """Rows that repeat an earlier row, by a 64-bit fingerprint: equal rows always share it."""
    weights = np.random.default_rng(0).integers(0, 2**64, tokens.shape[1], dtype=np.uint64)
    fingerprint = np.zeros(len(tokens), np.uint64)
    for column, weight in zip(tokens.T, weights, strict=True):
        fingerprint += column.astype(np.uint64) * weight
    order = np.argsort(fingerprint, kind="stable")
    same = fingerprint[order[1:]] == fingerprint[order[:-1]]
    return order[1:][same]
