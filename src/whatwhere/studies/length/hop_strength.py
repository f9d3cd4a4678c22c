"""The discrepancy of trained heads: the lead of the right key, and the attention on it (Section 3.5).

A path visits p_0 > p_1 > .. > p_h. A head may carry it on by one hop, from the query at p_r to the key at p_(r+1), or
by more (a shortcut). So there is a cell for each layer, head, number of hops *to go* (h - r) and *jump* (how many hops
ahead the key lies). In each cell and for each input

- the *margin* is the logit of the right key less the largest of any key that means something else: the discrepancy of
  that input. A key that holds the right token means the same, unless it is an integer, whose meaning depends on where
  it stands;
- the *mass* is the attention on the right key (and others of the same meaning).

Margins show whether hard attention would be right; the mass also depends on the dispersion of softmax over more keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from whatwhere.heads.estimate import Estimate, bootstrap_interval, share
from whatwhere.model.gptj import GPTJ
from whatwhere.studies.answering import TOKENS_AT_ONCE, shares_by_hop
from whatwhere.studies.length.tables import MARGIN, MASS, Cell, Chain, Hop
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.task import Task
from whatwhere.trace.forward import AttentionCall, Changes, Edit
from whatwhere.trace.interventions import Intervention
from whatwhere.trace.own import OwnModel

RESAMPLES = 500
HELD = 0.5
"""The attention on the right key above which a hop holds."""


@dataclass(frozen=True, eq=False)
class HopStrength:
    """Margins and masses; NaN where an input has no such hop. Entry ``[.., s - 1, t - 1, ..]``: s to go, jump t."""

    margin: Float[np.ndarray, "layer head to_go jump n"]
    mass: Float[np.ndarray, "layer head to_go jump n"]
    right: Bool[np.ndarray, "answered"]
    """Whether the model's answer is right, for each input; empty where none was asked."""


@torch.no_grad()
def measure_hops(model: GPTJ, task: Task, batch: Batch, interventions: Sequence[Intervention] = ()) -> HopStrength:
    """Runs a model, optionally with interventions, on inputs of one length, and measures every hop in every layer.

    Inputs run in blocks, so interventions must not depend on other inputs (as a mean ablation does).
    """
    some = max(1, TOKENS_AT_ONCE // batch.tokens.shape[1])
    parts = [_measure(model, task, batch[start : start + some], interventions) for start in range(0, len(batch), some)]
    return HopStrength(*(np.concatenate([getattr(part, name) for part in parts], -1) for name in vars(parts[0])))


def _measure(model: GPTJ, task: Task, batch: Batch, interventions: Sequence[Intervention]) -> HopStrength:
    length = batch.tokens.shape[1]
    first = length - task.pointing  # pointers stand here and after
    both = np.full((2, model.config.layers, model.config.heads, task.max_hops, task.max_hops, len(batch)), np.nan)
    hops = list(path_hops(task, batch))

    def look(call: AttentionCall) -> Edit | None:
        layer = changes.attend(call.read(inputs.places(range(first, length))))
        logits = layer.logits()  # [batch, head, query, key]
        for to_go, jump, rows, queries, goals in hops:
            asked = logits[rows, :, queries - first]  # [some, head, key]
            right = task.vocabulary.same_meaning(batch.tokens[rows], goals)
            both[:, layer.layer, :, to_go - 1, jump - 1, rows] = lead(asked, right)
        return changes.edit(call)

    own = OwnModel(model)
    inputs = replace(own.inputs(batch.tokens), last=1)
    changes = Changes(own, inputs, interventions)
    answers = own.forward(inputs, look, range(model.config.layers))[:, -1].argmax(-1)  # one pass for hops and answers
    return HopStrength(both[0], both[1], answers.cpu().numpy() == batch.answers)


def lead(logits: Float[Tensor, "n head key"], right: Bool[np.ndarray, "n key"]) -> Float[np.ndarray, "n 2 head"]:
    """The margin of the right keys over the others, and the attention on them; invisible keys have -inf."""
    here = torch.as_tensor(right, device=logits.device)[:, None]
    margin = logits.masked_fill(~here, -torch.inf).amax(-1) - logits.masked_fill(here, -torch.inf).amax(-1)
    mass = logits.softmax(-1).masked_fill(~here, 0).sum(-1)
    return torch.stack([margin, mass], 1).double().cpu().numpy()


def path_hops(
    task: Task, batch: Batch
) -> Iterator[tuple[int, int, Int[np.ndarray, "n"], Int[np.ndarray, "n"], Int[np.ndarray, "n"]]]:
    """Every kind of hop: to go, jump, the inputs that have it, where it starts and where it leads."""
    for to_go in range(1, task.max_hops + 1):
        (rows,) = np.nonzero(batch.hops >= to_go)
        start = batch.hops[rows] - to_go
        for jump in range(1, to_go + 1):
            if len(rows):
                yield to_go, jump, rows, batch.paths[rows, start], batch.paths[rows, start + jump]


def hop_rows(source: str, length: int, strength: HopStrength, seed: int = 0) -> list[Hop]:
    """One row for each cell that occurs; infinite margins (no rival in sight) are left out of the mean margin."""
    cells = [tuple(cell) for cell in np.argwhere(~np.isnan(strength.mass).all(-1)).tolist()]
    if not cells:
        return []
    margin = np.stack([strength.margin[cell] for cell in cells], 1)  # [n, cell]
    mass = np.stack([strength.mass[cell] for cell in cells], 1)
    margins, masses = _means(np.where(np.isinf(margin), np.nan, margin), seed), _means(mass, seed)
    rows = []
    for index, (layer, head, to_go, jump) in enumerate(cells):
        n = int((~np.isnan(mass[:, index])).sum())
        leads, holds = share(int((margin[:, index] > 0).sum()), n), share(int((mass[:, index] > HELD).sum()), n)
        cell = layer, head, to_go + 1, jump + 1
        rows.append(Hop(source, length, *cell, margins[index], masses[index], leads, holds))
    return rows


def _means(values: Float[np.ndarray, "n cell"], seed: int) -> list[Estimate]:
    """The mean of each cell over the inputs that have it."""
    known = ~np.isnan(values)
    counts, totals = known.sum(0), np.where(known, values, 0.0).sum(0)
    means = np.divide(totals, counts, out=np.full(len(counts), np.nan), where=counts > 0)
    ends = bootstrap_interval(values, resamples=RESAMPLES, seed=seed)
    columns = zip(means, *ends, counts, strict=True)
    return [Estimate(float(mean), float(low), float(high), int(n)) for mean, low, high, n in columns]


def chain_rows(
    source: str, length: int, strength: HopStrength, hops: Int[np.ndarray, "n"], working: Sequence[Cell]
) -> list[Chain]:
    """The share of inputs for which every working cell on the path holds; none if no cell works."""
    if not working:
        return []
    at = [(layer, head, to_go - 1, jump - 1) for layer, head, to_go, jump in working]
    rows = []
    for rule, values, above in ((MARGIN, strength.margin, 0.0), (MASS, strength.mass, HELD)):
        each = np.stack([values[cell] for cell in at])  # [cell, n]
        whole = np.asarray(((each > above) | np.isnan(each)).all(0))
        rows += [Chain(source, rule, length, hop, estimate, len(at)) for hop, estimate in shares_by_hop(whole, hops)]
    return rows
