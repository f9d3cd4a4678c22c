"""What claims need of a run: whether it has learned its task, which heads it needs, and which of them end pure.

All numbers are at the last query and the chosen tau (1e-4, the authors'); those at other temperatures are reported too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from whatwhere.heads.estimate import Estimate
from whatwhere.heads.purity import KINDS, Kind
from whatwhere.studies.dynamics.history import ScoreHistory, Training
from whatwhere.studies.evidence import Evidence, NotTested, require_learned
from whatwhere.studies.mechanism.claims import needed_heads, working_heads
from whatwhere.studies.mechanism.tables import Head

Heads = Sequence[Head]
Kinds = dict[Kind, list[Head]]
Which = Literal["all", "needed", "sufficient"]


def training(evidence: Evidence, model: str) -> Training:
    """A model along its training; raises NotTested if a table is missing."""
    results = evidence.results("dynamics", model)
    for table in ("accuracy", "scores", "readings"):
        if not results.has(table):
            raise NotTested(f"the table {table!r} of dynamics on the {model} model is not there.", missing=True)
    return Training(results)


def learned(evidence: Evidence, model: str, *, from_start: bool = False) -> Training:
    """The same for a model that has learned its task; raises NotTested for others."""
    run = training(evidence, model)
    require_learned(model, [float(run.accuracy[-1].min())])
    if from_start:
        require_start(run, model)
    return run


def require_start(run: Training, model: str) -> None:
    """Raises NotTested if scores do not begin before training: they cannot show when something first happened."""
    if run.scores.steps[0] != 0:
        raise NotTested(f"the scores of the {model} model begin at step {run.scores.steps[0]}, not before training.")


def all_heads(run: Training) -> Heads:
    """Every head of a model."""
    return list(np.ndindex(run.scores.shape))


def chosen_heads(evidence: Evidence, model: str, which: Which) -> tuple[Training, Heads]:
    """A model that has learned its task, and all of its heads or those that it needs (by the mechanism study)."""
    run = learned(evidence, model)
    if which == "sufficient":
        return run, working_heads(evidence, model)
    heads = all_heads(run) if which == "all" else needed_heads(evidence, model)
    if not heads:
        raise NotTested(f"no single head of the {model} model is needed: without any one of them accuracy stays.")
    return run, heads


def final_kinds(history: ScoreHistory, heads: Heads) -> Kinds:
    """Which of some heads end pure, by kind."""
    found = history.purity()
    return {kind: [head for head in heads if found.pure(kind)[-1][head]] for kind in KINDS}


def over_band(run: Training, number: Callable[[ScoreHistory], float]) -> dict[str, dict[str, float]]:
    """What a number would be at the other temperatures of the band."""
    others = {f"{tau:g}": float(number(history)) for tau, history in run.by_tau.items() if tau != run.settings.tau}
    return {"tau": others} if others else {}


def over_band_and_readings(run: Training, number: Callable[[ScoreHistory], float]) -> dict[str, dict[str, float]]:
    """What a number about the end of training would be at the other temperatures, and with other queries read."""
    others = {name: float(number(history)) for name, history in run.by_reading.items() if name != "last"}
    return over_band(run, number) | ({"queries": others} if others else {})


def over_readings(run: Training, *bounds: Callable[[ScoreHistory], float]) -> dict[str, dict[str, Estimate]]:
    """The bounds of a number about times with other queries read.

    These are read at some checkpoints only, and what happened between two of them is not known. The first bound is the
    value as it is seen; a reading that does not begin before training has none.
    """
    others = {}
    for name, history in run.by_reading.items():
        if name != "last" and history.steps[0] == 0:
            found = [float(bound(history)) for bound in bounds]
            others[name] = Estimate(found[0], min(found), max(found), run.settings.inputs)
    return {"queries": others} if others else {}
