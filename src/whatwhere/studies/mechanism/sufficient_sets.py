"""The fewest heads that suffice: backward elimination for each hop class, confirmed on inputs of its own (Section 3.2).

Starting from the whole model, each step ablates one more head: the one without which most answers stay right, and of
equal ones the one that leaves the right answers most likely. While there are many heads, a quarter of them goes at once
if that is possible. The search stops when every further step would leave less than :data:`KEEP` of the whole model's
accuracy. A head that cannot be ablated at some step is not tried again until nothing else is left; then all are tried
once more. Last steps that do not keep as much on held-out inputs are taken back. So both kinds of inputs choose the
set, and :func:`confirm` asks it on a third kind that chose nothing.

Greedy search need not find the smallest set of all, and where heads can replace each other the set is one of several.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy.special import log_softmax

from whatwhere.studies.answering import share_of
from whatwhere.studies.mechanism.ablation import MeanAblation, answered
from whatwhere.studies.mechanism.tables import ConfirmedSet, Elimination, Head, SufficientSet, read_heads, write_heads
from whatwhere.studies.study import Progress, no_progress
from whatwhere.tasks.batch import Batch

KEEP = 0.95
"""Of the whole model's accuracy."""
AT_A_TIME = 0.25
"""The share of the remaining heads that a step tries to ablate at once."""
SEARCHED = 100
"""Inputs of each hop class to search on: each step runs the model on them once for each head."""


def sufficient_sets(
    ablation: MeanAblation, batch: Batch, held_out: Batch, progress: Progress = no_progress
) -> tuple[list[Elimination], list[SufficientSet]]:
    """Searches on one batch, for each of its hop classes, and ends the search on the other: the steps, and the sets."""
    steps: list[Elimination] = []
    sets: list[SufficientSet] = []
    found = np.unique(batch.hops).tolist()
    for done, hops in enumerate(found):
        progress("searching for sufficient heads", done, len(found))
        searched, others = batch[batch.hops == hops][:SEARCHED], held_out[held_out.hops == hops]
        removed = [[], *eliminate(ablation, searched)]
        ablated = [[head for heads in removed[: step + 1] for head in heads] for step in range(len(removed))]
        shares = (map(share_of, answered(ablation, chosen, ablated)) for chosen in (searched, others))
        of_class = [
            Elimination(hops, len(ablation.heads) - len(gone), write_heads(heads), *accuracies)
            for heads, gone, *accuracies in zip(removed, ablated, *shares, strict=True)
        ]
        whole = of_class[0]
        last = max(
            at for at, step in enumerate(of_class)
            if step.accuracy.value >= KEEP * whole.accuracy.value and step.held_out.value >= KEEP * whole.held_out.value
        )  # fmt: skip
        kept = [head for head in ablation.heads if head not in ablated[last]]
        accuracies = of_class[last].accuracy, of_class[last].held_out, whole.held_out
        sets.append(SufficientSet(hops, len(kept), len(ablation.heads), write_heads(kept), *accuracies))
        steps += of_class
    progress("searching for sufficient heads", len(found), len(found))
    return steps, sets


def confirm(
    ablation: MeanAblation, sets: Sequence[SufficientSet], batch: Batch, seen: Sequence[Batch]
) -> list[ConfirmedSet]:
    """What each set keeps on those inputs of a batch that are in none of the batches that the search has seen."""
    known = {tokens.tobytes() for one in seen for tokens in one.tokens}
    fresh = batch[np.array([tokens.tobytes() not in known for tokens in batch.tokens])]
    rows = []
    for one in sets:
        others = set(ablation.heads).difference(read_heads(one.heads))
        alone, whole = answered(ablation, fresh[fresh.hops == one.hops], [others, ()])
        rows.append(ConfirmedSet(one.hops, one.heads, share_of(alone), share_of(whole)))
    return rows


def eliminate(ablation: MeanAblation, batch: Batch) -> list[list[Head]]:
    """The heads that each step of the search ablates, in order. The last step is one too many: it shows the cost."""
    kept, removed = list(ablation.heads), []
    ((whole, _),) = _quality(ablation, batch, [[]], [])
    candidates = list(kept)
    while candidates:
        ablated = [head for heads in removed for head in heads]
        found = _quality(ablation, batch, [[head] for head in candidates], ablated)
        quality = dict(zip(candidates, found, strict=True))
        ranked = sorted(candidates, key=lambda head: quality[head], reverse=True)
        spare = [head for head in ranked if quality[head][0] >= KEEP * whole]
        if not spare and len(candidates) < len(kept):
            candidates = kept
            continue
        if not spare:
            removed.append(ranked[:1])
            break
        chosen = spare[: max(1, int(AT_A_TIME * len(kept)))]
        if len(chosen) > 1 and _quality(ablation, batch, [chosen], ablated)[0][0] < KEEP * whole:
            chosen = chosen[:1]  # the model can spare each of them, but not all
        removed.append(chosen)
        kept = [head for head in kept if head not in chosen]
        candidates = [head for head in spare if head not in chosen] or kept
    return removed


def _quality(
    ablation: MeanAblation, batch: Batch, sets: Sequence[Sequence[Head]], ablated: Sequence[Head]
) -> list[tuple[float, float]]:
    """Accuracy, and mean log-probability of the right answer, with each set ablated in addition."""
    logits: Float[np.ndarray, "set n vocab"] = ablation.logits(batch.tokens, sets, ablated)
    right = (logits.argmax(-1) == batch.answers).mean(1)
    likely = log_softmax(logits, -1)[:, np.arange(len(batch)), batch.answers].mean(1)
    return list(zip(right.tolist(), likely.tolist(), strict=True))
