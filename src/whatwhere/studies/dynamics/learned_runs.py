"""What claims ask of a run: that it has learned its task, which heads it needs, and which of them end pure.

All of it is at the last query and the chosen tau (1e-4, the authors'); what other temperatures say is told beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from whatwhere.heads.purity import GAMMAS, KINDS, Kind
from whatwhere.studies.claim import listed
from whatwhere.studies.dynamics.history import ScoreHistory, Training
from whatwhere.studies.dynamics.learning import LEARNED
from whatwhere.studies.evidence import Evidence, NotTested
from whatwhere.studies.mechanism.tables import Ablation, SufficientSet

GAMMA = GAMMAS[0]
Heads = Sequence[tuple[int, int]]
"""As (layer, head)."""
Kinds = dict[Kind, list[tuple[int, int]]]
"""Heads by kind."""


def training(evidence: Evidence, model: str) -> Training:
    """A model along its training.

    Raises:
        NotTested: it was not measured.
    """
    results = evidence.results("dynamics", model)
    for table in ("accuracy", "scores", "readings"):
        if not results.has(table):
            raise NotTested(f"the table {table!r} of dynamics on the {model} model is not there.", missing=True)
    return Training(results)


def learned(evidence: Evidence, model: str) -> Training:
    """The same, of a model that has learned its task: statements about solutions do not speak of other models.

    Raises:
        NotTested: it was not measured, or it has not learned its task.
    """
    run = training(evidence, model)
    worst = float(run.accuracy[-1].min())
    if not worst >= LEARNED:
        raise NotTested(
            f"the {model} model has not learned its task: its worst hop class ends at {worst:.2f}, "
            f"and {LEARNED} is asked of each."
        )
    return run


def require_start(run: Training, model: str) -> None:
    """Refuses scores that do not begin before training: they cannot tell when something came about.

    Raises:
        NotTested: they begin later.
    """
    if run.scores.steps[0] != 0:
        raise NotTested(f"the scores of the {model} model begin at step {run.scores.steps[0]}, not before training.")


def all_heads(run: Training) -> Heads:
    """Every head of a model."""
    layers, heads = run.scores.shape
    return [(layer, head) for layer in range(layers) for head in range(heads)]


def needed_heads(evidence: Evidence, model: str) -> Heads:
    """The heads whose ablation alone costs accuracy, as the mechanism study measured it.

    Raises:
        NotTested: it was not measured, or no single head is needed.
    """
    rows = evidence.rows("mechanism", model, "ablation", Ablation)
    heads = sorted({(row.layer, row.head) for row in rows if row.needed})
    if not heads:
        raise NotTested(f"no single head of the {model} model is needed: without any one of them accuracy stays.")
    return heads


def sufficient_heads(evidence: Evidence, model: str) -> Heads:
    """The fewest heads that suffice for some hop class, all classes together, as the mechanism study found them.

    Raises:
        NotTested: it was not measured.
    """
    rows = evidence.rows("mechanism", model, "sufficient", SufficientSet)
    names = {tuple(map(int, name.split("."))) for row in rows for name in row.heads.split()}
    if not names:
        raise NotTested(f"no set of heads of the {model} model suffices for a hop class.")
    return sorted((layer, head) for layer, head in names)


def final_kinds(run: Training, heads: Heads) -> Kinds:
    """Which of some heads end pure, by kind."""
    found = run.scores.purity(GAMMA)
    return {kind: [head for head in heads if found.pure(kind)[-1][head]] for kind in KINDS}


def over_band(run: Training, number: Callable[[ScoreHistory], int]) -> str:
    """What a count of heads would be at the other temperatures of the band, in words."""
    counts = {tau: number(history) for tau, history in run.by_tau.items() if tau != run.settings.tau}
    if not counts:
        return ""
    return f" With tau {listed([f'{tau:g}' for tau in counts])}: {listed(list(counts.values()))}."
