"""A run along its training as arrays, for Figure 2 and the claims."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from whatwhere.heads.entropy import min_max
from whatwhere.heads.purity import GAMMAS, Purity, purity, step_of_maximal_accuracy
from whatwhere.studies.dynamics.tables import PureHead
from whatwhere.studies.results import Results

_NUMBERS = ("positional", "symbolic", "entropy", "entropy_share")


@dataclass(frozen=True, eq=False)
class ScoreHistory:
    """The scores of some heads along training, for one reading and one tau; NaN for heads that were not scored."""

    steps: Int[np.ndarray, "step"]
    positional: Float[np.ndarray, "step layer head"]
    symbolic: Float[np.ndarray, "step layer head"]
    entropy: Float[np.ndarray, "step layer head"]
    entropy_share: Float[np.ndarray, "step layer head"]

    @classmethod
    def of(cls, frame: pd.DataFrame) -> ScoreHistory:
        """From a table of scores that share reading and tau."""
        steps, at = np.unique(frame["step"].to_numpy(), return_inverse=True)
        layers, heads = (frame[name].to_numpy(np.int64) for name in ("layer", "head"))
        table = np.full((len(_NUMBERS), len(steps), layers.max() + 1, heads.max() + 1), np.nan)
        table[:, at, layers, heads] = [frame[name].to_numpy(np.float64) for name in _NUMBERS]
        return cls(steps, *table)

    @classmethod
    def each(cls, frame: pd.DataFrame) -> dict[tuple[str, float], ScoreHistory]:
        """From a table of scores, by reading and tau."""
        groups: Any = frame.groupby(["reading", "tau"], sort=False)
        return {(reading, tau): cls.of(part) for (reading, tau), part in groups}

    @property
    def shape(self) -> tuple[int, int]:
        """Layers, and heads of each."""
        return self.positional.shape[1], self.positional.shape[2]

    @cached_property
    def scaled_entropy(self) -> Float[np.ndarray, "step layer head"]:
        """Each head's entropy, scaled to its range along training, as the paper draws it."""
        return min_max(self.entropy)

    def at_the_earliest(self) -> ScoreHistory:
        """The same as early as it may have been: what a checkpoint shows may be so since the one before it."""
        return replace(self, steps=np.concatenate([self.steps[:1], self.steps[:-1]]))

    def purity(self, gamma: float = GAMMAS[0]) -> Purity:
        """Which heads are pure, and since when."""
        return purity(self.steps, self.positional, self.symbolic, gamma)


class Training:
    """One result of the study: learning curves and scores of a run; each table is read on first use."""

    def __init__(self, results: Results) -> None:
        self.results, self.settings = results, results.settings

    @property
    def title(self) -> str:
        """``Number task``, ``Letter task (leak-free data)``; the result's name if the task is not known."""
        task = self.results.inputs.get("task", {})
        if "name" not in task:
            return self.results.name
        return f"{task['name'].capitalize()} task" + " (leak-free data)" * (task.get("generator") == "decoy")

    @cached_property
    def _curves(self) -> pd.DataFrame:
        """Accuracies on all held-out inputs of a step, scored ones and the training's own together, and how many.

        Rows are steps; columns are (``accuracy`` or ``accuracy_n``, hop).
        """
        frame = self.results["accuracy"]
        along = frame.loc[frame["split"] != "test", ["step", "hop", "accuracy", "accuracy_n"]]
        along["accuracy"] *= along["accuracy_n"]  # right answers, which can be added up
        pooled = along.groupby(["step", "hop"]).sum()
        pooled["accuracy"] /= pooled["accuracy_n"]
        return pooled.unstack("hop")  # pyright: ignore[reportReturnType] (of two levels: a frame)

    @cached_property
    def steps(self) -> Int[np.ndarray, "step"]:
        """At which accuracy was measured."""
        return self._curves.index.to_numpy()

    @cached_property
    def hops(self) -> list[int]:
        """The hop classes."""
        return self._curves["accuracy"].columns.tolist()

    @cached_property
    def accuracy(self) -> Float[np.ndarray, "step hop"]:
        """The accuracy of each hop class."""
        return self._curves["accuracy"].to_numpy()

    @cached_property
    def counts(self) -> Float[np.ndarray, "step hop"]:
        """How many inputs each of these accuracies comes from."""
        return self._curves["accuracy_n"].to_numpy(np.float64)

    @property
    def mean(self) -> Float[np.ndarray, "step"]:
        """The mean over hop classes, equal weights (the paper's magenta line)."""
        return self.accuracy.mean(1)

    @property
    def last(self) -> int:
        """The last step."""
        return int(self.steps[-1])

    @cached_property
    def best(self) -> float:
        """The step t* of maximal accuracy (erratum E18)."""
        rows = zip(self.steps.tolist(), self.mean.tolist(), strict=True)
        return step_of_maximal_accuracy([{"step": step, "accuracy": share} for step, share in rows])

    @cached_property
    def scores(self) -> ScoreHistory:
        """At the last query and the chosen tau."""
        return ScoreHistory.of(self.results["scores"])

    @cached_property
    def by_tau(self) -> dict[float, ScoreHistory]:
        """At the last query, for each tau of the band."""
        frame = self.results["readings"]
        histories = ScoreHistory.each(frame.loc[frame["reading"] == "last", :])
        return {tau: history for (_, tau), history in histories.items()}

    @cached_property
    def by_reading(self) -> dict[str, ScoreHistory]:
        """At the chosen tau, for each reading of queries, at the checkpoints that were read so."""
        frame = self.results["readings"]
        histories = ScoreHistory.each(frame.loc[frame["tau"] == self.settings.tau, :])
        return {reading: history for (reading, _), history in histories.items()}

    @cached_property
    def pure_heads(self) -> list[PureHead]:
        """The table of purity."""
        return self.results.rows("purity", PureHead)

    def pure(self, gamma: float, reading: str = "last", tau: float | None = None) -> list[PureHead]:
        """The rows of one tolerance, reading and temperature (the chosen one by default), two for each head."""
        wanted = self.settings.tau if tau is None else tau
        rows = [row for row in self.pure_heads if (row.gamma, row.reading) == (gamma, reading)]
        return [row for row in rows if math.isclose(row.tau, wanted)]
