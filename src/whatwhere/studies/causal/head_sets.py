"""The sets of heads that are changed together: equally many of each label, in similar layers, and random controls.

The label with the fewest heads sets the number and the layers. From every other label the heads nearest to these layers
are taken. The control of a label is drawn from heads of other labels, a random one in the layer of each head; if a
layer has too few, in the nearest one. All are assignments of least total distance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from whatwhere.errors import WhatwhereError
from whatwhere.studies.causal.tables import CLOSE_FAST, FEWEST, LABELS, MASK_FAR, CausalSettings, Member
from whatwhere.studies.language_models.tables import HeadRow
from whatwhere.trace.interventions import ClosePlanes, Head, Intervention, MaskFar

FIRST = 1
"""Keys at the start that stay visible when far keys are masked: language models put unused attention there."""


def head_sets(rows: Sequence[HeadRow], settings: CausalSettings) -> list[Member]:
    """The sets of heads, with their controls."""
    known = [_member(row, settings.beyond) for row in rows]
    pure = {label: [head for head in known if head.own_label == label] for label in LABELS}
    room = {label: min(len(own), len(known) - len(own)) for label, own in pure.items()}  # each needs a control
    groups = {label: own for label, own in pure.items() if room[label] >= FEWEST}
    if not groups:
        raise WhatwhereError(
            f"expected a label of {', '.join(LABELS)} with {FEWEST} heads or more, and as many other heads, got "
            f"{', '.join(str(len(own)) for own in pure.values())} of {len(known)} heads; score on more text, or "
            "raise gamma."
        )
    fewest = min(groups.values(), key=len)
    count = min(settings.heads, *(room[label] for label in groups))
    layers = [head.layer for head in sorted(fewest, key=lambda head: -_purity(head))[:count]]
    rng = np.random.default_rng(settings.seed)
    found: list[Member] = []
    for label, own in groups.items():
        chosen = _nearest(layers, own, [0.5 * (1 - _purity(head)) for head in own])
        found += [replace(head, label=label) for head in chosen]
        others = [head for head in known if head.own_label != label]
        for draw in range(settings.draws):
            drawn = _nearest([head.layer for head in chosen], others, 0.5 * rng.random(len(others)))
            found += [replace(head, label=label, draw=draw) for head in drawn]
    return found


def _member(row: HeadRow, beyond: bool) -> Member:
    """A head that is in no set yet, by the paper's scores or beyond the first token."""
    scores = row.label, row.positional.value, row.symbolic.value
    if beyond:
        scores = row.rest_label, row.rest_positional, row.rest_symbolic
    return Member("", None, row.layer, row.head, *scores, row.planes)


def _purity(head: Member) -> float:
    """How far apart the scores are; for a mixed head, how near. Undefined ones count as 0."""
    apart = abs(float(np.nan_to_num(head.positional - head.symbolic)))
    return apart if head.own_label != "mixed" else 1 - apart


def _nearest(layers: Sequence[int], heads: Sequence[Member], costs: Sequence[float] | np.ndarray) -> list[Member]:
    """One head for each layer, no head twice; costs choose among heads that are equally near."""
    distances = np.abs(np.subtract.outer(layers, [head.layer for head in heads]))
    _, chosen = linear_sum_assignment(distances + np.asarray(costs))
    return sorted((heads[at] for at in chosen), key=lambda head: (head.layer, head.head))


def interventions_of(change: str, members: Sequence[Member], recent: int) -> list[Intervention]:
    """What is changed in how these heads attend. Fast planes are the faster half of a head's planes.

    A head without rotation has no plane to close.
    """
    if change == MASK_FAR:
        return [MaskFar(recent, FIRST, tuple((row.layer, row.head) for row in members))]
    by_planes: dict[int, list[Head]] = defaultdict(list)
    for row in members:
        if row.planes:
            by_planes[row.planes].append((row.layer, row.head))
    found: list[Intervention] = []
    for planes, heads in by_planes.items():
        half = range(1, planes // 2 + 1) if change == CLOSE_FAST else range(planes // 2 + 1, planes + 1)
        found.append(ClosePlanes(tuple(half), heads=tuple(heads)))
    return found
