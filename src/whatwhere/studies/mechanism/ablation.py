"""Does a head matter? Mean ablation of every head, and which roles it confirms.

A head is ablated by replacing what it attended to, at each position, by its mean over the inputs: it then says nothing
about the input in hand. A role that was read off attention counts only if its ablation hurts the hops that it should:
a layer that brings the answer to positions d hops away is needed by every input of d or more hops.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from whatwhere.heads.intervals import wilson_interval
from whatwhere.heads.roles import RoleShare
from whatwhere.model.gptj import GPTJ, Edit
from whatwhere.studies.mechanism.interventions import answers_from, chunks, record
from whatwhere.studies.mechanism.observation import AT_ONCE, Progress, silent
from whatwhere.studies.mechanism.readout import Delivery
from whatwhere.tasks.batch import Batch

SERVES = 0.25
"""A layer serves a distance if it brings the answer to at least this share of the positions there."""


@dataclass(frozen=True)
class Ablation:
    """The accuracy of one hop class before and after one head is ablated."""

    layer: int
    head: int
    hops: int
    before: float
    before_low: float
    before_high: float
    after: float
    after_low: float
    after_high: float
    count: int

    @property
    def hurts(self) -> bool:
        """Whether the two intervals lie apart."""
        return self.after_high < self.before_low


@dataclass(frozen=True)
class Verdict:
    """What a head looks like, and whether ablation bears it out."""

    layer: int
    head: int
    role: str
    """The commonest role of its strongest key, at the distances that its layer serves (or all, if it serves none)."""
    share: float
    low: float
    high: float
    count: int
    serves: str
    """Distances to which its layer brings the answer."""
    should_hurt: str
    """Hop classes that depend on that."""
    hurts: str
    """Hop classes that the ablation hurts."""
    verdict: str
    """``counts``, ``partly``, ``not needed``; ``needed otherwise`` if it brings nothing but hurts; ``idle``."""


def ablate(model: GPTJ, batch: Batch, progress: Progress = silent) -> list[Ablation]:
    """Ablates each head in turn, on all inputs (solved or not)."""
    parts = chunks(len(batch), AT_ONCE)
    layers, heads = model.config.layers, model.config.heads
    states, total = [], None
    for part in parts:
        state, attended = record(model, batch.tokens[part])
        states.append(state)
        total = attended.sum(1) + (0 if total is None else total)
    assert total is not None
    means = total / len(batch)  # [layer, seq, head, d_head]
    before = np.concatenate([answers_from(model, state[-1], layers) for state in states]) == batch.answers
    rows = []
    for layer in range(layers):
        for head in range(heads):
            edit = _replaced(means[layer], head)
            answers = [answers_from(model, state[layer], layer, edit) for state in states]
            rows += _by_hop(layer, head, before, np.concatenate(answers) == batch.answers, batch)
            progress("ablating heads", layer * heads + head + 1, layers * heads)
    return rows


def _replaced(mean: Tensor, head: int) -> Edit:
    """Puts a mean ``[seq, head, d_head]`` in the place of what one head attended to."""

    def edit(attended: Tensor) -> Tensor:
        changed = attended.clone()
        changed[:, :, head] = mean[:, head]
        return changed

    return edit


def _by_hop(layer: int, head: int, before: np.ndarray, after: np.ndarray, batch: Batch) -> Iterable[Ablation]:
    for hops in map(int, np.unique(batch.hops)):
        of_class = batch.hops == hops
        count = int(of_class.sum())
        hits = int(before[of_class].sum()), int(after[of_class].sum())
        (low, high), (after_low, after_high) = (wilson_interval(hit, count) for hit in hits)
        yield Ablation(layer, head, hops, hits[0] / count, low, high, hits[1] / count, after_low, after_high, count)


def judge(roles: Sequence[RoleShare], deliveries: Sequence[Delivery], ablations: Sequence[Ablation]) -> list[Verdict]:
    """Holds the roles against the ablations, head by head."""
    classes = sorted({row.hops for row in ablations})
    rows = []
    for layer, head in sorted({(row.layer, row.head) for row in ablations}):
        serves = [row.distance for row in deliveries if row.layer == layer and row.share >= SERVES]
        should = [hops for hops in classes if serves and hops >= min(serves)]
        hurts = [row.hops for row in ablations if (row.layer, row.head) == (layer, head) and row.hurts]
        asked = [row for row in roles if (row.layer, row.head, row.queries) == (layer, head, "path")]
        chosen = [row for row in asked if row.distance in serves] or [row for row in asked if row.distance == 0]
        role, hits, count = _commonest(chosen)
        rows.append(
            Verdict(
                layer,
                head,
                role,
                hits / count,
                *wilson_interval(hits, count),
                count,
                _listed(serves),
                _listed(should),
                _listed(hurts),
                _verdict(should, hurts),
            )
        )
    return rows


def _commonest(rows: Sequence[RoleShare]) -> tuple[str, int, int]:
    """The role with most hits, its hits, and the queries."""
    hits: dict[str, int] = {}
    for row in rows:
        hits[row.role] = hits.get(row.role, 0) + round(row.share * row.count)
    role = max(hits, key=lambda name: hits[name])
    return role, hits[role], sum(row.count for row in rows if row.role == role)


def _verdict(should: Sequence[int], hurts: Sequence[int]) -> str:
    if not should:
        return "needed otherwise" if hurts else "idle"
    confirmed = set(should) & set(hurts)
    return "counts" if confirmed == set(should) else "partly" if confirmed else "not needed"


def _listed(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))
