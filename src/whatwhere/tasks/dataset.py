"""The balanced data with its splits (Appendix "Number Task" and "Letter task", implementation), in memory and on disk.

On disk a dataset is a directory: ``train.safetensors``, ``validation.safetensors``, ``test.safetensors`` and
``manifest.json``, which holds the task's parameters, the seed, the counts and a checksum of each split.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, fields, replace
from importlib.metadata import version
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
SPLITS = ("train", "validation", "test")
REDRAWS = 20


@dataclass(frozen=True, eq=False)
class Dataset:
    """Three splits, stratified by hop class, that share no sequence. Rows go through the hop classes in turn."""

    task: Task
    train: Batch
    validation: Batch
    test: Batch
    seed: int

    def splits(self) -> dict[str, Batch]:
        """The three splits by name."""
        return {name: getattr(self, name) for name in SPLITS}

    def manifest(self) -> dict[str, Any]:
        """What the dataset is: enough to make it again, and to notice that it is not what it was."""
        return {
            "task": self.task.to_dict(),
            "seed": self.seed,
            "sequences": {name: len(split) for name, split in self.splits().items()},
            "hops": {name: hop_counts(self.task, split) for name, split in self.splits().items()},
            "sha256": {name: _checksum(split) for name, split in self.splits().items()},
            "whatwhere": version("whatwhere"),
        }

    def save(self, directory: Path) -> None:
        """Writes the splits, then the manifest: a directory with a manifest is a whole dataset.

        Raises:
            WhatwhereError: the place cannot be written to.
        """
        for name, split in self.splits().items():
            storage.save_tensors(Path(directory) / f"{name}.safetensors", asdict(split))
        storage.write_json(Path(directory) / "manifest.json", self.manifest())


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
    task.require_memory(size)
    rng, _ = random_streams(seed, "dataset")
    batch = task.instances(rng, np.arange(size) % task.max_hops + 1)
    draws = 0
    while len(rows := _repeated(batch.tokens)):
        if draws == REDRAWS:
            raise WhatwhereError(
                f"{size} different sequences were asked for, and this {task.name} task has too few: after {draws} "
                f"draws {len(rows)} still repeat others. Ask for fewer, or enlarge its windows or vocabulary."
            )
        batch = _redraw(rng, task, batch, rows)
        draws += 1
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


def _redraw(rng: np.random.Generator, task: Task, batch: Batch, rows: Int[np.ndarray, "repeats"]) -> Batch:
    """Draws some sequences again; their hops, answers and places stay, so the balance does."""
    old = batch[rows]
    places = np.take_along_axis(old.paths, old.hops[:, None], 1)[:, 0]
    new = task.build(rng, old.hops, old.answers, places)
    tokens, paths = batch.tokens.copy(), batch.paths.copy()
    tokens[rows], paths[rows] = new.tokens, new.paths
    return replace(batch, tokens=tokens, paths=paths)


def hop_counts(task: Task, batch: Batch) -> dict[str, int]:
    """Sequences of each hop class."""
    counts = np.bincount(batch.hops, minlength=task.max_hops + 1)
    return {str(hop): int(counts[hop]) for hop in range(1, task.max_hops + 1)}


def _checksum(batch: Batch) -> str:
    digest = hashlib.sha256()
    for field in fields(batch):
        digest.update(np.ascontiguousarray(getattr(batch, field.name)).data)
    return digest.hexdigest()


def load_dataset(directory: Path) -> Dataset:
    """Reads what :meth:`Dataset.save` wrote, and checks that it is what its manifest says and that answers are right.

    Raises:
        WhatwhereError: a file is missing or damaged, or manifest and splits do not belong together.
    """
    directory = Path(directory)
    manifest = storage.read_json(directory / "manifest.json", "the dataset's manifest")
    kinds = {"task": dict, "seed": int, "sha256": dict}
    missing = [key for key, kind in kinds.items() if not isinstance(manifest.get(key), kind)]
    if missing:
        raise WhatwhereError(f"the dataset's manifest in {directory} lacks {', '.join(missing)}; make the data anew.")
    task = task_from_dict(manifest["task"])
    splits = {name: _load_split(task, directory / f"{name}.safetensors", name) for name in SPLITS}
    dataset = Dataset(task, seed=manifest["seed"], **splits)
    for name, checksum in dataset.manifest()["sha256"].items():
        if manifest["sha256"].get(name) != checksum:
            raise WhatwhereError(
                f"the {name} split in {directory} is not the one that its manifest describes; make the data anew."
            )
    return dataset


def _load_split(task: Task, path: Path, name: str) -> Batch:
    arrays, _ = storage.load_tensors(path, f"the {name} split")
    wanted = {"tokens": (task.length,), "answers": (), "hops": (), "paths": (task.max_hops + 1,)}
    n = len(arrays["tokens"]) if "tokens" in arrays else 0
    for field, shape in wanted.items():
        found = arrays.get(field)
        if found is None or found.dtype != np.int32 or found.shape != (n, *shape):
            raise WhatwhereError(f"the {name} split at {path} should hold {field} as int32 {(n, *shape)}; it does not.")
    batch = Batch(**{field: arrays[field] for field in wanted})
    if (task.solve(batch.tokens) != batch.answers).any():
        raise WhatwhereError(f"the {name} split at {path} holds answers that the {task.name} task does not give.")
    hops = (batch.paths >= 0).sum(1) - 1
    ends = np.take_along_axis(batch.paths, hops[:, None], 1)
    if ((hops < 1) | (hops != batch.hops) | (np.take_along_axis(batch.tokens, ends, 1)[:, 0] != batch.answers)).any():
        raise WhatwhereError(f"the {name} split at {path} holds hops or paths that do not lead to its answers.")
    return batch
