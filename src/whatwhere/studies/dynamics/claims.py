"""How the models learn: Sections 3.1 and 3.3, Figure 2A and the beginning of Figure 2B. Then the claims on purity."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from whatwhere.studies.claim import Claim, Finding, listed, sureness
from whatwhere.studies.dynamics.claims_purity import PURITY_CLAIMS
from whatwhere.studies.dynamics.learned_runs import learned, require_start, training
from whatwhere.studies.dynamics.learning import crossings, spread
from whatwhere.studies.dynamics.tables import Accuracy
from whatwhere.studies.evidence import LEARNED, Evidence, NotTested

TASKS = ("number", "letter")
SOLVED = 0.99
TOGETHER = 1.25
"""Hop classes are learned nearly at once if the last takes at most a quarter longer than the first."""
HIGH = 0.9


def both_learned(evidence: Evidence) -> Finding:
    """The worst hop class of both models, on the test split if it was measured, else on the scored inputs."""
    classes = []
    for model in TASKS:
        rows = evidence.rows("dynamics", model, "accuracy", Accuracy)
        split = "test" if any(row.split == "test" for row in rows) else "scored"
        of_split = [row for row in rows if row.split == split]
        last = max(row.step for row in of_split)
        chosen = [row for row in of_split if row.step == last]
        classes += [(row.accuracy.value, model, row) for row in chosen]
    worst, model, row = min(classes, key=lambda one: one[0])
    split = "test split" if row.split == "test" else "scored inputs"
    why = f"The worst hop class of both models: {model} task, {row.hop} hop{'s' * (row.hop > 1)}, on the {split}."
    return Finding(worst >= SOLVED, worst, why, row.accuracy.interval, row.accuracy.n)


def hops_in_order(evidence: Evidence, model: str) -> Finding:
    """Whether hop classes are learned one after another, and far enough apart not to count as at once."""
    steps, found = _order(evidence, model)
    ordered = all(earlier <= later for earlier, later in pairwise(steps))
    return replace(found, holds=ordered and found.value > TOGETHER)


def letter_together(evidence: Evidence) -> Finding:
    """Whether the last hop class is learned little later than the first."""
    _, found = _order(evidence, "letter")
    generator = evidence.results("dynamics", "letter").inputs.get("task", {}).get("generator")
    if found.value > TOGETHER and generator == "decoy":
        found = replace(found, why=f"{found.why} This model was trained on leak-free data, not on the authors'.")
    return replace(found, holds=found.value <= TOGETHER)


def _order(evidence: Evidence, model: str) -> tuple[list[float], Finding]:
    """When each hop class is learned, and the last step over the first, still without a verdict."""
    run = learned(evidence, model)
    ratio, steps = spread(run), crossings(run)
    told = listed([f"{step:,.0f}" for step in steps.values()])
    why = f"{LEARNED} is reached at steps {told} for {listed(list(steps))} hops." + sureness(ratio.interval, TOGETHER)
    return list(steps.values()), Finding(False, ratio.value, why, ratio.interval, ratio.n)


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
    value = min(positional, symbolic, entropy)
    why = f"At step 0 no head is below {positional:.3f} positional, {symbolic:.3f} symbolic, {entropy:.3f} entropy."
    return Finding(value >= HIGH, value, why, None, runs["letter"].settings.inputs)


def exclusion(evidence: Evidence) -> Finding:
    """The smallest sum of both scores of one head at one checkpoint."""
    runs = [training(evidence, model) for model in TASKS]
    sums = [run.scores.positional + run.scores.symbolic for run in runs]
    value = min(float(np.nanmin(part)) for part in sums)
    why = f"The smallest sum over {sum(part.size for part in sums):,} heads and checkpoints of both runs."
    return Finding(value >= 1 - 1e-6, value, why, None, runs[0].settings.inputs)


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
    return Finding(value >= HIGH, value, why, None, inputs)


_STEPS = (
    "Steps at which the isotonic fit of each hop class's accuracy reaches 0.9, on the scored inputs; the value is the "
    "last over the first."
)
_IN_ORDER = f"in the order of hops, and the last at more than {TOGETHER} times the step of the first (else: at once)"
_AT = "last query, tau 1e-4"

CLAIMS = (
    Claim(
        "both-tasks-learned", "Both tasks are learned",
        "A 12-layer GPT-J with one head per layer learns both tasks, every hop class of them.",
        "Section 3.1, Figure 2A",
        "Accuracy of the worst hop class of both models on the test split (the scored inputs if that is all).",
        f"at least {SOLVED}: Figure 2A ends at maximal accuracy, and the text gives no number", both_learned,
    ),
    Claim(
        "number-hops-in-order", "Number task: one hop is learned first, then two, three and four",
        "On the number task accuracy emerges progressively, from one hop to four.",
        "Section 3.3, Figure 2A",
        _STEPS,
        _IN_ORDER, partial(hops_in_order, model="number"),
    ),
    Claim(
        "letter-hops-together", "Letter task: all hop classes are learned nearly at once",
        "The letter task has no hop-wise gradient: the hop classes are acquired nearly simultaneously.",
        "Section 3.3, Figure 2A",
        _STEPS,
        f"the last at no more than {TOGETHER} times the step of the first", letter_together,
    ),
    Claim(
        "control-hops-in-order", "Letter task on leak-free data: hop classes are learned one after another",
        "Our control: the letter task has no hop-wise gradient because of the authors' data, which leak the answer. "
        "Without the leak it has one.",
        "not in the paper; see docs/tasks.md",
        _STEPS,
        _IN_ORDER, partial(hops_in_order, model="letter-control"),
    ),
    Claim(
        "scores-start-high", "Both scores start high, with high entropy",
        "Before training every head has a high positional and a high symbolic score, because its attention is uniform.",
        "Section 3.1, Figure 2B",
        f"Lowest of both scores and of entropy / maximum, over all heads of both models at step 0 ({_AT}).",
        f"at least {HIGH}: high is what purity calls high (gamma 0.1)", scores_start_high, "near 1 in Figure 2B",
    ),
    Claim(
        "exclusion-principle", "Exclusion principle: no head is low on both scores",
        "A head cannot be neither positional nor symbolic; the two scores of a head sum to 1 at least.",
        "Section 3.1 (after the earlier paper on the scores)",
        f"Smallest sum of both scores over all heads and checkpoints of both runs ({_AT}).",
        "at least 1", exclusion,
    ),
    Claim(
        "both-high-means-uniform", "Both scores high means uniform attention",
        "By the exclusion principle two high scores are indicative of a uniform distribution of attention.",
        "Section 3.1",
        f"Lowest entropy / maximum among heads and checkpoints where both scores are at least {HIGH} ({_AT}).",
        f"at least {HIGH}", high_means_uniform,
    ),
    *PURITY_CLAIMS,
)  # fmt: skip
