"""The fewest heads that suffice: backward elimination for each hop class, confirmed on held-out inputs.

Starting from the whole model, each step ablates one more head: the one without which most answers stay right, and of
equal ones the one that leaves the right answers likeliest. It stops when every further step would leave less than
:data:`KEEP` of the whole model's accuracy. A head that cannot be ablated at some step is not tried again until nothing
else is left; then all are tried once more, so that no head of the final set can be left out.

Greedy search need not find the smallest set of all, and where heads can replace each other the set is one of several.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy.special import log_softmax

from whatwhere.heads.estimate import share
from whatwhere.studies.mechanism.ablation import Head, MeanAblation, answered, write_heads
from whatwhere.studies.mechanism.tables import Elimination, SufficientSet
from whatwhere.studies.study import Progress, no_progress
from whatwhere.tasks.batch import Batch

KEEP = 0.95
"""Of the whole model's accuracy."""
STEPS = 16
"""Models with more heads than this lose several at each step, so that the search takes about so many steps."""


def sufficient_sets(
    ablation: MeanAblation, batch: Batch, held_out: Batch, progress: Progress = no_progress
) -> tuple[list[Elimination], list[SufficientSet]]:
    """Searches on one batch, for each of its hop classes, and confirms on the other.

    Returns:
        The steps of the search, and the sets at its end.
    """
    steps: list[Elimination] = []
    sets: list[SufficientSet] = []
    found = np.unique(batch.hops).tolist()
    for done, hops in enumerate(found):
        progress("searching for sufficient heads", done, len(found))
        searched, others = batch[batch.hops == hops], held_out[held_out.hops == hops]
        removed = eliminate(ablation, searched)
        ablated: list[list[Head]] = [[]]
        for heads in removed:
            ablated.append([*ablated[-1], *heads])
        rights = [answered(ablation, chosen, ablated).sum(1) for chosen in (searched, others)]
        for now, heads, right, right_there in zip(ablated, [[], *removed], *rights, strict=True):
            accuracies = share(int(right), len(searched)), share(int(right_there), len(others))
            steps.append(Elimination(hops, len(ablation.heads) - len(now), write_heads(heads), *accuracies))
        kept = [head for head in ablation.heads if head not in ablated[-1]]
        last, whole = steps[-1], share(int(rights[1][0]), len(others))
        sets.append(
            SufficientSet(
                hops,
                len(kept),
                len(ablation.heads),
                write_heads(kept),
                last.accuracy,
                last.held_out,
                whole,
                last.held_out.value >= KEEP * whole.value,
            )
        )
    progress("searching for sufficient heads", len(found), len(found))
    return steps, sets


def eliminate(ablation: MeanAblation, batch: Batch) -> list[list[Head]]:
    """The heads that each step of the search ablates, in order."""
    kept, removed = list(ablation.heads), []
    ((whole, _),) = _quality(ablation, batch, [[]], [])
    candidates = list(kept)
    while candidates:
        ablated = [head for heads in removed for head in heads]
        quality = dict(zip(candidates, _quality(ablation, batch, [[head] for head in candidates], ablated), strict=True))
        spare = [head for head in candidates if quality[head][0] >= KEEP * whole]
        spare.sort(key=lambda head: quality[head], reverse=True)
        if not spare:
            candidates = kept if len(candidates) < len(kept) else []
            continue
        chosen = spare[: max(1, len(kept) // STEPS)]
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
