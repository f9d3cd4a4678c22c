"""How the models learn: Section 3.1 and Section 3.3, Figure 2A and the beginning of Figure 2B."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from whatwhere.heads.intervals import wilson_interval
from whatwhere.store.storage import read_json
from whatwhere.studies.claim import Claim, Finding, listed
from whatwhere.studies.dynamics.data import Dynamics
from whatwhere.studies.source import LEARNED, TASKS, NotTested, Source

SOLVED = 0.99
TOGETHER = 1.25
"""Hop classes are learned nearly at once if the last takes at most a quarter longer than the first."""
HIGH = 0.9


def both_learned(source: Source) -> Finding:
    """The worst hop class of both models, on the test split if it was measured, else at the last evaluation."""
    classes = []
    for task in TASKS:
        config, last = source.config(task), source.metrics(task)[-1]
        hops = range(1, config.task.max_hops + 1)
        path = source.directory / task / "test.json"
        if path.is_file():
            test = read_json(path, "the test result")
            shares, count = test["accuracy_by_hop"], test["sequences"]
        else:
            shares, count = [last[f"accuracy_hop{hop}"] for hop in hops], config.validation
        classes += [(share, task, hop, count // len(hops)) for share, hop in zip(shares, hops, strict=True)]
    worst, task, hop, count = min(classes)
    why = f"The worst hop class of both models: {task} task, {hop} hop{'s' * (hop > 1)}."
    return Finding(worst >= SOLVED, worst, why, wilson_interval(round(worst * count), count), count)


def number_in_order(source: Source) -> Finding:
    """Whether hop classes are solved one after another, and far enough apart not to count as at once."""
    steps, spread = learned_steps(source, "number")
    ordered = all(earlier <= later for earlier, later in pairwise(steps))
    why = f"0.9 is first reached at steps {listed(steps)} for {listed(list(range(1, len(steps) + 1)))} hops."
    return Finding(ordered and spread.value > TOGETHER, spread.value, why, spread.interval, spread.inputs)


def letter_together(source: Source) -> Finding:
    """Whether the last hop class is solved little later than the first."""
    steps, spread = learned_steps(source, "letter")
    why = f"0.9 is first reached at steps {listed(steps)} for {listed(list(range(1, len(steps) + 1)))} hops."
    if spread.value > TOGETHER:
        why += " The classes come one after another here too; the paper's generator is not described (erratum E27)."
    return Finding(spread.value <= TOGETHER, spread.value, why, spread.interval, spread.inputs)


def learned_steps(source: Source, task: str) -> tuple[list[int], Finding]:
    """The step at which each hop class is solved, and the last of them over the first, with its interval.

    The interval comes from the accuracies' own: a class may have been solved as early as the upper end says, and as
    late as the lower end says.
    """
    run = source.learned(task)
    count = source.config(task).validation // len(run.hops)
    curves = [run.accuracy(hops) for hops in run.hops]
    bounds = [[wilson_interval(round(share * count), count) for share in curve] for curve in curves]
    steps = [_first(run, curve) for curve in curves]
    early = [_first(run, [high for _, high in ends]) for ends in bounds]
    late = [_first(run, [low for low, _ in ends]) for ends in bounds]
    interval = max(early) / max(min(late), 1), max(late) / max(min(early), 1)
    return [int(step) for step in steps], Finding(False, max(steps) / max(min(steps), 1), "", interval, count)


def _first(run: Dynamics, curve: Sequence[float]) -> float:
    found = (row["step"] for row, share in zip(run.metrics, curve, strict=True) if share >= LEARNED)
    return next(found, math.inf)


def scores_start_high(source: Source) -> Finding:
    """The lowest of both scores and the entropy's share of its maximum, over all heads before training."""
    lowest = []
    for task in TASKS:
        history = source.dynamics(task).history
        if history.steps[0] != 0:
            raise NotTested(f"the scores of the {task} model begin at step {history.steps[0]}, not before training.")
        lowest.append([float(part[0].min()) for part in (history.positional, history.symbolic, history.entropy_share)])
    positional, symbolic, entropy = np.min(lowest, 0).tolist()
    value = min(positional, symbolic, entropy)
    why = f"At step 0 no head is below {positional:.3f} positional, {symbolic:.3f} symbolic, {entropy:.3f} entropy."
    return Finding(value >= HIGH, value, why, None, source.dynamics("number").history.settings.inputs)


def exclusion(source: Source) -> Finding:
    """The smallest sum of both scores of one head at one checkpoint."""
    sums = [(source.dynamics(t).history.positional + source.dynamics(t).history.symbolic) for t in TASKS]
    value = min(float(np.nanmin(part)) for part in sums)
    cases = sum(part.size for part in sums)
    why = f"The smallest sum over {cases:,} heads and checkpoints of both runs."
    return Finding(value >= 1 - 1e-6, value, why, None, source.dynamics("number").history.settings.inputs)


def high_means_uniform(source: Source) -> Finding:
    """The lowest entropy share where both scores are high."""
    found = []
    for task in TASKS:
        history = source.dynamics(task).history
        both = (history.positional >= HIGH) & (history.symbolic >= HIGH)
        found += [(float(history.entropy_share[tuple(at)]), task, *at) for at in np.argwhere(both).tolist()]
    if not found:
        raise NotTested("no head has both scores high at any checkpoint.")
    value, task, at, layer, _ = min(found)
    step = int(source.dynamics(task).history.steps[at])
    why = f"The lowest of {len(found):,} such heads and checkpoints: {task} model, layer {layer}, step {step}."
    return Finding(value >= HIGH, value, why, None, source.dynamics(task).history.settings.inputs)


CLAIMS = (
    Claim(
        "both-tasks-learned",
        "Both tasks are learned",
        "A 12-layer GPT-J with one head per layer learns both tasks, every hop class of them.",
        "Section 3.1, Figure 2A",
        "Accuracy of the worst hop class of both models on the test split (the validation split if that is all).",
        f"at least {SOLVED}: Figure 2A ends at maximal accuracy, and the text gives no number",
        both_learned,
    ),
    Claim(
        "number-hops-in-order",
        "Number task: one hop is learned first, then two, three and four",
        "On the number task accuracy emerges progressively, from one hop to four.",
        "Section 3.3, Figure 2A",
        "Steps at which each hop class first reaches 0.9 on validation data; the value is the last over the first.",
        f"in the order of hops, and the last at more than {TOGETHER} times the step of the first (else: at once)",
        number_in_order,
    ),
    Claim(
        "letter-hops-together",
        "Letter task: all hop classes are learned nearly at once",
        "The letter task has no hop-wise gradient: the hop classes are acquired nearly simultaneously.",
        "Section 3.3, Figure 2A",
        "Steps at which each hop class first reaches 0.9 on validation data; the value is the last over the first.",
        f"the last at no more than {TOGETHER} times the step of the first",
        letter_together,
    ),
    Claim(
        "scores-start-high",
        "Both scores start high, with high entropy",
        "Before training every head has a high positional and a high symbolic score, because its attention is uniform.",
        "Section 3.1, Figure 2B",
        "Lowest of both scores and of entropy / maximum, over all heads of both models at step 0.",
        f"at least {HIGH}: high is what purity calls high (gamma 0.1)",
        scores_start_high,
        "near 1 in Figure 2B",
    ),
    Claim(
        "exclusion-principle",
        "Exclusion principle: no head is low on both scores",
        "A head cannot be neither positional nor symbolic; the two scores of a head sum to 1 at least.",
        "Section 3.1 (after the earlier paper on the scores)",
        "Smallest sum of both scores over all heads and checkpoints of both runs.",
        "at least 1",
        exclusion,
    ),
    Claim(
        "both-high-means-uniform",
        "Both scores high means uniform attention",
        "By the exclusion principle two high scores are indicative of a uniform distribution of attention.",
        "Section 3.1",
        f"Lowest entropy / maximum among heads and checkpoints where both scores are at least {HIGH}.",
        f"at least {HIGH}",
        high_means_uniform,
    ),
)  # fmt: skip
