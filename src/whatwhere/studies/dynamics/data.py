"""What Figure 2 shows of a run, read from its ``metrics.csv`` and ``scores.csv``, and as tidy tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float

from whatwhere.errors import WhatwhereError
from whatwhere.heads.entropy import min_max
from whatwhere.heads.purity import KINDS, Purity, purity, step_of_maximal_accuracy
from whatwhere.studies.dynamics.history import ScoreHistory, read_history
from whatwhere.training.run import Run

ACCURACY_COLUMNS = ("task", "step", "hops", "accuracy")
SCORE_COLUMNS = (
    "task", "step", "layer", "head", "positional", "symbolic", "entropy_scaled", "entropy_share", "tau", "inputs"
)  # fmt: skip
PURITY_COLUMNS = ("task", "gamma", "kind", "layer", "head", "first_pure", "pure_for_good", "count")
Cells = tuple[object, ...]


@dataclass(frozen=True, eq=False)
class Dynamics:
    """One run along its training."""

    task: str
    metrics: list[dict[str, float]]
    history: ScoreHistory

    @cached_property
    def best(self) -> float:
        """The step t* of maximal accuracy; NaN if accuracy was never measured."""
        return step_of_maximal_accuracy(self.metrics)

    @cached_property
    def entropy(self) -> Float[np.ndarray, "step layer head"]:
        """Each head's entropy, scaled to its range along training."""
        return min_max(self.history.entropy)

    @property
    def hops(self) -> list[int]:
        """The hop classes whose accuracy was measured."""
        prefix = "accuracy_hop"
        return sorted(int(name.removeprefix(prefix)) for name in self.metrics[0] if name.startswith(prefix))

    @property
    def layers(self) -> int:
        """Layers of the model."""
        return self.history.positional.shape[1]

    @property
    def heads(self) -> int:
        """Heads of each layer."""
        return self.history.positional.shape[2]

    @property
    def last(self) -> float:
        """The last step that there is anything of."""
        return max(self.metrics[-1]["step"], float(self.history.steps[-1]))

    def accuracy(self, hops: int | None) -> list[float]:
        """The accuracy of a hop class, or the mean over classes, at each evaluation."""
        return [row["accuracy" if hops is None else f"accuracy_hop{hops}"] for row in self.metrics]

    def purity(self, gamma: float) -> Purity:
        """Which heads are pure, and since when."""
        return purity(self.history.steps, self.history.positional, self.history.symbolic, gamma)


def read_dynamics(directory: Path) -> Dynamics:
    """Reads a run that was trained and scored.

    Raises:
        WhatwhereError: this is no run, it was not scored yet, or a table is damaged or empty.
    """
    run = Run(directory)
    task = run.task.name
    if not run.scores_path.is_file():
        raise WhatwhereError(
            f"the scores of a run were expected at {run.scores_path}, and there are none yet. "
            f"Make them with: whatwhere score {directory}"
        )
    metrics = run.metrics()
    if not metrics:
        raise WhatwhereError(f"{run.metrics_path} holds no evaluation yet; train the run further.")
    return Dynamics(task, metrics, read_history(run.scores_path))


def accuracy_rows(run: Dynamics) -> Iterator[Cells]:
    """The data of Figure 2A; hops 0 is the mean over classes."""
    for hops in (*run.hops, None):
        for row, accuracy in zip(run.metrics, run.accuracy(hops), strict=True):
            yield run.task, int(row["step"]), hops or 0, accuracy


def score_rows(run: Dynamics, layers: Collection[int]) -> Iterator[Cells]:
    """The data of Figure 2B."""
    history = run.history
    for i, step in enumerate(history.steps.tolist()):
        for layer in layers:
            for head in range(run.heads):
                at = i, layer, head
                yield (
                    run.task, step, layer, head, float(history.positional[at]), float(history.symbolic[at]),
                    float(run.entropy[at]), float(history.entropy_share[at]), history.settings.tau,
                    history.settings.inputs,
                )  # fmt: skip


def purity_rows(run: Dynamics, gamma: float) -> Iterator[Cells]:
    """The data of Figure 2C: when each head was first pure, since when for good, and how many then were."""
    found = run.purity(gamma)
    for kind in KINDS:
        first, for_good = found.first(kind), found.for_good(kind)
        for (layer, head), since in np.ndenumerate(for_good):
            count = float((for_good <= since).sum()) if since == since else np.nan
            yield run.task, gamma, kind, layer, head, float(first[layer, head]), float(since), count
