"""Pure heads: when they emerge, which kinds a task needs (abstract, Sections 3.1 and 3.3, Figures 2B and 2C).

The paper says that heads "must be pure in order for test accuracy to converge to its maximal value". This may mean all
heads, or those that the model needs (whose ablation costs accuracy). Both are judged. If no single head is needed, the
fewest heads that suffice are used instead. A third reading uses purity within a window: a head that counts positions
among tokens of one kind only is half symbolic over all swaps, because its attention follows that kind across windows
(docs/scores.md).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from whatwhere.heads.purity import GAMMAS, KINDS, label_of
from whatwhere.heads.summary import WindowScores
from whatwhere.studies.claim import Finding, listed
from whatwhere.studies.dynamics import learned_runs
from whatwhere.studies.dynamics.association import (
    heads_with_hops,
    pure_when_learned,
    purity_with_accuracy,
    seen_learned,
)
from whatwhere.studies.dynamics.history import ScoreHistory, Training
from whatwhere.studies.dynamics.learned_runs import (
    Heads,
    Kinds,
    Which,
    chosen_heads,
    final_kinds,
    learned,
    over_band,
    over_band_and_readings,
    over_readings,
)
from whatwhere.studies.dynamics.learning import crossings
from whatwhere.studies.dynamics.summary import head_name
from whatwhere.studies.evidence import Evidence, NotTested
from whatwhere.studies.mechanism.claims import (
    Lost,
    confirmed_text,
    late_half,
    over_gammas,
    symbolic_alone,
    without_kind,
)
from whatwhere.studies.mechanism.tables import Head
from whatwhere.trace.layer import counted

_OF: dict[Which, str] = {
    "all": "all heads",
    "needed": "the heads whose ablation alone costs accuracy",
    "sufficient": "the fewest heads that suffice",
}


def pure_at_maximum(evidence: Evidence, model: str, which: Which) -> Finding:
    """The share of heads that are pure, of either kind, at the moment of maximal accuracy."""
    run, heads = chosen_heads(evidence, model, which)
    learned_runs.require_start(run, model)

    def pure_at(history: ScoreHistory, at: int) -> Heads:
        found = history.purity()
        return [head for head in heads if (found.positional | found.symbolic)[at][head]]

    def before_best(history: ScoreHistory) -> int:
        return int(np.searchsorted(history.steps, run.best, side="right")) - 1  # the checkpoint at or before t*

    def pure_share(history: ScoreHistory) -> float:
        return len(pure_at(history, before_best(history))) / len(heads)

    steps, at = run.scores.steps, before_best(run.scores)
    then, now = pure_at(run.scores, at), pure_at(run.scores, -1)
    impure = [head for head in heads if head not in then]
    positional, symbolic = run.scores.positional[at], run.scores.symbolic[at]
    scores = ", ".join(f"layer {_name(run, h)} {positional[h]:.2f}/{symbolic[h]:.2f}" for h in impure[:4])
    more = f" and {len(impure) - 4} more" if len(impure) > 4 else ""
    why = (
        f"At step {steps[at]} {len(then)} of {len(heads)} are pure, at the end {len(now)}."
        + f" Not pure then: {scores}{more} (positional/symbolic)." * bool(impure)
    )
    others = over_band(run, pure_share) | over_readings(run, pure_share, lambda h: pure_share(h.at_the_earliest()))
    return _finding(run, len(then) / len(heads), why, elsewhere=others)


def kinds_present(evidence: Evidence, model: str, which: Which) -> Finding:
    """How many kinds of pure heads a model ends with, among all of its heads or among those that it needs."""
    run, heads = chosen_heads(evidence, model, which)
    kinds = final_kinds(run.scores, heads)
    others = over_band_and_readings(run, lambda history: _present(final_kinds(history, heads)))
    why = f"Of {_OF[which]}, {_kinds_text(kinds)} by the end of training."
    why += confirmed_text(evidence, model) if which == "sufficient" else ""
    return _finding(run, _present(kinds), why, elsewhere=others)


def kinds_within_window(evidence: Evidence) -> Finding:
    """The same of the number model, where a head counts that is pure within the window it looks at most."""
    run, rows = learned(evidence, "number"), main_windows(evidence)
    kinds: Kinds = {kind: [head for head, row in rows.items() if _label(row) == kind] for kind in KINDS}
    why = f"Within the window it looks at most, {_kinds_text(kinds)} by the end of training."
    return _finding(run, _present(kinds), why)


def kinds_needed(evidence: Evidence, model: str) -> Finding:
    """How many kinds of pure heads a model needs: without all heads of the kind a hop class is lost."""

    def needed(lost: Lost) -> float:
        return float(sum(kind in lost and lost[kind].needed for kind in KINDS))

    run, lost = learned(evidence, model), without_kind(evidence, model)
    return _finding(run, needed(lost), _losses_text(lost), elsewhere=over_gammas(evidence, model, needed))


def only_symbolic_needed(evidence: Evidence, model: str) -> Finding:
    """The worst hop class with symbolic heads alone; without these a hop class must be lost."""
    learned(evidence, model)
    lost, alone = without_kind(evidence, model), symbolic_alone(evidence, model)
    if "symbolic" not in lost:
        raise NotTested(f"no head of the {model} model ends purely symbolic.")
    why = f"With symbolic heads alone {alone.value:.2f} of the worst hop class is left. {_losses_text(lost)}"
    return Finding(alone.value, why, alone.interval, alone.n, rest_holds=lost["symbolic"].needed)


def last_layer_needed(evidence: Evidence, model: str) -> Finding:
    """The share of hop classes that are lost if the heads of the later half of the layers are ablated together."""
    run, rows = learned(evidence, model), late_half(evidence, model)
    text = ", ".join(f"{row.loss:.2f} ({counted(row.hops, 'hop')})" for row in rows)
    return _finding(
        run, np.mean([row.needed for row in rows]), f"Without {rows[0].group} together hop classes lose {text}."
    )


def letter_symbolic_only(evidence: Evidence) -> Finding:
    """The share of the fewest heads that do the letter task that is symbolic; no head may be purely positional."""
    run, heads = chosen_heads(evidence, "letter", "sufficient")
    every = learned_runs.all_heads(run)
    kinds, positional = final_kinds(run.scores, heads), final_kinds(run.scores, every)["positional"]
    why = (
        f"Of {_OF['sufficient']}, {_kinds_text(kinds)} by the end of training; of all heads {len(positional)} are "
        "purely positional."
    )
    why += confirmed_text(evidence, "letter")
    others = over_band_and_readings(run, lambda history: len(final_kinds(history, heads)["symbolic"]) / len(heads))
    return _finding(run, len(kinds["symbolic"]) / len(heads), why, rest_holds=not positional, elsewhere=others)


def needed_pure_within_window(evidence: Evidence) -> Finding:
    """The share of needed heads of the number model that are pure within the window they look at most."""
    run, heads = chosen_heads(evidence, "number", "needed")
    windows = main_windows(evidence)
    rows = [windows[head] for head in heads]
    text = ", ".join(
        f"layer {_name(run, (row.layer, row.head))} {row.positional:.2f}/{row.symbolic:.2f} in the {row.window} window"
        for row in rows
    )
    return _finding(run, sum(_label(row) in KINDS for row in rows) / len(heads), f"At the end of training: {text}.")


def positional_staircase(evidence: Evidence) -> Finding:
    """At how many separate checkpoints positional heads of the number model become pure for good."""
    run = learned(evidence, "number", from_start=True)

    def rises(history: ScoreHistory) -> int:
        return len({step for step, _, _ in history.purity().joined("positional")})

    def heads(history: ScoreHistory) -> int:  # each may have joined at a time of its own
        return len(history.purity().joined("positional"))

    joined = run.scores.purity().joined("positional")
    text = ", ".join(f"layer {layer} at step {step}" for step, layer, _ in joined) or "no head ever is, over all swaps"
    others = over_band(run, rises) | over_readings(run, rises, heads)
    return _finding(run, rises(run.scores), f"Purely positional for good: {text}.", elsewhere=others)


def symbolic_early(evidence: Evidence) -> Finding:
    """When the first symbolic head is pure for good, as a multiple of when the last hop class is learned."""
    run = learned(evidence, "number", from_start=True)
    joined = run.scores.purity().joined("symbolic")
    if not joined:
        return Finding(float("inf"), "No head of the number model becomes purely symbolic for good.")
    last = max(crossings(run).values())
    step, layer, _ = joined[0]
    why = f"Layer {layer} is symbolic for good from step {step}; the last hop class reaches 0.9 at step {last:,.0f}"

    def early(history: ScoreHistory) -> float:
        return min((step for step, _, _ in history.purity().joined("symbolic")), default=math.inf) / max(last, 1.0)

    others: dict[str, Any] = over_readings(run, early, lambda history: early(history.at_the_earliest()))
    positional = run.scores.purity().joined("positional")
    if not positional:
        return _finding(run, early(run.scores), f"{why}.", elsewhere=others)
    earliest = positional[0][0]
    why += f", and the first head is positional for good from step {earliest:,} on."
    others["reading"] = {"before the first positional head": step / max(earliest, 1.0)}
    return _finding(run, early(run.scores), why, elsewhere=others)


def shift_at_smaller_gamma(evidence: Evidence) -> Finding:
    """How much later heads are pure for good at the smaller tolerance, as a share of the training; mean over heads."""
    shifts, never = [], 0
    for model in ("number", "letter"):
        run = learned(evidence, model)
        large, small = (
            {(kind, *place): step for kind in KINDS for step, *place in run.scores.purity(gamma).joined(kind)}
            for gamma in GAMMAS
        )
        never += len(set(large) - set(small))
        shifts += [(small.get(head, run.last) - step) / max(run.last, 1) for head, step in large.items()]
    if not shifts:
        raise NotTested(f"no head of either model ends pure at gamma {GAMMAS[0]}, so there are no curves to compare.")
    why = f"Of {len(shifts)} heads that end pure at gamma {GAMMAS[0]}, {never} never are at {GAMMAS[1]}."
    return _finding(run, np.mean(shifts), why)


def last_to_be_symbolic(evidence: Evidence) -> Finding:
    """How many heads of the letter model become purely symbolic after that of the last layer."""
    run = learned(evidence, "letter", from_start=True)
    last = run.scores.shape[0] - 1

    def later(history: ScoreHistory) -> float:
        joined = {layer: step for step, layer, _ in history.purity().joined("symbolic")}
        return float(sum(step > joined[last] for step in joined.values())) if last in joined else math.inf

    def not_before(history: ScoreHistory) -> float:
        joined = {layer: step for step, layer, _ in history.purity().joined("symbolic")}
        return sum(step >= joined[last] for step in joined.values()) - 1.0 if last in joined else math.inf

    joined = run.scores.purity().joined("symbolic")
    text = ", ".join(f"{layer} at step {step:,}" for step, layer, _ in joined[-4:]) or "no head"
    why = f"The last to be purely symbolic for good: layer {text}."
    why += f" Layer {last} never is." * math.isinf(later(run.scores))
    others = over_band(run, later) | over_readings(run, later, not_before)
    return _finding(run, later(run.scores), why, elsewhere=others)


def last_layer_before_hops(evidence: Evidence) -> Finding:
    """How many hop classes of the letter model are learned before the head of the last layer is purely symbolic."""
    run = learned(evidence, "letter", from_start=True)
    last = run.scores.shape[0] - 1

    def earlier(history: ScoreHistory) -> float:
        joined = {layer: step for step, layer, _ in history.purity().joined("symbolic")}
        return float(sum(seen < joined.get(last, math.inf) for seen in seen_learned(run).values()))

    joined = {layer: step for step, layer, _ in run.scores.purity().joined("symbolic")}
    when = (
        f"is purely symbolic for good from step {joined[last]:,} on" if last in joined else "never is purely symbolic"
    )
    why = f"Layer {last} {when}; the last hop class reaches 0.9 at step {max(crossings(run).values()):,.0f}."
    others = over_band(run, earlier) | over_readings(run, earlier, lambda history: earlier(history.at_the_earliest()))
    return _finding(run, earlier(run.scores), why, elsewhere=others)


def purity_follows_accuracy(evidence: Evidence) -> Finding:
    """Pure heads with accuracy over checkpoints: the share of far shifts in time that correlate as well."""
    runs = {model: learned(evidence, model) for model in ("number", "letter")}
    found = {model: purity_with_accuracy(run) for model, run in runs.items()}
    text = ", ".join(f"{model} {one}" for model, one in found.items())
    if any(math.isnan(one.by_shift) for one in found.values()):
        raise NotTested("too few checkpoints differ to rank them.")
    why = f"Spearman's rank correlation: {text}."
    return _finding(runs["letter"], max(one.by_shift for one in found.values()), why)


def positional_with_hops(evidence: Evidence) -> Finding:
    """Positional heads with learned hop classes: the share of far shifts in time that correlate as well."""
    run = learned(evidence, "number")
    found = heads_with_hops(run, "positional")
    if math.isnan(found.by_shift):
        raise NotTested("no head of the number model becomes purely positional, or no hop class is learned on the way.")
    why = f"Spearman's rank correlation: {found}."
    return _finding(run, found.by_shift, why)


def positional_before_hops(evidence: Evidence) -> Finding:
    """The share of hop classes that are learned once there is a purely positional head."""
    run = learned(evidence, "number", from_start=True)

    def ready(history: ScoreHistory) -> float:
        return float(np.mean([heads > 0 for heads in pure_when_learned(run, history, "positional").values()]))

    counts, steps = pure_when_learned(run, run.scores, "positional"), crossings(run)
    text = ", ".join(f"{heads} by step {steps[hop]:,.0f} ({counted(hop, 'hop')})" for hop, heads in counts.items())
    others = over_band(run, ready) | over_readings(run, ready, lambda history: ready(history.at_the_earliest()))
    return _finding(run, ready(run.scores), f"Purely positional for good: {text}.", elsewhere=others)


def main_windows(evidence: Evidence) -> dict[Head, WindowScores]:
    """Of each head of the number model, its scores within the window that gets most of its attention."""
    rows = sorted(evidence.rows("mechanism", "number", "windows", WindowScores), key=lambda row: row.attention)
    return dict(sorted({(row.layer, row.head): row for row in rows}.items()))  # of a head, the last one stays


def _finding(run: Training, value: Any, why: str, **more: Any) -> Finding:
    """A finding about heads or steps. Heads are not a sample, so it has no interval; seeds show its spread."""
    return Finding(float(value), why, None, run.settings.inputs, **more)


def _label(row: WindowScores) -> str:
    return label_of(row.positional, row.symbolic)


def _present(kinds: Kinds) -> int:
    return sum(map(bool, kinds.values()))


def _name(run: Training, head: Head) -> str:
    return head_name(*head, run.scores.shape[1])


def _losses_text(lost: Lost) -> str:
    parts = [
        f"{kind} heads ({row.heads}) {row.loss:.2f} ({counted(row.hops, 'hop')})" for kind, row in sorted(lost.items())
    ]
    return f"All heads of a kind ablated together, the largest loss: {'; '.join(parts)}."


def _kinds_text(kinds: Kinds) -> str:
    parts = [
        f"{len(heads)} {'is' if len(heads) == 1 else 'are'} purely {kind}"
        + f" (layer {listed([layer for layer, _ in heads])})" * bool(heads)
        for kind, heads in kinds.items()
    ]
    return " and ".join(parts)
