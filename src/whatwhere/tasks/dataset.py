"""The balanced data with its splits (Appendix "Number Task" and "Letter task", implementation), in memory and on disk.

On disk a data set is a directory: ``train.safetensors``, ``validation.safetensors``, ``test.safetensors`` and
``manifest.json``, which holds the task's parameters, the seed, the counts and a checksum of each split.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from whatwhere.errors import WhatwhereError
from whatwhere.store.documents import read_json, write_json
from whatwhere.store.tensors import load_tensors, save_tensors
from whatwhere.tasks import Task, task_from_dict
from whatwhere.tasks.batch import ARRAYS, Batch, hops_of
from whatwhere.tasks.task import random_streams

TRAIN, VALIDATION = 0.9, 0.005
"""Shares of the first two splits; the test set is the rest."""
SPLITS = ("train", "validation", "test")
MANIFEST = "the manifest of the data set"


@dataclass(frozen=True, eq=False)
class Dataset:
    """Three splits with equal hop classes; rows go through the classes in turn."""

    task: Task
    train: Batch
    validation: Batch
    test: Batch
    seed: int

    def splits(self) -> dict[str, Batch]:
        """The three splits by name."""
        return {name: getattr(self, name) for name in SPLITS}

    def manifest(self) -> dict[str, Any]:
        """Enough to generate the data set again and to verify it."""
        return {
            "task": self.task.to_dict(),
            "seed": self.seed,
            "sequences": {name: len(split) for name, split in self.splits().items()},
            "hops": {name: hop_counts(self.task, split) for name, split in self.splits().items()},
            "sha256": {name: _checksum(split) for name, split in self.splits().items()},
            "whatwhere": version("whatwhere"),
        }

    def shared(self) -> int:
        """How many sequences of the test set occur in the training set as well; none of the paper's sizes do."""
        train = {tokens.tobytes() for tokens in self.train.tokens}
        return sum(tokens.tobytes() in train for tokens in self.test.tokens)

    def save(self, directory: Path) -> None:
        """Writes the splits, then the manifest: a directory with a manifest is a whole data set.

        Raises:
            WhatwhereError: the place cannot be written to.
        """
        for name, split in self.splits().items():
            save_tensors(Path(directory) / f"{name}.safetensors", split.arrays())
        write_json(Path(directory) / "manifest.json", self.manifest())


def make_split(task: Task, name: str, size: int, seed: int) -> Batch:
    """One split of a data set of ``size`` sequences, drawn independently of the others, as the authors do.

    Hop classes are equal (108,000 / 600 / 11,400 of each with the paper's 480,000) and come in turn; within a class the
    cells place x answer are filled equally, and which cells hold the remainder is random. The seed of a split is the
    data set's plus the sizes of the splits before it. A small task may draw a sequence twice; :meth:`Dataset.shared`
    counts them.

    Raises:
        WhatwhereError: there is no such split, there are too few sequences for the splits, or more than memory holds.
    """
    if name not in SPLITS:
        raise WhatwhereError(f"expected a split of {', '.join(SPLITS)}, got {name!r}.")
    smallest = round(task.max_hops / VALIDATION)
    if size < smallest:
        raise WhatwhereError(
            f"a data set of {task.max_hops} hop classes needs {smallest} sequences or more, so that the validation set "
            f"({VALIDATION:.1%}) holds each class, got {size}."
        )
    train, validation = round(size * TRAIN), round(size * VALIDATION)
    sizes = dict(zip(SPLITS, (train, validation, size - train - validation), strict=True))
    before = sum(sizes[earlier] for earlier in SPLITS[: SPLITS.index(name)])
    task.require_memory(sizes[name])
    rng, _ = random_streams(seed + before, "dataset")
    return task.instances(rng, np.arange(sizes[name]) % task.max_hops + 1)


def hop_counts(task: Task, batch: Batch) -> dict[str, int]:
    """Sequences of each hop class."""
    return {str(hop): int((batch.hops == hop).sum()) for hop in range(1, task.max_hops + 1)}


def _checksum(batch: Batch) -> str:
    digest = hashlib.sha256()
    for array in batch.arrays().values():
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def load_dataset(directory: Path) -> Dataset:
    """Reads what :meth:`Dataset.save` wrote, and checks it against its manifest and the task's oracle.

    Raises:
        WhatwhereError: a file is missing or damaged, or manifest and splits do not belong together.
    """
    directory = Path(directory)
    manifest = read_json(directory / "manifest.json", MANIFEST)
    kinds = {"task": dict, "seed": int, "sha256": dict}
    missing = [key for key, kind in kinds.items() if not isinstance(manifest.get(key), kind)]
    if missing:
        raise WhatwhereError(f"{MANIFEST} in {directory} lacks {', '.join(missing)}; make the data again.")
    task = task_from_dict(manifest["task"])
    splits = {name: _load_split(task, directory / f"{name}.safetensors", name) for name in SPLITS}
    dataset = Dataset(task, seed=manifest["seed"], **splits)
    for name, checksum in dataset.manifest()["sha256"].items():
        if manifest["sha256"].get(name) != checksum:
            raise WhatwhereError(
                f"the {name} split in {directory} is not the one that its manifest describes; make the data again."
            )
    return dataset


def _load_split(task: Task, path: Path, name: str) -> Batch:
    arrays, _ = load_tensors(path, f"the {name} split")
    wanted = dict(zip(ARRAYS, ((task.length,), (), (), (task.max_hops + 1,)), strict=True))
    n = len(arrays["tokens"]) if "tokens" in arrays else 0
    for field, shape in wanted.items():
        found = arrays.get(field)
        if found is None or found.dtype != np.int32 or found.shape != (n, *shape):
            raise WhatwhereError(f"the {name} split at {path} should hold {field} as int32 {(n, *shape)}; it does not.")
    batch = Batch(**{field: arrays[field] for field in wanted}, vocabulary=task.vocabulary)
    if (task.solve(batch.tokens) != batch.answers).any():
        raise WhatwhereError(f"the {name} split at {path} holds answers that the {task.name} task does not give.")
    hops = hops_of(batch.paths)
    ends = np.take_along_axis(batch.paths, hops[:, None], 1)
    if ((hops < 1) | (hops != batch.hops) | (np.take_along_axis(batch.tokens, ends, 1)[:, 0] != batch.answers)).any():
        raise WhatwhereError(f"the {name} split at {path} holds hops or paths that do not lead to its answers.")
    return batch
