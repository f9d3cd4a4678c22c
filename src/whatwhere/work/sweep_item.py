"""One item of a sweep, done wherever a worker runs: trained if need be, measured, and told as one row of numbers.

Everything an item leaves lies in ``DIR/items/NAME``, a run directory with its analyses. It goes on from what is there,
and a finished item done again only reads.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from whatwhere.errors import WhatwhereError
from whatwhere.heads.levels import score_model
from whatwhere.heads.purity import KINDS, purity
from whatwhere.model.gptj import GPTJ
from whatwhere.store import addresses as remote
from whatwhere.studies.dynamics.checkpoints import score_run
from whatwhere.studies.dynamics.history import Settings
from whatwhere.studies.length.breaks import BreakRow
from whatwhere.studies.length.measure import LengthPlan, measure_length
from whatwhere.studies.mechanism.accuracy import MEAN, shares_by_hop
from whatwhere.studies.mechanism.measure import measure
from whatwhere.studies.results import Results, fingerprint, task_of
from whatwhere.training.evaluate import mean_accuracy, measure_on_test_split
from whatwhere.training.loop import train
from whatwhere.training.run import Run
from whatwhere.work.sweep_spec import Item
from whatwhere.zoo.load import load

MODEL_INPUTS = 2000
"""Sequences that measure the accuracy of a model that was not trained here."""


def do_item(place: str, item: Item) -> dict[str, Any]:
    """Trains and measures one item.

    Args:
        place: the sweep's directory or address.
        item: what to do.

    Returns:
        ``row``, numbers by column, and ``heads``, a list of them for each head; both as JSON keeps them.

    Raises:
        WhatwhereError: it cannot be done.
    """
    directory = Path(remote.local(f"{place.rstrip('/')}/items/{item.name}"))
    if item.config is None:
        torch.set_num_threads(1)
        model = load(remote.local(str(item.settings["model"])))
        row, heads = _measure_model(model, item)
    else:
        run = prepared(directory, item)
        train(run)
        row, heads = _measure_run(run, item)
        model = run.load()
    return {"row": row | _analyse(model, directory, item), "heads": heads}


def prepared(directory: Path, item: Item) -> Run:
    """The run of an item, begun if it is not there.

    Raises:
        WhatwhereError: the directory holds another run.
    """
    run = Run(directory)
    if not run.exists:
        run.create(item.training)
    elif run.config.decisive() != item.training.decisive():
        raise WhatwhereError(
            f"{directory} holds another run than the sweep asks for: its configuration differs. "
            "Choose another --out, or make the difference an axis of the sweep."
        )
    return run


def _measure_run(run: Run, item: Item) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    test = measure_on_test_split(run)
    by_hop = [float(value) for value in test["accuracy_by_hop"]]
    row = {"steps": test["step"], "seconds": test["seconds"], **_accuracies(by_hop, test["sequences"])}
    if not item.measures.scores:
        return row, []
    history = score_run(run, Settings(item.measures.tau, item.measures.scores))
    last = (history.positional[-1], history.symbolic[-1], history.entropy[-1])
    return row | _summary(*last[:2]), _heads(*last)


def _measure_model(model: GPTJ, item: Item) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    task = task_of(model, item.name)
    batch = task.sample(MODEL_INPUTS, seed=0)
    shares = list(shares_by_hop(model.predict(batch.tokens) == batch.answers, batch.hops))
    row = {"task": task.name, **_accuracies([share for hop, share, *_ in shares if hop != MEAN], len(batch))}
    if not item.measures.scores:
        return row, []
    scores = score_model(model, task.sample(item.measures.scores, seed=0).tokens, item.measures.tau)
    last = tuple(part.numpy() for part in (scores.positional, scores.symbolic, scores.entropy))
    return row | _summary(*last[:2]), _heads(*last)


def _accuracies(by_hop: list[float], sequences: int) -> dict[str, Any]:
    hops = {f"accuracy_hop{hop}": value for hop, value in enumerate(by_hop, start=1)}
    return {"accuracy": mean_accuracy(by_hop), **hops, "sequences": sequences}


def _summary(positional: np.ndarray, symbolic: np.ndarray) -> dict[str, float]:
    """Of each score the mean and the highest over heads, and how many heads are pure at the usual tolerance."""
    pure = purity(np.array([0]), positional[None], symbolic[None])
    scores = {"positional": positional, "symbolic": symbolic}
    means = {name: float(np.nanmean(values)) for name, values in scores.items()}
    highest = {f"{name}_max": float(np.nanmax(values)) for name, values in scores.items()}
    return means | highest | {f"pure_{kind}": int(pure.count(kind)[0]) for kind in KINDS}


def _heads(positional: np.ndarray, symbolic: np.ndarray, entropy: np.ndarray) -> list[dict[str, Any]]:
    return [
        {
            "layer": layer, "head": head, "positional": float(positional[layer, head]),
            "symbolic": float(symbolic[layer, head]), "entropy": float(entropy[layer, head]),
        }
        for layer, head in np.ndindex(*positional.shape)
    ]  # fmt: skip


def _analyse(model: GPTJ, directory: Path, item: Item) -> dict[str, Any]:
    """The analyses that were asked for, kept below the item's directory."""
    measures = item.measures
    row: dict[str, Any] = {}
    if measures.length:
        results = measure_length(
            model, task_of(model, item.name), directory, LengthPlan(measures.length, variations=False)
        )
        breaks = results.read("breaks", BreakRow)
        wanted = [row for row in breaks if (row.what, row.source, row.hop) == ("accuracy", "measured", MEAN)]
        row |= {"half_length": next(row.length for row in wanted if row.threshold == 0.5)}
    if measures.mechanism:
        results = Results(directory / "mechanism")
        results.begin(asdict(measures) | {"weights": fingerprint(model)})
        measure(model, results, inputs=measures.mechanism)
    return row
