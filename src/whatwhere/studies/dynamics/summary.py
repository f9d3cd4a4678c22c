"""The terminal summary of the study ``dynamics``: when hop classes were learned, and when heads became pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product

from rich.console import RenderableType
from rich.table import Table

from whatwhere.heads.purity import GAMMAS, KINDS
from whatwhere.studies.dynamics.association import purity_with_accuracy
from whatwhere.studies.dynamics.gradients import gradient_order
from whatwhere.studies.dynamics.history import Training
from whatwhere.studies.dynamics.learning import crossings
from whatwhere.studies.dynamics.tables import PureHead
from whatwhere.studies.evidence import LEARNED
from whatwhere.studies.results import Results


def summary(results: Results) -> Sequence[RenderableType]:
    """Learning in a line, then the pure heads of each kind, then how purity depends on queries and tau."""
    run, settings = Training(results), results.settings
    steps = run.scores.steps
    ends = " ".join(f"{share:.3f}" for share in run.accuracy[-1])
    reached = [f"{hop}: {step:,.0f}" if step == step else f"{hop}: never" for hop, step in crossings(run).items()]
    follows = purity_with_accuracy(run)
    text = (
        f"Dynamics of {results.name}: {len(steps)} checkpoints, steps {steps[0]:,} to {steps[-1]:,}, "
        f"{settings.inputs:,} inputs, tau {settings.tau:g}.\n"
        f"Accuracy ends at {ends} ({'/'.join(map(str, run.hops))} hops); "
        + (f"it is maximal from step {run.best:,.0f} on." if run.best == run.best else "it was never measured.")
        + f"\nStep at which each hop class reaches {LEARNED}: {', '.join(reached)}."
        + "\nRank correlation of pure heads with accuracy, over checkpoints: "
        + (
            f"{follows.correlation:.2f} ({follows.by_shift:.0%} of all shifts in time reach as much)."
            if follows.by_shift == follows.by_shift
            else "undefined (one never changes)."
        )
    )
    more = [_gradients_table(run)] if results.has("gradients") else []
    return [text, _heads_table(run), _readings_table(run), *more]


def _heads_table(run: Training) -> Table:
    table = Table("gamma", "kind", "pure", "heads, with the step from which each stayed pure (last query)", box=None)
    for gamma, kind in product(GAMMAS, KINDS):
        found = joined(run.pure(gamma), kind)
        names = [f"{head_name(layer, head, run.scores.shape[1])} ({step:,})" for step, layer, head in found]
        table.add_row(f"{gamma:g}", kind, str(len(found)), ", ".join(names) or "none")
    return table


def _readings_table(run: Training) -> Table:
    """How many heads end pure, for each reading of queries and each tau."""
    rows = [row for row in run.pure_heads if row.gamma == GAMMAS[0]]
    taus = sorted({row.tau for row in rows})
    table = Table(
        f"end pure at gamma {GAMMAS[0]:g}", *(f"tau {tau:g}" for tau in taus), box=None,
        caption="positional + symbolic heads, by the queries that are read", caption_justify="left",
    )  # fmt: skip
    for reading in dict.fromkeys(row.reading for row in rows):
        pure = Counter((row.tau, row.kind) for row in rows if row.reading == reading and row.for_good is not None)
        table.add_row(f"queries: {reading}", *(" + ".join(str(pure[tau, kind]) for kind in KINDS) for tau in taus))
    return table


def _gradients_table(run: Training) -> Table:
    """Whether gradients grow or fall with the layer, up to the first pure head."""
    table = Table(
        "gradient of queries and keys", "with the layer", "the same at the last checkpoint", "with the step of purity",
        box=None, caption="rank correlations over layers, mean over checkpoints", caption_justify="left",
    )  # fmt: skip
    for column, found in gradient_order(run).items():
        table.add_row(column, *(f"{found[name]:.2f}" for name in ("layer", "last", "purity")))
    return table


def outcomes(results: Results) -> Mapping[str, float]:
    """What a sweep shows of a run: the worst hop class at the end, t*, and how many heads ended pure."""
    run = Training(results)
    found = run.scores.purity()
    return {
        "worst_accuracy": float(run.accuracy[-1].min()),
        "best_step": run.best,
        **{f"mean_{kind}": float(getattr(run.scores, kind)[-1].mean()) for kind in KINDS},
        **{f"pure_{kind}": float(found.pure(kind)[-1].sum()) for kind in KINDS},
    }


def head_name(layer: int, head: int, heads: int) -> str:
    """``3``, or ``3.1`` where a layer has several heads."""
    return f"{layer}.{head}" if heads > 1 else str(layer)


def joined(pure: Sequence[PureHead], kind: str) -> list[tuple[int, int, int]]:
    """The heads of a kind that became pure for good as (step, layer, head), in the order in which they joined."""
    rows = (row for row in pure if row.kind == kind)
    return sorted((row.for_good, row.layer, row.head) for row in rows if row.for_good is not None)
