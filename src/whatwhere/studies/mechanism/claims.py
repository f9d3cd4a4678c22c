"""What the heads do: Section 3.2 and 3.3, Figure 3, and the decomposition of both tasks."""

from __future__ import annotations

from collections.abc import Callable

from whatwhere.studies.claim import Claim, Finding, listed
from whatwhere.studies.dynamics.claims_kinds import final_kinds
from whatwhere.studies.dynamics.claims_purity import all_heads, name, needed
from whatwhere.studies.mechanism.ablation import Ablation, Verdict
from whatwhere.studies.mechanism.readout import LayersUsed
from whatwhere.studies.source import NotTested, Source

MAINLY = 0.5
"""More often than not."""
ROLE = {"number": "index", "letter": "retrieval"}
REFLEXIVE = "itself"
"""Looking at oneself is what Reflexive does."""
FUNCTION = {"number": "Index", "letter": "Retrieval"}
LAST = 11
"""The last layer of the paper's models."""


def decomposition(task: str) -> Callable[[Source], Finding]:
    """On how many inputs the ideal functions do not give the answer."""

    def measure(source: Source) -> Finding:
        check = source.check(f"{task}_decomposition")
        why = f"{check['errors']} of {check['inputs']:,} inputs are not solved; {check['found']}."
        return Finding(bool(check["passed"]), float(check["errors"]), why, None, int(check["inputs"]))

    return measure


def roles(task: str) -> Callable[[Source], Finding]:
    """The lowest share, among needed heads, of queries whose strongest key is where an ideal function looks."""

    def measure(source: Source) -> Finding:
        heads = needed(source, task)
        rows = [r for r in source.table(task, "mechanism", "verdicts", Verdict) if (r.layer, r.head) in heads]
        ideal, several = (ROLE[task], REFLEXIVE), source.learned(task).heads
        told = ", ".join(f"layer {name((r.layer, r.head), several)} {r.role} {r.share:.2f}" for r in rows)
        worst = min(rows, key=lambda row: row.share if row.role in ideal else -row.share)
        if worst.role in ideal:
            value, interval = worst.share, (worst.low, worst.high)
        else:  # another role is commoner, so these have at most the rest
            value, interval = 1 - worst.share, (1 - worst.high, 1 - worst.low)
        why = f"The commonest role of each needed head: {told}."
        return Finding(all(r.role in ideal and r.share > MAINLY for r in rows), value, why, interval, worst.count)

    return measure


def one_hop_per_layer(task: str) -> Callable[[Source], Finding]:
    """How far the layers that an h-hop answer takes are from h, in the worst hop class."""

    def measure(source: Source) -> Finding:
        source.learned(task)
        rows = source.table(task, "mechanism", "layers_used", LayersUsed)
        worst = max(rows, key=lambda row: abs(row.mean - row.one_hop_per_layer))
        value = abs(worst.mean - worst.one_hop_per_layer)
        ends = sorted((abs(worst.low - worst.one_hop_per_layer), abs(worst.high - worst.one_hop_per_layer)))
        told = ", ".join(f"{row.hops}: {row.mean:.2f}" for row in rows)
        why = f"Layers until the answer can be read at the last token, by hops: {told}."
        return Finding(value < MAINLY, value, why, (ends[0], ends[1]), worst.count)

    return measure


def reflexive_is_symbolic(source: Source) -> Finding:
    """Of the layers behind the last needed one, in both models, the share that is purely symbolic."""
    behind, symbolic = 0, 0
    told = []
    for task in ROLE:
        last = max(layer for layer, _ in needed(source, task))
        heads = [head for head in all_heads(source, task) if head[0] > last]
        pure = final_kinds(source, task, heads)["symbolic"]
        behind, symbolic = behind + len(heads), symbolic + len(pure)
        told.append(f"{task} {len(pure)} of {len(heads)} (layer {listed([layer for layer, _ in pure])})")
    if not behind:
        raise NotTested("the last layer of both models is needed, so that none is left to propagate.")
    why = f"Purely symbolic at the end of training: {'; '.join(told)}."
    inputs = source.dynamics("number").history.settings.inputs
    return Finding(symbolic == behind, symbolic / behind, why, None, inputs)


def last_layer_needed(source: Source) -> Finding:
    """How many hop classes suffer when the last layer of the letter model is ablated."""
    source.learned("letter")
    rows = [row for row in source.table("letter", "mechanism", "ablation", Ablation) if row.layer == LAST]
    if not rows:
        raise NotTested(f"the letter model has no layer {LAST}.")
    hurt = sorted({row.hops for row in rows if row.hurts})
    lowest = min(row.after for row in rows)
    why = f"Hop classes hurt: {listed(hurt)}. The lowest accuracy of a class without it is {lowest:.2f}."
    classes = len({row.hops for row in rows})
    return Finding(len(hurt) == classes, float(len(hurt)), why, None, sum(row.count for row in rows))


def _per_task(task: str) -> tuple[Claim, ...]:
    function = FUNCTION[task]
    return (
        Claim(
            f"{task}-decomposition",
            f"{task.capitalize()} task = {function} once per hop, then Reflexive",
            f"The answer of an input of h hops is at the last token after h applications of {function}, and stays "
            "there under Reflexive.",
            "Section 3.2, equations of the decomposition, Figure 3C and 3D",
            "Inputs of the task that the ideal functions do not solve in 12 layers, or solve with one application "
            "fewer.",
            "none",
            decomposition(task),
            trained=False,
        ),
        Claim(
            f"{task}-heads-{ROLE[task]}",
            f"{task.capitalize()} task: the needed heads mainly do {function} or Reflexive",
            f"Heads mainly implement few operations: on solved inputs they look where {function} or Reflexive looks.",
            "Section 3.2, Figure 3",
            "For each head whose ablation hurts: share of path positions it serves whose strongest key is where "
            "its commonest ideal function looks. The value is the lowest (at most, where another role is commoner).",
            f"one of them is the commonest role of each, for more than {MAINLY} of its queries: mainly",
            roles(task),
        ),
        Claim(
            f"{task}-one-hop-per-layer",
            f"{task.capitalize()} task: one hop per layer",
            "Each layer takes the answer one hop further, so that an input of h hops takes h layers.",
            "Section 3.2, Figure 3; Section 4 names shortcuts as exceptions",
            "Layers until the answer can be read at the last token for good, less the hops; largest difference over "
            "hop classes.",
            f"below {MAINLY}, so that the mean rounds to the number of hops",
            one_hop_per_layer(task),
        ),
    )


CLAIMS = (
    *_per_task("number"),
    *_per_task("letter"),
    Claim(
        "reflexive-is-symbolic",
        "Later layers propagate symbolically",
        "Once the answer is at the last token, the remaining layers only propagate it, and do so symbolically.",
        "Section 3.2",
        "Of the heads behind the last layer whose ablation hurts, in both models: share that ends purely symbolic "
        "(gamma 0.1).",
        "every one of them",
        reflexive_is_symbolic,
    ),
    Claim(
        "letter-last-layer-needed",
        "Letter task: the head of layer 11 is needed for every hop class",
        "The last required symbolic head is that of layer 11, and every hop class needs it.",
        "Section 3.3",
        "Hop classes whose accuracy falls when the head of layer 11 of the letter model is mean-ablated.",
        "all of them",
        last_layer_needed,
    ),
)  # fmt: skip
