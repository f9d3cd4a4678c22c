"""What the heads do: Sections 3.2 and 3.3, Figure 3, and the decomposition of both tasks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from whatwhere.studies.claim import Claim, Finding, listed
from whatwhere.studies.evidence import Evidence, NotTested, require_learned
from whatwhere.studies.mechanism.tables import Ablation, Kind, LayersUsed, SufficientSet, Verdict, read_heads
from whatwhere.studies.theorems.claims import no_errors

MAINLY = 0.5
"""More often than not."""
FUNCTION = {"number": "Index", "letter": "Retrieval"}
REFLEXIVE = "itself"
"""The role of a head that looks at the query itself, as Reflexive does."""
LAST = 11
"""The last layer of the paper's models."""


def ablations(evidence: Evidence, model: str) -> Sequence[Ablation]:
    """What each head costs, in a model that has learned its task.

    Raises:
        NotTested: it was not measured, or the model has not learned.
    """
    rows = evidence.rows("mechanism", model, "ablation", Ablation)
    require_learned(model, [row.before.value for row in rows])
    return rows


def needed_heads(evidence: Evidence, model: str) -> list[tuple[int, int]]:
    """The heads, as (layer, head), whose ablation alone costs accuracy; raises as :func:`ablations` does."""
    return sorted({(row.layer, row.head) for row in ablations(evidence, model) if row.needed})


def working_heads(evidence: Evidence, model: str) -> list[tuple[int, int]]:
    """The fewest heads that suffice, of all hop classes together.

    Raises:
        NotTested: it was not measured, the model has not learned, or its answers do not depend on any head.
    """
    ablations(evidence, model)
    sets = evidence.rows("mechanism", model, "sufficient", SufficientSet)
    heads = {head for row in sets for head in read_heads(row.heads)}
    if not heads:
        raise NotTested(f"the {model} model keeps its accuracy without any head.")
    return sorted(heads)


def roles(evidence: Evidence, model: str) -> Finding:
    """The lowest share, among the needed heads, of queries whose strongest key is where an ideal function looks."""
    heads = needed_heads(evidence, model) or working_heads(evidence, model)
    rows = [row for row in evidence.rows("mechanism", model, "verdicts", Verdict) if (row.layer, row.head) in heads]
    ideal = (FUNCTION[model].lower(), REFLEXIVE)
    told = ", ".join(f"{row.layer}.{row.head} {row.role} {row.share.value:.2f}" for row in rows)
    worst = min(rows, key=lambda row: row.share.value if row.role in ideal else -row.share.value)
    value, low, high = worst.share.value, *worst.share.interval
    if worst.role not in ideal:  # another role is commoner, so the ideal ones have at most the rest
        value, low, high = 1 - value, 1 - high, 1 - low
    holds = all(row.role in ideal and row.share.value > MAINLY for row in rows)
    return Finding(holds, value, f"The commonest role of each head: {told}.", (low, high), worst.share.n)


def one_hop_per_layer(evidence: Evidence, model: str) -> Finding:
    """How far the layers that an answer of h hops takes are from h, in the worst hop class."""
    ablations(evidence, model)
    rows = [row for row in evidence.rows("mechanism", model, "layers_used", LayersUsed) if row.layers.n]
    if not rows:
        raise NotTested(f"the answers of the {model} model can never be read before the end.")
    worst = max(rows, key=lambda row: abs(row.layers.value - row.hops))
    value, *ends = (abs(layers - worst.hops) for layers in (worst.layers.value, *worst.layers.interval))
    told = ", ".join(f"{row.hops}: {row.layers.value:.2f}" for row in rows)
    why = f"Layers until the answer can be read at the last token, by hops: {told}."
    return Finding(value < MAINLY, value, why, (min(ends), max(ends)), worst.layers.n)


def reflexive_is_symbolic(evidence: Evidence) -> Finding:
    """Of the layers behind the last working head, in both models, the share that is purely symbolic."""
    behind, symbolic, told, inputs = 0, 0, [], 0
    for model in FUNCTION:
        last = max(layer for layer, _ in working_heads(evidence, model))
        heads = [row for row in evidence.rows("mechanism", model, "kinds", Kind) if row.layer > last]
        pure = [row.layer for row in heads if row.label == "symbolic"]
        behind, symbolic = behind + len(heads), symbolic + len(pure)
        inputs = max([inputs, *(row.symbolic.n for row in heads)])
        told.append(f"{model} {len(pure)} of {len(heads)} (layer {listed(pure)})")
    if not behind:
        raise NotTested("the last layer of both models works, so that none is left to propagate.")
    why = f"Purely symbolic at the end of training: {'; '.join(told)}."
    return Finding(symbolic == behind, symbolic / behind, why, None, inputs)


def last_layer_needed(evidence: Evidence) -> Finding:
    """How many hop classes need the last layer of the letter model."""
    rows = [row for row in ablations(evidence, "letter") if row.layer == LAST]
    if not rows:
        raise NotTested(f"the letter model has no layer {LAST}.")
    needing = sorted({row.hops for row in rows if row.needed})
    lowest = min(row.after.value for row in rows)
    why = f"Hop classes that need it: {listed(needing)}. The lowest accuracy of a class without it is {lowest:.2f}."
    classes = {row.hops for row in rows}
    return Finding(len(needing) == len(classes), float(len(needing)), why, None, sum(row.after.n for row in rows))


def _per_task(task: str) -> tuple[Claim, ...]:
    function = FUNCTION[task]
    return (
        Claim(
            f"{task}-decomposition", f"{task.capitalize()} task = {function} once per hop, then Reflexive",
            f"The answer of an input of h hops is at the last token after h applications of {function}, and stays "
            "there under Reflexive.",
            "Section 3.2, equations of the decomposition, Figure 3C and 3D",
            "Inputs of the task that the ideal functions do not solve in 12 layers, or solve with one application "
            "fewer.",
            "none", no_errors(f"{task}_decomposition"), trained=False,
        ),
        Claim(
            f"{task}-heads-{function.lower()}",
            f"{task.capitalize()} task: the needed heads mainly do {function} or Reflexive",
            f"Heads mainly implement few operations: on solved inputs they look where {function} or Reflexive looks.",
            "Section 3.2, Figure 3",
            "For each head without which a hop class loses more than 0.05 (McNemar's exact test below 0.001), or, if "
            "there is none, each of the fewest heads that keep 0.95: share of the path positions that it serves whose "
            "strongest key is where its commonest ideal function looks. The value is the lowest (at most, where "
            "another role is commoner).",
            f"one of them is the commonest role of each, for more than {MAINLY} of its queries: mainly",
            partial(roles, model=task),
        ),
        Claim(
            f"{task}-one-hop-per-layer", f"{task.capitalize()} task: one hop per layer",
            "Each layer takes the answer one hop further, so that an input of h hops takes h layers.",
            "Section 3.2, Figure 3; Section 4 names shortcuts as exceptions",
            "Layers until the answer can be read at the last token for good, less the hops; largest difference over "
            "hop classes.",
            f"below {MAINLY}, so that the mean rounds to the number of hops", partial(one_hop_per_layer, model=task),
        ),
    )  # fmt: skip


CLAIMS = (
    *_per_task("number"),
    *_per_task("letter"),
    Claim(
        "reflexive-is-symbolic", "Later layers propagate symbolically",
        "Once the answer is at the last token, the remaining layers only propagate it, and do so symbolically.",
        "Section 3.2",
        "Of the heads behind the last of the fewest that suffice, in both models: share that ends purely symbolic "
        "(gamma 0.1, tau 1e-4, last token).",
        "every one of them", reflexive_is_symbolic,
    ),
    Claim(
        "letter-last-layer-needed", "Letter task: every hop class needs the head of layer 11",
        "The last required symbolic head is that of layer 11, and every hop class needs it.",
        "Section 3.3",
        "Hop classes whose accuracy falls by more than 0.05 (McNemar's exact test below 0.001) when the head of layer "
        "11 of the letter model is mean-ablated.",
        "all of them", last_layer_needed,
    ),
)  # fmt: skip
