"""Which layers does training change before the first head is pure (Section 3.1: the last layer is the last)?

The gradient of the queries and keys of each layer is computed at some checkpoints up to the first pure head. Its size
alone is misleading: initial weights have large gradients in the first layers that are noise. So the gradients of two
disjoint halves of the inputs are compared too: training moves a layer only if both have a similar direction.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from whatwhere.heads.purity import KINDS, Purity
from whatwhere.model.gptj import GPTJ
from whatwhere.studies.dynamics.association import purity_by_layer, rank_correlation
from whatwhere.studies.dynamics.history import Training
from whatwhere.studies.dynamics.tables import Gradient
from whatwhere.tasks.batch import Batch
from whatwhere.training.gradient import loss_and_gradients
from whatwhere.training.run import Run

INPUTS = 512
"""Of each half, in equal hop classes."""
CHECKPOINTS = 12
COLUMNS = ("size", "agreement")


def measure_gradients(run: Run, purity: Purity) -> list[Gradient]:
    """The gradients of all layers at up to 12 checkpoints, on inputs of the validation split."""
    batch = run.task.split("validation", run.config.dataset_size, run.config.seed)  # its hop classes take turns
    hops = run.task.max_hops
    half = max(1, min(INPUTS, len(batch) // 2) // hops) * hops
    halves = batch[:half], batch[half : 2 * half]
    steps = chosen_steps(purity, run.steps())
    return [row for step in steps for row in gradients_of(run.load(step), step, halves)]


def chosen_steps(purity: Purity, there: Sequence[int]) -> list[int]:
    """At most 12 of the checkpoints that are there, evenly from the first to that of the first pure head.

    Without a pure head they go up to the last.
    """
    first = np.concatenate([purity.first(kind).ravel() for kind in KINDS])
    end = there[-1] if np.isnan(first).all() else np.nanmin(first)
    before = [step for step in there if step <= end]
    return [before[at] for at in np.unique(np.linspace(0, len(before) - 1, CHECKPOINTS).round().astype(np.int64))]


def gradients_of(model: GPTJ, step: int, halves: tuple[Batch, Batch]) -> list[Gradient]:
    """One row per layer: the size of the mean gradient of both halves, and the cosine between the two."""
    first, second = (_of_queries_and_keys(model, batch) for batch in halves)  # [layer, 2 * d_model * d_model]
    weights = _queries_and_keys(model, [block.w_in.detach() for block in model.layers()])
    sizes = ((first + second) / 2).norm(dim=1) / weights.norm(dim=1)
    agreement = torch.nn.functional.cosine_similarity(first, second, dim=1)
    numbers = zip(sizes.tolist(), agreement.tolist(), strict=True)
    return [Gradient(step, layer, *each) for layer, each in enumerate(numbers)]


def gradient_order(run: Training) -> dict[str, dict[str, float]]:
    """Of each column, its rank correlation over layers with the layer, and with the step from which it stays pure.

    It is taken at each checkpoint; the number is the mean over checkpoints. ``last`` is that with the layer at the last
    of them, where the first head is pure.
    """
    rows = run.results.rows("gradients", Gradient)
    pure = purity_by_layer(run.scores.purity())  # [layer]; NaN: it does not end pure
    ends = ~np.isnan(pure)
    steps = sorted({row.step for row in rows})
    found = {}
    for column in COLUMNS:
        by_step = [np.array([getattr(row, column) for row in rows if row.step == step]) for step in steps]
        with_layer = [rank_correlation(each, np.arange(len(each))) for each in by_step]
        with_purity = [rank_correlation(each[ends], pure[ends]) for each in by_step]
        found[column] = {"layer": _mean(with_layer), "purity": _mean(with_purity), "last": with_layer[-1]}
    return found


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if value == value]
    return float(np.mean(known)) if known else float("nan")


def _of_queries_and_keys(model: GPTJ, batch: Batch) -> Float[Tensor, "layer weight"]:
    tokens, answers = (torch.tensor(part, dtype=torch.long) for part in (batch.tokens, batch.answers))
    _, found = loss_and_gradients(model.requires_grad_(True), tokens, answers, lambda _row: None)
    of = {id(parameter): gradient for parameter, gradient in zip(model.parameters(), found, strict=True)}
    return _queries_and_keys(model, [of[id(block.w_in)] for block in model.layers()])


def _queries_and_keys(model: GPTJ, each: Sequence[Tensor]) -> Float[Tensor, "layer weight"]:
    """The rows of queries and keys of ``w_in``, or of its gradient."""
    return torch.stack([of[: 2 * model.config.d_model].flatten() for of in each]).double()
