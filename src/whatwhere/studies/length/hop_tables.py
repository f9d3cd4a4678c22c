"""Tables of hop strength: each cell's margin and mass with intervals, and whole paths (see ``hop_strength``)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from whatwhere.heads.intervals import bootstrap_interval, wilson_interval
from whatwhere.studies.length.hop_strength import Cell, HopStrength
from whatwhere.studies.mechanism.accuracy import shares_by_hop

WORKING = 0.9
"""Mean attention on the right key at the training length from which a cell is said to do its hop."""


@dataclass(frozen=True)
class HopRow:
    """One cell at one length."""

    source: str
    """``measured`` on inputs of this length, or ``foretold`` from the training length."""
    length: int
    layer: int
    head: int
    to_go: int
    jump: int
    margin: float
    margin_low: float
    margin_high: float
    mass: float
    mass_low: float
    mass_high: float
    leads: float
    """Share of inputs with a margin above 0: hard attention would be right."""
    leads_low: float
    leads_high: float
    holds: float
    """Share of inputs with more than half of the attention on the right key."""
    holds_low: float
    holds_high: float
    inputs: int

    @property
    def cell(self) -> Cell:
        """Which kind of hop, in which head."""
        return self.layer, self.head, self.to_go, self.jump


@dataclass(frozen=True)
class ChainRow:
    """Whole paths of one hop class at one length: do all working cells of the path hold?"""

    source: str
    rule: str
    """``margin``: every right key leads; ``mass``: every right key has more than half of the attention."""
    length: int
    hop: int
    """0 for the mean over hop classes."""
    share: float
    low: float
    high: float
    inputs: int
    cells: int
    """How many cells work."""


def hop_rows(source: str, length: int, strength: HopStrength, seed: int = 0) -> list[HopRow]:
    """One row for each cell that occurs; infinite margins (no rival in sight) are left out of the mean margin."""
    layers, heads, depth = strength.margin.shape[:3]
    cells = [(a, h, s, t) for a in range(layers) for h in range(heads) for s in range(depth) for t in range(s + 1)]
    cells = [cell for cell in cells if not np.isnan(strength.mass[cell]).all()]
    margin = np.stack([strength.margin[cell] for cell in cells], 1)  # [n, cell]
    mass = np.stack([strength.mass[cell] for cell in cells], 1)
    finite = np.where(np.isinf(margin), np.nan, margin)
    ends = [bootstrap_interval(values, resamples=500, seed=seed) for values in (finite, mass)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a cell without a finite margin has the mean NaN
        means = np.nanmean(finite, 0), np.nanmean(mass, 0)
    rows = []
    for index, (layer, head, to_go, jump) in enumerate(cells):
        known = ~np.isnan(mass[:, index])
        inputs = int(known.sum())
        leads, holds = int((margin[known, index] > 0).sum()), int((mass[known, index] > 0.5).sum())
        rows.append(
            HopRow(
                source, length, layer, head, to_go + 1, jump + 1,
                float(means[0][index]), float(ends[0][0][index]), float(ends[0][1][index]),
                float(means[1][index]), float(ends[1][0][index]), float(ends[1][1][index]),
                leads / inputs, *wilson_interval(leads, inputs),
                holds / inputs, *wilson_interval(holds, inputs), inputs,
            )
        )  # fmt: skip
    return rows


def working_cells(rows: Sequence[HopRow], trained: int) -> list[Cell]:
    """The cells that do their hop at the training length: mean mass at least WORKING."""
    return [r.cell for r in rows if r.source == "measured" and r.length == trained and r.mass >= WORKING]


def chain_rows(
    source: str, length: int, strength: HopStrength, hops: Int[np.ndarray, "n"], working: Sequence[Cell]
) -> list[ChainRow]:
    """The share of inputs for which every working cell on the path holds; none if no cell works."""
    if not working:
        return []
    at = [(layer, head, to_go - 1, jump - 1) for layer, head, to_go, jump in working]
    rows = []
    for rule, values, above in (("margin", strength.margin, 0.0), ("mass", strength.mass, 0.5)):
        each = np.stack([values[cell] for cell in at])  # [cell, n]
        whole = np.asarray(((each > above) | np.isnan(each)).all(0))
        rows += [ChainRow(source, rule, length, *row, len(at)) for row in shares_by_hop(whole, hops)]
    return rows
