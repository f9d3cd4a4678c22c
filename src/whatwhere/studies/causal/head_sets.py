"""Which heads are changed together: of each label equally many, in layers as near as possible, and random controls.

The label with the fewest heads sets the number and the layers. Of every other label those heads are taken that lie
nearest to these layers. The control of a label is drawn from heads of other labels, a random one in the layer of each
head; where a layer has too few, in the nearest one. All are assignments of least total distance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from whatwhere.errors import WhatwhereError
from whatwhere.studies.causal.tables import CLOSE_FAST, FEWEST, LABELS, MASK_FAR, CausalSettings, Member
from whatwhere.studies.language_models.tables import HeadRow
from whatwhere.trace.interventions import ClosePlanes, Head, Intervention, MaskFar

FIRST = 1
"""Keys at the start that stay visible when far keys are masked: language models park attention there."""


def head_sets(rows: Sequence[HeadRow], settings: CausalSettings) -> list[Member]:
    """The sets of heads, with their controls.

    Raises:
        WhatwhereError: no label has enough heads.
    """
    known = [_Known(row, settings.beyond) for row in rows]
    pure = {label: [head for head in known if head.label == label] for label in LABELS}
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
    layers = [head.layer for head in sorted(fewest, key=lambda head: -head.purity)[:count]]
    rng = np.random.default_rng(settings.seed)
    found: list[Member] = []
    for label, own in groups.items():
        chosen = _nearest(layers, own, [0.5 * (1 - head.purity) for head in own])
        others = [head for head in known if head.label != label]
        sets: dict[int | None, list[_Known]] = {None: chosen}
        for draw in range(settings.draws):
            sets[draw] = _nearest([head.layer for head in chosen], others, 0.5 * rng.random(len(others)))
        found += [
            Member(label, draw, head.layer, head.head, head.label, head.positional, head.symbolic, head.planes)
            for draw, some in sets.items()
            for head in some
        ]
    return found


class _Known:
    """What is known of a head, by the paper's scores or beyond the first token."""

    def __init__(self, row: HeadRow, beyond: bool) -> None:
        self.layer, self.head, self.planes = row.layer, row.head, row.planes
        self.label = row.rest_label if beyond else row.label
        self.positional = row.rest_positional if beyond else row.positional.value
        self.symbolic = row.rest_symbolic if beyond else row.symbolic.value

    @property
    def purity(self) -> float:
        """How far apart the scores are; for a mixed head, how near. Undefined ones count as 0."""
        apart = abs(float(np.nan_to_num(self.positional - self.symbolic)))
        return apart if self.label != "mixed" else 1 - apart


def _nearest(layers: Sequence[int], heads: Sequence[_Known], costs: Sequence[float] | np.ndarray) -> list[_Known]:
    """One head for each layer, no head twice; costs choose among heads that are equally near."""
    distances = np.abs(np.subtract.outer(layers, [head.layer for head in heads]))
    _, chosen = linear_sum_assignment(distances + np.asarray(costs))
    return sorted((heads[at] for at in chosen), key=lambda head: (head.layer, head.head))


def interventions_of(change: str, members: Sequence[Member], recent: int) -> list[Intervention]:
    """What is changed in how these heads attend. Fast planes are the faster half of a head's planes.

    A head without rotation has no plane to close.
    """
    heads: tuple[Head, ...] = tuple((row.layer, row.head) for row in members)
    if change == MASK_FAR:
        return [MaskFar(recent, FIRST, heads)]
    by_planes: dict[int, list[Head]] = defaultdict(list)
    for row in members:
        by_planes[row.planes].append((row.layer, row.head))
    found: list[Intervention] = []
    for planes, some in by_planes.items():
        half = range(1, planes // 2 + 1) if change == CLOSE_FAST else range(planes // 2 + 1, planes + 1)
        if planes:
            found.append(ClosePlanes(tuple(half), heads=tuple(some)))
    return found
