"""What the heads do: Sections 3.2 and 3.3, Figure 3, and the decomposition of both tasks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from whatwhere.heads.estimate import Estimate
from whatwhere.heads.purity import GAMMAS, KINDS
from whatwhere.studies.claim import Finding, listed, read_claims
from whatwhere.studies.evidence import Evidence, NotTested, require_learned
from whatwhere.studies.mechanism.ablation import OTHER_GAMMAS, kind_family
from whatwhere.studies.mechanism.path_tables import DecodedFlow, Keeping, Selectivity
from whatwhere.studies.mechanism.sufficient_sets import KEEP
from whatwhere.studies.mechanism.tables import (
    Ablation,
    ConfirmedSet,
    GroupAblation,
    Head,
    Kind,
    LayersUsed,
    SufficientSet,
    Verdict,
    read_heads,
    write_heads,
)
from whatwhere.studies.terminal import spanned
from whatwhere.studies.theorems.claims import errors_of
from whatwhere.trace.layer import counted

Lost = Mapping[str, GroupAblation]
"""By kind of heads, the hop class that loses most without them."""
Elsewhere = dict[str, dict[str, float | Estimate]]
FUNCTION = {"number": "Index", "letter": "Retrieval"}
REFLEXIVE = "itself"
"""The role of a head that looks at the query itself, as Reflexive does."""
PROBE = "a linear probe"
"""The second decoder, by name; results of earlier versions lack its tables."""
ENOUGH = 20
"""The fewest readings of places that still hold a pointer, for a statement about them."""


def ablations(evidence: Evidence, model: str) -> Sequence[Ablation]:
    """The loss without each head, in a model that has learned its task; raises NotTested for others."""
    rows = evidence.rows("mechanism", model, "ablation", Ablation)
    require_learned(model, [row.before.value for row in rows])
    return rows


def needed_heads(evidence: Evidence, model: str) -> list[Head]:
    """The heads whose ablation alone costs accuracy."""
    return sorted({(row.layer, row.head) for row in ablations(evidence, model) if row.needed})


def working_heads(evidence: Evidence, model: str) -> list[Head]:
    """The fewest heads that suffice, of all hop classes together.

    Not tested if answers do not depend on any head, or if the heads of a class surely do not suffice on new inputs.
    """
    ablations(evidence, model)
    for row in _confirmed(evidence, model):
        if row.alone.high < KEEP * row.whole.value:
            raise NotTested(
                f"the heads {row.heads} of the {model} model, found for {counted(row.hops, 'hop')}, keep "
                f"{row.alone.value:.2f} of the answers to inputs that the search has not seen, and {KEEP} is expected."
            )
    sets = evidence.rows("mechanism", model, "sufficient", SufficientSet)
    heads = {head for row in sets for head in read_heads(row.heads)}
    if not heads:
        raise NotTested(f"the {model} model keeps its accuracy without any head.")
    return sorted(heads)


def confirmed_text(evidence: Evidence, model: str) -> str:
    """A sentence on what the fewest heads keep on inputs that played no part in finding them."""
    rows = _confirmed(evidence, model)
    if not rows:
        return f" The fewest heads of the {model} model were not asked on inputs that the search has not seen."
    worst = min(rows, key=lambda row: row.alone.value / row.whole.value)
    return (
        f" On inputs that the search has not seen the fewest heads of the {model} model keep "
        f"{spanned(worst.alone, between=' to ')} of the worst class, {counted(worst.hops, 'hop')}."
    )


def _confirmed(evidence: Evidence, model: str) -> list[ConfirmedSet]:
    """What sufficient sets keep on new inputs; nothing where results are of an earlier version."""
    return [row for row in evidence.results("mechanism", model).rows("confirmed", ConfirmedSet) if row.alone.n]


def without_kind(evidence: Evidence, model: str, gamma: float = GAMMAS[0]) -> dict[str, GroupAblation]:
    """By kind of heads, the hop class that loses most if all heads of this kind are ablated together."""
    ablations(evidence, model)
    family = kind_family(gamma)
    rows = [row for row in evidence.rows("mechanism", model, "groups", GroupAblation) if row.family == family]
    worst = sorted(rows, key=lambda row: (row.needed, row.loss))
    return {row.group.removeprefix("all "): row for row in worst}  # of a kind, the last one stays


def over_gammas(evidence: Evidence, model: str, number: Callable[[Lost], float | Estimate]) -> Elsewhere:
    """A number about heads of a kind at the other tolerances of purity."""
    lost = {f"{gamma:g}": without_kind(evidence, model, gamma) for gamma in OTHER_GAMMAS}
    others = {gamma: number(rows) for gamma, rows in lost.items() if rows}
    return {"gamma": others} if others else {}


def symbolic_alone(evidence: Evidence, model: str) -> Estimate:
    """The accuracy of the worst hop class if all heads but the purely symbolic ones are ablated."""
    groups = evidence.rows("mechanism", model, "groups", GroupAblation)
    left = [row.after for row in groups if row.group == "all but symbolic"]  # none: all heads are symbolic
    return min(left or [row.before for row in groups], key=lambda share: share.value)


def late_half(evidence: Evidence, model: str) -> list[GroupAblation]:
    """What each hop class loses if the heads of the later half of the layers are ablated together."""
    depth = 1 + max(row.layer for row in ablations(evidence, model))
    group = f"layers {depth // 2}-{depth - 1}"
    return [row for row in evidence.rows("mechanism", model, "groups", GroupAblation) if row.group == group]


def symbolic_propagate(evidence: Evidence, model: str) -> Finding:
    """What is left of the hop class that loses most if all purely symbolic heads are ablated together."""
    row = without_kind(evidence, model).get("symbolic")
    if row is None:
        raise NotTested(f"no head of the {model} model ends purely symbolic.")
    others = over_gammas(evidence, model, lambda lost: lost["symbolic"].after if "symbolic" in lost else row.before)
    why = f"Without heads {row.heads} the worst hop class, {row.hops} hops, goes from {row.before.value:.2f}"
    return Finding(
        row.after.value, f"{why} to {row.after.value:.2f}.", row.after.interval, row.after.n, elsewhere=others
    )


def roles(evidence: Evidence, model: str) -> Finding:
    """The lowest share, among the needed heads, of queries whose strongest key is where an ideal function looks."""
    alone = needed_heads(evidence, model)
    heads = alone or working_heads(evidence, model)
    rows = evidence.rows("mechanism", model, "verdicts", Verdict)
    asked = [row for row in rows if (row.layer, row.head) in heads]
    text = ", ".join(f"{row.layer}.{row.head} {row.role} {row.share.value:.2f}" for row in asked)
    worst = min((_ideal_share(row, model) for row in asked), key=lambda share: share.value)
    pure = {(row.layer, row.head) for row in evidence.rows("mechanism", model, "kinds", Kind) if row.label in KINDS}
    of_pure = [_ideal_share(row, model) for row in rows if (row.layer, row.head) in pure]
    others = {"heads": {"all pure ones": min(of_pure, key=lambda share: share.value)}} if of_pure else {}
    if evidence.results("mechanism", model).has("probed_verdicts"):
        probed = evidence.rows("mechanism", model, "probed_verdicts", Verdict)
        of_probe = [_ideal_share(row, model) for row in probed if (row.layer, row.head) in heads]
        others |= {"decoder": {PROBE: min(of_probe, key=lambda share: share.value)}}
    ideal_roles = all(row.role in _ideal(model) for row in asked)
    why = f"The commonest role of each head: {text}." + (confirmed_text(evidence, model) if not alone else "")
    return Finding(worst.value, why, worst.interval, worst.n, rest_holds=ideal_roles, elsewhere=others)


def _ideal(model: str) -> tuple[str, str]:
    return FUNCTION[model].lower(), REFLEXIVE


def _ideal_share(row: Verdict, model: str) -> Estimate:
    """How often a head attends where an ideal function does: at most the rest, if another role is more common."""
    if row.role in _ideal(model):
        return row.share
    share = row.share
    return Estimate(1 - share.value, 1 - share.high, 1 - share.low, share.n)


def pure_by_role(evidence: Evidence, model: str, kind: str) -> Finding:
    """Of the heads that bring the answer and mainly do Index or Retrieval, the share that is purely of one kind."""
    ablations(evidence, model)
    kinds = {(row.layer, row.head): row for row in evidence.rows("mechanism", model, "kinds", Kind)}

    def labels(table: str) -> dict[str, str]:
        rows = evidence.results("mechanism", model).rows(table, Verdict)
        found = [(row.layer, row.head) for row in rows if row.serves and row.role == FUNCTION[model].lower()]
        return {write_heads([head]): kinds[head].label for head in found}

    def share(table: str) -> float:
        found = [*labels(table).values()]
        return found.count(kind) / len(found) if found else math.nan

    text = ", ".join(f"{head} is {label}" for head, label in labels("verdicts").items())
    probed = ", ".join(f"{head} is {label}" for head, label in labels("probed_verdicts").items())
    if not text:
        raise NotTested(f"no head of the {model} model that brings the answer mainly does {FUNCTION[model]}.")
    why = f"Heads that bring the answer and mainly do {FUNCTION[model]}: {text}." + f" By a probe: {probed}." * bool(
        probed
    )
    others = {"decoder": {PROBE: share("probed_verdicts")}} if probed else {}
    inputs = max(row.positional.n for row in kinds.values())
    return Finding(share("verdicts"), why, None, inputs, elsewhere=others)


def one_hop_per_layer(evidence: Evidence, model: str) -> Finding:
    """How far the layers that an answer of h hops takes are from h, in the worst hop class."""
    ablations(evidence, model)
    rows = [row for row in evidence.rows("mechanism", model, "layers_used", LayersUsed) if row.layers.n]
    if not rows:
        raise NotTested(f"the answers of the {model} model can never be read before the end.")
    worst = _farthest(rows)
    text = ", ".join(f"{row.hops}: {row.layers.value:.2f}" for row in rows)
    why = f"Layers until the answer can be read at the last token, by hops: {text}."
    first, last = rows[0], rows[-1]
    elsewhere = {"count": {"the layers of a further hop, less one": _further(first, last)}} if len(rows) > 1 else {}
    if evidence.results("mechanism", model).has("probed_layers"):
        probed = evidence.rows("mechanism", model, "probed_layers", LayersUsed)
        why += f" By a linear probe: {', '.join(f'{row.hops}: {row.layers.value:.2f}' for row in probed)}."
        elsewhere |= {"decoder": {PROBE: _farthest(probed)}}
    return Finding(worst.value, why, worst.interval, worst.n, elsewhere=elsewhere)


def _farthest(rows: Sequence[LayersUsed]) -> Estimate:
    """How far the layers are from the hops, in the worst hop class."""
    worst = max(rows, key=lambda row: abs(row.layers.value - row.hops))
    value, *ends = (abs(layers - worst.hops) for layers in (worst.layers.value, *worst.layers.interval))
    return Estimate(value, min(ends), max(ends), worst.layers.n)


def _further(first: LayersUsed, last: LayersUsed) -> Estimate:
    """How far the layers per additional hop are from one; hop classes have different inputs, so their errors add up."""
    hops, low, high = last.hops - first.hops, first.layers, last.layers
    further = (high.value - low.value) / hops - 1
    width = math.hypot(high.high - high.low, low.high - low.low) / 2 / hops
    nearest = max(0.0, abs(further) - width)
    return Estimate(abs(further), nearest, abs(further) + width, min(low.n, high.n))


def reflexive_is_symbolic(evidence: Evidence) -> Finding:
    """Of the layers behind the last working head, in both models, the share that is purely symbolic."""
    behind, symbolic, text, inputs = 0, 0, [], 0
    for model in FUNCTION:
        last = max(layer for layer, _ in working_heads(evidence, model))
        heads = [row for row in evidence.rows("mechanism", model, "kinds", Kind) if row.layer > last]
        pure = [row.layer for row in heads if row.label == "symbolic"]
        behind, symbolic = behind + len(heads), symbolic + len(pure)
        inputs = max([inputs, *(row.symbolic.n for row in heads)])
        text.append(f"{model} {len(pure)} of {len(heads)} (layer {listed(pure)})")
    if not behind:
        raise NotTested("the last layer of both models works, so that none is left to propagate.")
    why = f"Purely symbolic at the end of training: {'; '.join(text)}."
    why += "".join(confirmed_text(evidence, model) for model in FUNCTION)
    return Finding(symbolic / behind, why, None, inputs)


def flow_in_time(evidence: Evidence, model: str) -> Finding:
    """Of what flows along the places that pointers index, the share that comes once the answer is there."""
    ablations(evidence, model)
    (row,) = (row for row in evidence.rows("mechanism", model, "selectivity", Selectivity) if row.layer is None)
    if row.before.n < ENOUGH or not row.share.n:
        raise NotTested(
            f"the heads of the {model} model hardly ever look where a pointer points before the answer is there."
        )
    text = f"{row.before.value:.3f} of the logit difference ({row.before.n} looks)"
    why = f"A look moves {text} before the answer is there, and {row.present.value:.3f} ({row.present.n}) once it is."
    other = probed_flow(evidence, model)
    if other is None:
        return Finding(row.share.value, why, row.share.interval, row.share.n)
    why += (
        f" With a probe: {other.before.value:.3f} ({other.before.n}) and {other.present.value:.3f} ({other.present.n})."
    )
    elsewhere = {"decoder": {PROBE: other.share}}
    return Finding(row.share.value, why, row.share.interval, row.share.n, elsewhere=elsewhere)


def probed_flow(evidence: Evidence, model: str) -> DecodedFlow | None:
    """The same where a linear probe tells whether the answer is at a place.

    None if it was not measured, or if too few looks or too little flow are left by its moments.
    """
    if not evidence.results("mechanism", model).has("decoders"):
        return None
    rows = evidence.rows("mechanism", model, "decoders", DecodedFlow)
    (row,) = (row for row in rows if (row.decoder, row.changed) == ("probe", "link"))
    return row if row.before.n >= ENOUGH and row.share.n else None


def kept_by(evidence: Evidence, model: str, what: str) -> Finding:
    """What keeps the answer at the last position, over all layers behind its arrival.

    ``kept``: the share of layers after which it can be read as before; ``elsewhere``: attention to what does not hold
    it.
    """
    ablations(evidence, model)
    every = evidence.rows("mechanism", model, "keeping", Keeping)
    row = _over_layers(every)
    found = getattr(row, what)
    if not found.n:
        raise NotTested(f"the answers of the {model} model can never be read before the end.")
    why = (
        f"Attention to itself {row.itself.value:.2f}, to other positions that hold the answer {row.equal.value:.2f}, "
        f"elsewhere {row.elsewhere.value:.2f}. Right without all heads from then on: {row.residual.value:.2f}"
    )
    each = [f"{one.layer}: {one.residual.value:.2f}" for one in every if one.layer is not None and one.kept.n]
    why += f"; by layer {', '.join(each)}." if each else "."
    if not evidence.results("mechanism", model).has("probed_keeping"):
        return Finding(found.value, why, found.interval, found.n)
    probed = _over_layers(evidence.rows("mechanism", model, "probed_keeping", Keeping))
    elsewhere = {"decoder": {PROBE: getattr(probed, what)}}
    return Finding(found.value, why, found.interval, found.n, elsewhere=elsewhere)


def _over_layers(rows: Sequence[Keeping]) -> Keeping:
    (row,) = (row for row in rows if row.layer is None)
    return row


CLAIMS = read_claims(Path(__file__).with_name("claims.toml"), globals() | {"errors_of": errors_of})
