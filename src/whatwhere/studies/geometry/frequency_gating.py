"""Which frequencies a task lives on: accuracy when planes are closed (an intervention on Section 3.5's correlation)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from whatwhere.model.gptj import GPTJ
from whatwhere.studies.length.variations import Variation, gating_variations
from whatwhere.studies.mechanism.accuracy import shares_by_hop
from whatwhere.tasks.batch import Batch


@dataclass(frozen=True)
class GatedAccuracy:
    """Accuracy of one hop class with some planes closed."""

    variation: str
    first: int
    """The smallest closed ID; 0 if none is closed."""
    last: int
    closed: int
    """How many planes are closed."""
    layers: str
    hop: int
    """0 for the mean over hop classes."""
    accuracy: float
    low: float
    high: float
    inputs: int


def measure_gating(
    model: GPTJ, batch: Batch, trained: int, observer: Callable[[], None] = lambda: None
) -> list[GatedAccuracy]:
    """Accuracy per hop class for every closing of :func:`~whatwhere.studies.length.variations.gating_variations`.

    Args:
        model: what was trained.
        batch: inputs of the task.
        trained: tokens of the inputs that it was trained on; it says which planes are fast and which slow.
        observer: called after each closing.
    """
    rows = []
    for variation in gating_variations(model, trained):
        right = variation.apply(model, batch.tokens.shape[1], trained).predict(batch.tokens) == batch.answers
        rows += [
            GatedAccuracy(*_closing(variation), hop, accuracy, low, high, inputs)
            for hop, accuracy, low, high, inputs in shares_by_hop(right, batch.hops)
        ]
        observer()
    return rows


def _closing(variation: Variation) -> tuple[str, int, int, int, str]:
    closed, layers = variation.closed, variation.layers
    where = "all" if layers is None else f"{layers[0]}-{layers[-1]}"
    return variation.name, min(closed, default=0), max(closed, default=0), len(closed), where
