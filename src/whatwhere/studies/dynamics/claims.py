"""How the models learn: Sections 3.1 and 3.3, Figure 2A and the beginning of Figure 2B. Then the claims on purity."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from whatwhere.studies.claim import Finding, listed, read_claims
from whatwhere.studies.dynamics import claims_purity
from whatwhere.studies.dynamics.learned_runs import learned, require_start, training
from whatwhere.studies.dynamics.learning import crossings, in_order, spread
from whatwhere.studies.dynamics.tables import Accuracy
from whatwhere.studies.evidence import LEARNED, Evidence, NotTested
from whatwhere.trace.layer import counted

TASKS = ("number", "letter")
HIGH = 0.9


def both_learned(evidence: Evidence) -> Finding:
    """The worst hop class of both models, on the test split if it was measured, else on the scored inputs."""
    classes = []
    for model in TASKS:
        rows = evidence.rows("dynamics", model, "accuracy", Accuracy)
        split = "test" if any(row.split == "test" for row in rows) else "scored"
        last = max(row.step for row in rows if row.split == split)
        chosen = [row for row in rows if (row.split, row.step) == (split, last)]
        classes += [(row.accuracy.value, model, row) for row in chosen]
    worst, model, row = min(classes, key=lambda one: one[0])
    split = "test split" if row.split == "test" else "scored inputs"
    why = f"The worst hop class of both models: {model} task, {counted(row.hop, 'hop')}, on the {split}."
    return Finding(worst, why, row.accuracy.interval, row.accuracy.n)


def hops_in_order(evidence: Evidence, model: str) -> Finding:
    """Whether hop classes are learned one after another, and far enough apart not to count as at once."""
    found = _order(evidence, model)
    ordered = in_order(learned(evidence, model))
    return replace(
        found, rest_holds=ordered, why=found.why + " The order of the last ones is not sure." * (ordered is None)
    )


def letter_together(evidence: Evidence) -> Finding:
    """How much later the last hop class is learned than the first."""
    found = _order(evidence, "letter")
    if evidence.results("dynamics", "letter").inputs.get("task", {}).get("generator") == "decoy":
        found = replace(found, why=f"{found.why} This model was trained on leak-free data, not on the authors'.")
    return found


def _order(evidence: Evidence, model: str) -> Finding:
    """The step at which the last hop class is learned, over that of the first."""
    run = learned(evidence, model)
    ratio, steps = spread(run), crossings(run)
    text = listed([f"{step:,.0f}" for step in steps.values()])
    each = listed([f"{later / max(earlier, 1.0):.2f}" for earlier, later in pairwise(steps.values())])
    why = f"{LEARNED} is reached at steps {text} for {listed(list(steps))} hops: each over the one before {each}."
    return Finding(ratio.value, why, ratio.interval, ratio.n)


def scores_start_high(evidence: Evidence) -> Finding:
    """The lowest of both scores and the entropy's share of its maximum, over all heads before training."""
    runs = {model: training(evidence, model) for model in TASKS}
    for model, run in runs.items():
        require_start(run, model)
    histories = [run.scores for run in runs.values()]
    positional, symbolic, entropy = (
        min(float(getattr(history, name)[0].min()) for history in histories)
        for name in ("positional", "symbolic", "entropy_share")
    )
    why = f"At step 0 no head is below {positional:.3f} positional, {symbolic:.3f} symbolic, {entropy:.3f} entropy."
    return Finding(min(positional, symbolic, entropy), why, None, runs["letter"].settings.inputs)


def exclusion(evidence: Evidence) -> Finding:
    """The smallest sum of both scores of one head at one checkpoint."""
    runs = [training(evidence, model) for model in TASKS]
    sums = [run.scores.positional + run.scores.symbolic for run in runs]
    value = min(float(np.nanmin(part)) for part in sums)
    why = f"The smallest sum over {sum(part.size for part in sums):,} heads and checkpoints of both runs."
    return Finding(value, why, None, runs[0].settings.inputs)


def high_means_uniform(evidence: Evidence) -> Finding:
    """The lowest entropy share where both scores are high."""
    found, inputs = [], 0
    for model in TASKS:
        run = training(evidence, model)
        history, inputs = run.scores, run.settings.inputs
        both = (history.positional >= HIGH) & (history.symbolic >= HIGH)
        found += [
            (float(history.entropy_share[at, layer, head]), model, layer, int(history.steps[at]))
            for at, layer, head in np.argwhere(both).tolist()
        ]
    if not found:
        raise NotTested("no head has both scores high at any checkpoint.")
    value, model, layer, step = min(found)
    why = f"The lowest of {len(found):,} such heads and checkpoints: {model} model, layer {layer}, step {step}."
    return Finding(value, why, None, inputs)


CLAIMS = read_claims(Path(__file__).with_name("claims.toml"), globals() | vars(claims_purity))
