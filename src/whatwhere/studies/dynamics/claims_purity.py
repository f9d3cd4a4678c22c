"""Pure heads: when they emerge, which ones a task needs, and of which kind (Sections 3.1 and 3.3, Figures 2B and 2C).

The paper says that heads "must be pure in order for test accuracy to converge to its maximal value". That can be read
of all heads, or of those that the model needs: whose ablation hurts. Both are judged. A third reading counts purity
within a window: a head that counts positions among tokens of one kind only is half symbolic over all swaps, because
its attention follows that kind across windows (docs/scores.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from whatwhere.heads.purity import GAMMAS, KINDS, Kind
from whatwhere.heads.summary import WindowScores, label_of
from whatwhere.studies.claim import Claim, Finding
from whatwhere.studies.dynamics.claims_learning import learned_steps
from whatwhere.studies.source import NotTested, Source

GAMMA, SMALLER = GAMMAS
RISES = 2
"""A staircase has at least two steps."""
Heads = Sequence[tuple[int, int]]
Which = Literal["all", "needed"]


def pure_at_maximum(task: str, which: Which) -> Callable[[Source], Finding]:
    """The share of heads that are pure, of either kind, at the moment of maximal accuracy."""

    def measure(source: Source) -> Finding:
        run = source.learned(task)
        heads = all_heads(source, task) if which == "all" else needed(source, task)
        found = run.purity(GAMMA)
        pure = found.positional | found.symbolic
        at = int(np.searchsorted(found.steps, run.best, side="right")) - 1  # the checkpoint at or before t*
        then, now = [[head for head in heads if pure[when][head]] for when in (at, -1)]
        impure = [head for head in heads if head not in then]
        scores = ", ".join(f"layer {name(head, run.heads)} {_pair(source, task, at, head)}" for head in impure[:4])
        more = f" and {len(impure) - 4} more" if len(impure) > 4 else ""
        why = (
            f"At step {found.steps[at]} {len(then)} of {len(heads)} are pure, at the end {len(now)}."
            + f" Not pure then: {scores}{more} (positional/symbolic)." * bool(impure)
        )
        return share_of_heads(len(then), len(heads), why, run.history.settings.inputs)

    return measure


def _pair(source: Source, task: str, at: int, head: tuple[int, int]) -> str:
    history = source.dynamics(task).history
    return f"{history.positional[at][head]:.2f}/{history.symbolic[at][head]:.2f}"


def needed_pure_within_window(source: Source) -> Finding:
    """The share of needed heads of the number model that are pure within the window they look at most."""
    run, heads = source.learned("number"), needed(source, "number")
    windows = main_windows(source, "number")
    labels = {head: label_of(windows[head].positional, windows[head].symbolic, GAMMA) for head in heads}
    pure = [head for head in heads if labels[head] in KINDS]
    told = ", ".join(
        f"layer {name(head, run.heads)} {windows[head].positional:.2f}/{windows[head].symbolic:.2f} in the "
        f"{windows[head].window} window"
        for head in heads
    )
    return share_of_heads(len(pure), len(heads), f"At the end of training: {told}.", run.history.settings.inputs)


def positional_staircase(source: Source) -> Finding:
    """At how many separate checkpoints positional heads of the number model become pure for good."""
    found = source.learned("number").purity(GAMMA)
    joined = found.joined("positional")
    steps = sorted({step for step, _, _ in joined})
    told = ", ".join(f"layer {layer} at step {step}" for step, layer, _ in joined) or "no head ever is, over all swaps"
    why = f"Purely positional for good: {told}."
    return Finding(len(steps) >= RISES, float(len(steps)), why, None, source.dynamics("number").history.settings.inputs)


def symbolic_early(source: Source) -> Finding:
    """When the first symbolic head is pure for good, as a multiple of when the last hop class is solved."""
    joined = source.learned("number").purity(GAMMA).joined("symbolic")
    if not joined:
        return Finding(False, float("inf"), "No head of the number model becomes purely symbolic for good.")
    steps, _ = learned_steps(source, "number")
    step, layer, _ = joined[0]
    why = f"Layer {layer} is symbolic for good from step {step}; the last hop class reaches 0.9 at step {max(steps)}."
    value = step / max(max(steps), 1)
    return Finding(value <= 1, value, why, None, source.dynamics("number").history.settings.inputs)


def same_at_smaller_gamma(source: Source) -> Finding:
    """Of the heads that end pure at the larger tolerance, the share that does at the smaller one."""
    large, small = 0, 0
    for task in ("number", "letter"):
        ends = [_pure_in_the_end(source, task, gamma) for gamma in (GAMMA, SMALLER)]
        large, small = large + len(ends[0]), small + len(ends[0] & ends[1])
    if not large:
        raise NotTested(f"no head of either model ends pure at gamma {GAMMA}, so there are no curves to compare.")
    why = f"{small} of the {large} heads that end pure at gamma {GAMMA} do at {SMALLER}."
    return share_of_heads(small, large, why, source.dynamics("letter").history.settings.inputs)


def _pure_in_the_end(source: Source, task: str, gamma: float) -> set[tuple[Kind, int, int]]:
    found = source.learned(task).purity(gamma)
    return {(kind, layer, head) for kind in KINDS for _, layer, head in found.joined(kind)}


def all_heads(source: Source, task: str) -> Heads:
    """Every head of a model."""
    run = source.learned(task)
    return [(layer, head) for layer in range(run.layers) for head in range(run.heads)]


def needed(source: Source, task: str) -> Heads:
    """The heads whose ablation hurts; there must be some."""
    source.learned(task)
    heads = source.needed_heads(task)
    if not heads:
        raise NotTested(f"no single head of the {task} model is needed: no ablation hurts.")
    return heads


def main_windows(source: Source, task: str) -> dict[tuple[int, int], WindowScores]:
    """Of each head, its scores within the window that gets most of its attention."""
    rows = sorted(source.table(task, "mechanism", "windows", WindowScores), key=lambda row: row.attention)
    most = {(row.layer, row.head): row for row in rows}  # the last one stays
    return {head: most[head] for head in sorted(most)}


def name(head: tuple[int, int], heads: int) -> str:
    """``3``, or ``3.1`` where a layer has several heads."""
    return f"{head[0]}.{head[1]}" if heads > 1 else str(head[0])


def share_of_heads(hits: int, count: int, why: str, inputs: int) -> Finding:
    """A share of heads, which must be all of them; heads are no sample, so it has a spread over seeds only."""
    return Finding(hits == count, hits / count, why, None, inputs)


_ALL = "Share of heads that are pure (gamma 0.1) at the step of maximal accuracy, with swaps over the whole input."
_NEEDED = "The same, of the heads whose mean-ablation lowers the accuracy of some hop class (95 % intervals apart)."
_EVERY = "every one of them"
_WHERE = "Section 3.1, Figures 2B and 2C"


def _purity_claim(task: str, which: Which) -> Claim:
    of = "all heads are" if which == "all" else "every needed head is"
    return Claim(
        f"pure-at-maximum-{task}-{which}",
        f"{task.capitalize()} task: {of} pure when accuracy is maximal",
        "Heads must be pure, positional or symbolic, for test accuracy to converge to its maximum: when it has, "
        + ("all heads are." if which == "all" else "those are that the model needs."),
        _WHERE,
        _ALL if which == "all" else f"{_ALL} {_NEEDED}",
        _EVERY,
        pure_at_maximum(task, which),
    )


CLAIMS = (
    *(_purity_claim(task, which) for which in ("all", "needed") for task in ("number", "letter")),
    Claim(
        "pure-number-needed-within-window",
        "Number task, within a window: every needed head is pure",
        "Our reading: a needed head is pure among the tokens of the window that it looks at most.",
        "not in the paper; see docs/scores.md",
        "Share of needed heads that are pure (gamma 0.1) at the end of training, with swaps inside that window alone.",
        _EVERY,
        needed_pure_within_window,
    ),
    Claim(
        "positional-purity-steps",
        "Number task: positional purity rises in steps",
        "The count of purely positional heads rises step by step, as hop classes are learned.",
        "Section 3.3, Figure 2C",
        "Separate checkpoints at which heads of the number model become purely positional (gamma 0.1) for good.",
        f"at least {RISES}, without which there is no staircase",
        positional_staircase,
    ),
    Claim(
        "symbolic-purity-early",
        "Number task: symbolic heads are there early enough",
        "Symbolic propagation is available early enough to support the later positional computations.",
        "Section 3.3, Figure 2C",
        "Step from which the first head is purely symbolic for good, over the step at which the last hop class "
        "reaches 0.9.",
        "at most 1",
        symbolic_early,
    ),
    Claim(
        "purity-same-at-smaller-gamma",
        "Purity looks the same at a smaller tolerance",
        "At gamma 0.05 the purity curves keep their shape, aside from a small shift in time.",
        "Appendix, learning dynamics in all layers",
        "Of the heads of both models that end pure at gamma 0.1, the share that ends pure at 0.05.",
        _EVERY,
        same_at_smaller_gamma,
    ),
)  # fmt: skip
