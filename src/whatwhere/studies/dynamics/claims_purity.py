"""Pure heads: when they emerge, which kinds a task needs (abstract, Sections 3.1 and 3.3, Figures 2B and 2C).

The paper says that heads "must be pure in order for test accuracy to converge to its maximal value". That can be read
of all heads, or of those that the model needs: whose ablation costs accuracy. Both are judged. Where no single head is
needed, the fewest heads that suffice take their place. A third reading counts purity within a window: a head that
counts positions among tokens of one kind only is half symbolic over all swaps, because its attention follows that kind
across windows (docs/scores.md).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from whatwhere.heads.purity import GAMMAS, KINDS, label_of
from whatwhere.studies.claim import Claim, Finding, listed
from whatwhere.studies.dynamics.history import ScoreHistory, Training
from whatwhere.studies.dynamics.learned_runs import (
    GAMMA,
    Heads,
    Kinds,
    Which,
    all_heads,
    chosen_heads,
    final_kinds,
    learned,
    over_band,
    require_start,
)
from whatwhere.studies.dynamics.learning import crossings
from whatwhere.studies.dynamics.summary import head_name
from whatwhere.studies.evidence import Evidence, NotTested
from whatwhere.studies.mechanism.tables import Head, Window

RISES = 2
"""A staircase has at least two steps."""
_OF: dict[Which, str] = {
    "all": "all heads",
    "needed": "the heads whose ablation alone costs accuracy",
    "sufficient": "the fewest heads that suffice",
}


def pure_at_maximum(evidence: Evidence, model: str, which: Which) -> Finding:
    """The share of heads that are pure, of either kind, at the moment of maximal accuracy."""
    run, heads = chosen_heads(evidence, model, which)
    require_start(run, model)

    def pure_at(history: ScoreHistory, at: int) -> Heads:
        found = history.purity(GAMMA)
        return [head for head in heads if (found.positional | found.symbolic)[at][head]]

    steps = run.scores.steps
    at = int(np.searchsorted(steps, run.best, side="right")) - 1  # the checkpoint at or before t*
    then, now = pure_at(run.scores, at), pure_at(run.scores, -1)
    impure = [head for head in heads if head not in then]
    pairs = [(run.scores.positional[at][head], run.scores.symbolic[at][head]) for head in impure[:4]]
    scores = ", ".join(f"layer {_name(run, head)} {a:.2f}/{b:.2f}" for head, (a, b) in zip(impure, pairs, strict=False))
    more = f" and {len(impure) - 4} more" if len(impure) > 4 else ""
    why = (
        f"At step {steps[at]} {len(then)} of {len(heads)} are pure, at the end {len(now)}."
        + f" Not pure then: {scores}{more} (positional/symbolic)." * bool(impure)
        + over_band(run, lambda history: len(pure_at(history, at)))
    )
    return share_of_heads(len(then), len(heads), why, run)


def kinds_present(evidence: Evidence, model: str, which: Which) -> Finding:
    """How many kinds of pure heads a model ends with, among all of its heads or among those that it needs."""
    run, heads = chosen_heads(evidence, model, which)
    kinds = final_kinds(run, heads)
    return _both_kinds(kinds, f"Of {_OF[which]}, {_told(kinds)} by the end of training.", run)


def kinds_within_window(evidence: Evidence) -> Finding:
    """The same of the number model, where a head counts that is pure within the window it looks at most."""
    run = learned(evidence, "number")
    labels = {head: label_of(row.positional, row.symbolic, GAMMA) for head, row in main_windows(evidence).items()}
    kinds: Kinds = {kind: [head for head, label in labels.items() if label == kind] for kind in KINDS}
    return _both_kinds(kinds, f"Within the window it looks at most, {_told(kinds)} by the end of training.", run)


def _both_kinds(kinds: Kinds, why: str, run: Training) -> Finding:
    present = sum(bool(heads) for heads in kinds.values())
    return Finding(present == len(KINDS), float(present), why, None, run.settings.inputs)


def letter_symbolic_only(evidence: Evidence, which: Which) -> Finding:
    """The share of needed heads of the letter model that are purely symbolic; no head may be purely positional."""
    run, heads = chosen_heads(evidence, "letter", which)
    kinds, positional = final_kinds(run, heads), final_kinds(run, all_heads(run))["positional"]
    why = (
        f"Of {_OF[which]}, {_told(kinds)} by the end of training; of all heads {len(positional)} are purely positional."
    )
    found = share_of_heads(len(kinds["symbolic"]), len(heads), why, run)
    return replace(found, holds=found.holds and not positional)


def needed_pure_within_window(evidence: Evidence) -> Finding:
    """The share of needed heads of the number model that are pure within the window they look at most."""
    run, heads = chosen_heads(evidence, "number", "needed")
    windows = main_windows(evidence)
    rows = [windows[head] for head in heads]
    pure = [row for row in rows if label_of(row.positional, row.symbolic, GAMMA) in KINDS]
    told = ", ".join(
        f"layer {_name(run, (row.layer, row.head))} {row.positional:.2f}/{row.symbolic:.2f} in the {row.window} window"
        for row in rows
    )
    return share_of_heads(len(pure), len(heads), f"At the end of training: {told}.", run)


def positional_staircase(evidence: Evidence) -> Finding:
    """At how many separate checkpoints positional heads of the number model become pure for good."""
    run = learned(evidence, "number")
    require_start(run, "number")
    joined = run.scores.purity(GAMMA).joined("positional")
    rises = len({step for step, _, _ in joined})
    told = ", ".join(f"layer {layer} at step {step}" for step, layer, _ in joined) or "no head ever is, over all swaps"
    band = over_band(run, lambda history: len({step for step, _, _ in history.purity(GAMMA).joined("positional")}))
    why = f"Purely positional for good: {told}.{band}"
    return Finding(rises >= RISES, float(rises), why, None, run.settings.inputs)


def symbolic_early(evidence: Evidence) -> Finding:
    """When the first symbolic head is pure for good, as a multiple of when the last hop class is learned."""
    run = learned(evidence, "number")
    require_start(run, "number")
    joined = run.scores.purity(GAMMA).joined("symbolic")
    if not joined:
        return Finding(False, float("inf"), "No head of the number model becomes purely symbolic for good.")
    last = max(crossings(run).values())
    step, layer, _ = joined[0]
    why = f"Layer {layer} is symbolic for good from step {step}; the last hop class reaches 0.9 at step {last:,.0f}."
    value = step / max(last, 1.0)
    return Finding(value <= 1, value, why, None, run.settings.inputs)


def same_at_smaller_gamma(evidence: Evidence) -> Finding:
    """Of the heads that end pure at the larger tolerance, the share that does at the smaller one."""
    large, small = 0, 0
    for model in ("number", "letter"):
        run = learned(evidence, model)
        ends = [
            {(kind, *place) for kind in KINDS for _, *place in run.scores.purity(gamma).joined(kind)}
            for gamma in GAMMAS
        ]
        large, small = large + len(ends[0]), small + len(ends[0] & ends[1])
    if not large:
        raise NotTested(f"no head of either model ends pure at gamma {GAMMAS[0]}, so there are no curves to compare.")
    why = f"{small} of the {large} heads that end pure at gamma {GAMMAS[0]} do at {GAMMAS[1]}."
    return share_of_heads(small, large, why, run)


def main_windows(evidence: Evidence) -> dict[Head, Window]:
    """Of each head of the number model, its scores within the window that gets most of its attention."""
    rows = sorted(evidence.rows("mechanism", "number", "windows", Window), key=lambda row: row.attention)
    return dict(sorted({(row.layer, row.head): row for row in rows}.items()))  # of a head, the last one stays


def share_of_heads(hits: int, count: int, why: str, run: Training) -> Finding:
    """A share of heads, which must be all of them; heads are no sample, so it has a spread over seeds only."""
    return Finding(hits == count, hits / count, why, None, run.settings.inputs)


def _name(run: Training, head: Head) -> str:
    return head_name(*head, run.scores.shape[1])


def _told(kinds: Kinds) -> str:
    parts = [
        f"{len(heads)} {'is' if len(heads) == 1 else 'are'} purely {kind}"
        + f" (layer {listed([layer for layer, _ in heads])})" * bool(heads)
        for kind, heads in kinds.items()
    ]
    return " and ".join(parts)


_AT = "gamma 0.1, last query, tau 1e-4"
_EVERY = "every one of them"
_END = f"at the end of training ({_AT})"
_WHERE = "Abstract, Sections 3.1 and 3.3"
_OURS = "not in the paper; see docs/scores.md"
_ALONE = "whose mean-ablation alone loses more than 0.05 of a hop class"
_FEWEST = "of the fewest heads that keep 0.95 of a hop class while all others are ablated"


def _purity_claim(model: str, which: Which) -> Claim:
    of = "all heads are" if which == "all" else "every needed head is"
    return Claim(
        f"pure-at-maximum-{model}-{which}", f"{model.capitalize()} task: {of} pure when accuracy is maximal",
        "Heads must be pure, positional or symbolic, for test accuracy to converge to its maximum: when it has, "
        + ("all heads are." if which == "all" else "those are that the model needs."),
        "Section 3.1, Figures 2B and 2C",
        f"Share of {'all heads' if which == 'all' else f'heads {_ALONE}'} that are pure at the step of maximal "
        f"accuracy ({_AT}).",
        _EVERY, partial(pure_at_maximum, model=model, which=which),
    )  # fmt: skip


PURITY_CLAIMS = (
    *(_purity_claim(model, which) for which in ("all", "needed") for model in ("number", "letter")),
    Claim(
        "pure-number-needed-within-window", "Number task, within a window: every needed head is pure",
        "Our reading: a needed head is pure among the tokens of the window that it looks at most.",
        _OURS,
        f"Share of needed heads that are pure {_END}, with swaps inside that window alone.",
        _EVERY, needed_pure_within_window,
    ),
    Claim(
        "positional-purity-steps", "Number task: positional purity rises in steps",
        "The count of purely positional heads rises step by step, as hop classes are learned.",
        "Section 3.3, Figure 2C",
        f"Separate checkpoints at which heads of the number model become purely positional for good ({_AT}).",
        f"at least {RISES}, without which there is no staircase", positional_staircase,
    ),
    Claim(
        "symbolic-purity-early", "Number task: symbolic heads are there early enough",
        "Symbolic propagation is available early enough to support the later positional computations.",
        "Section 3.3, Figure 2C",
        "Step from which the first head is purely symbolic for good, over the step at which the last hop class "
        f"reaches 0.9 ({_AT}).",
        "at most 1", symbolic_early,
    ),
    Claim(
        "purity-same-at-smaller-gamma", "Purity looks the same at a smaller tolerance",
        "At gamma 0.05 the purity curves keep their shape, aside from a small shift in time.",
        "Appendix, learning dynamics in all layers",
        "Of the heads of both models that end pure at gamma 0.1, the share that ends pure at 0.05 (last query, tau "
        "1e-4).",
        _EVERY, same_at_smaller_gamma,
    ),
    Claim(
        "number-needs-both-kinds", "The number task needs positional and symbolic heads",
        "The number task requires both positional and symbolic heads.",
        _WHERE,
        f"Kinds of pure heads among those {_ALONE}, {_END}.",
        "2 kinds", partial(kinds_present, model="number", which="needed"),
    ),
    Claim(
        "number-suffices-with-both-kinds", "The fewest heads that do the number task are positional and symbolic",
        "Our reading, where no single head is needed: the heads that suffice are of both kinds.",
        _OURS,
        f"Kinds of pure heads {_FEWEST}, {_END}.",
        "2 kinds", partial(kinds_present, model="number", which="sufficient"),
    ),
    Claim(
        "number-has-both-kinds", "The number model ends with positional and symbolic heads",
        "A weaker reading: both kinds of pure heads are there, whether or not the model needs them.",
        "Sections 3.1 and 3.3, Figure 2C",
        f"Kinds of pure heads {_END}, with swaps over the whole input.",
        "2 kinds", partial(kinds_present, model="number", which="all"),
    ),
    Claim(
        "number-has-both-kinds-within-window", "Within a window, the number model has positional and symbolic heads",
        "Our reading: both kinds are there, among the tokens of the window that each head looks at most.",
        _OURS,
        f"Kinds of pure heads {_END}, with swaps inside that window alone.",
        "2 kinds", kinds_within_window,
    ),
    Claim(
        "letter-needs-only-symbolic", "The letter task needs symbolic heads only",
        "The letter task requires only symbolic heads.",
        _WHERE,
        f"Share of purely symbolic heads among those {_ALONE}, {_END}.",
        "every one of them, and no purely positional head anywhere", partial(letter_symbolic_only, which="needed"),
    ),
    Claim(
        "letter-suffices-with-symbolic", "The fewest heads that do the letter task are symbolic",
        "Our reading, where no single head is needed: the heads that suffice are symbolic.",
        _OURS,
        f"Share of purely symbolic heads {_FEWEST}, {_END}.",
        "every one of them, and no purely positional head anywhere", partial(letter_symbolic_only, which="sufficient"),
    ),
)  # fmt: skip
