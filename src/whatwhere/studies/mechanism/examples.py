"""Single inputs to look at: what a model did on a few sequences of each hop class, small enough for a page.

For each example: its tokens, path and answer, what the model said, the attention of every head at every position, and
for the last query the content-by-position matrix M of :mod:`whatwhere.trace.layer`. With M anyone can swap two keys
and see where attention goes: the swap of i and j gives position i the logit M[j, i] and position j the logit M[i, j].
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.model.gptj import GPTJ
from whatwhere.store.storage import read_json, write_text
from whatwhere.studies.mechanism.observation import Progress, silent
from whatwhere.studies.results import Results, fingerprint
from whatwhere.tasks.task import Task
from whatwhere.trace.traceable import trace

FOLDER, FILE = "examples", "examples.json"
DECIMALS = 3
"""Of attention and logits on disk; enough to draw them, and to find the same attention from the logits within 0.002."""


def measure_examples(
    model: GPTJ,
    task: Task,
    directory: Path,
    *,
    per_hop: int = 2,
    seed: int = 0,
    force: bool = False,
    progress: Progress = silent,
) -> Path:
    """Writes ``DIR/examples/examples.json``, unless it is there already.

    Args:
        model: what was trained.
        task: its task.
        directory: where the results go, in ``examples``.
        per_hop: sequences of each hop class.
        seed: of the sequences.
        force: replace examples made with other settings.
        progress: told when it is done.

    Returns:
        The file.

    Raises:
        WhatwhereError: there are examples made with other settings, ``per_hop`` is below 1 or ``seed`` below 0.
    """
    batch = task.sample(per_hop * task.max_hops, seed=seed)
    settings = {"model": fingerprint(model), "task": task.to_dict(), "per_hop": per_hop, "seed": seed}
    results = Results(directory / FOLDER)
    results.begin(settings, force=force)
    path = results.directory / FILE
    if path.is_file() and read_examples(path)["settings"] == settings:
        return path
    with torch.no_grad():
        found = trace(model, batch.tokens, queries=range(batch.tokens.shape[1]))
        attention = _rounded(found.attention())  # [layer, batch, head, query, key]
        matrices = _rounded(torch.stack([layer.double().content_by_position(-1) for layer in found.layers]))
    predicted, names = model.predict(batch.tokens), task.vocabulary.names
    examples = [
        {
            "hops": int(batch.hops[i]),
            "tokens": task.decode(tokens).split(),
            "path": [int(p) for p in batch.paths[i] if p >= 0],
            "answer": names[batch.answers[i]],
            "predicted": names[predicted[i]],
            "attention": [[_visible(head) for head in layer] for layer in attention[:, i].tolist()],
            "content_by_position": matrices[:, i].tolist(),
        }
        for i, tokens in enumerate(batch.tokens)
    ]
    write_text(path, json.dumps({"settings": settings, "examples": examples}, separators=(",", ":")) + "\n")
    progress("examples", len(examples), len(examples))
    return path


def read_examples(path: Path) -> dict[str, Any]:
    """Reads what :func:`measure_examples` wrote.

    Raises:
        WhatwhereError: the file is missing or damaged.
    """
    content = read_json(path, "the examples")
    if not {"settings", "examples"} <= content.keys():
        raise WhatwhereError(f"{path} should hold 'settings' and 'examples'; remove it and measure anew.")
    return content


def _visible(rows: list[list[float]]) -> list[list[float]]:
    """Each query's attention up to itself: what comes later it cannot see."""
    return [row[: query + 1] for query, row in enumerate(rows)]


def _rounded(values: Tensor) -> Float[np.ndarray, "..."]:
    """In float64, so that it prints as short as it is; adding 0 turns -0 into 0."""
    return np.round(values.numpy(force=True).astype(np.float64), DECIMALS) + 0.0
