"""Scores from matrices M: by swaps, as the paper defines them, and by all permutations of the keys.

The paper restricts permutations to swaps, as "no loss of generality": each permutation is a composition of swaps
(Appendix "Positional and symbolic scores"). A permutation puts the content of ``pi(j)`` at place j. Over the places
that it moves, attention after it is compared with attention before it, at the same place (positional) or with the same
content (symbolic), by cosine as for a swap. The permutation moves the mass ``sum_j |D_pi(j) - D_j| / 2``, which is
``|D_i - D_j|`` for a swap, and weighs ``softmax(mass / tau)`` over all permutations but the identity.

Few keys: all permutations are listed. Many: Metropolis's chain draws them by their weights. Its step exchanges two
contents. Unless the mass is already the largest, some exchange does not lower it, so a chain cannot get stuck.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from whatwhere.heads.swaps import all_swaps, factors, weighted_means

BURN_IN, SAMPLES, THINNING = 300, 100, 10
"""Steps that are thrown away, permutations that are kept of each chain, and steps between two of them."""
LISTED = 6
"""Up to this number of keys (720 permutations) all permutations are listed."""
ROWS = 512
"""Rows at a time, where permutations are listed: some tens of megabytes."""


class Sampled(NamedTuple):
    """Scores by all permutations."""

    scores: Float[Tensor, "2 row"]
    """Positional, symbolic."""
    variance: Float[Tensor, "2 row"]
    """Of each score, due to drawing permutations; 0 where all are listed."""


def swap_scores(matrices: Float[Tensor, "row n n"], taus: Sequence[float]) -> Float[Tensor, "tau 2 row"]:
    """The paper's scores of the last query at several temperatures."""
    n = matrices.shape[-1]
    logits = matrices.diagonal(dim1=-2, dim2=-1)  # [row, place]
    movable = (torch.arange(n) < n - 1)[None]
    swaps = all_swaps(movable)
    i, j = swaps.key[swaps.first], swaps.key[swaps.second]
    before, after = logits[:, i] - logits[:, j], matrices[:, j, i] - matrices[:, i, j]
    shared = factors(logits.softmax(-1)[:, None], 1.0, movable)
    weightings = [shared._replace(tau=tau) for tau in taus]
    return weighted_means(before.T, after.T, swaps, weightings)[..., 0]


def permutation_scores(matrices: Float[Tensor, "row n n"], tau: float, seed: int = 0) -> Sampled:
    """The same by all permutations of the keys; listed if they are few, drawn otherwise."""
    keys = matrices.shape[-1] - 1
    mass = matrices.diagonal(dim1=-2, dim2=-1).softmax(-1)[:, :keys]
    if keys <= LISTED:
        listed = torch.tensor(list(itertools.permutations(range(keys)))[1:])  # the first is the identity
        parts = []
        for some, own in zip(matrices.split(ROWS), mass.split(ROWS), strict=True):
            weights = (moved_mass(own[:, None], listed[None]) / tau).softmax(-1)  # [row, permutation]
            parts.append(torch.stack([(weights * c).sum(-1) for c in cosines(some[:, None], listed[None])]))
        scores = torch.cat(parts, -1)
        return Sampled(scores, torch.zeros_like(scores))
    sums = torch.zeros(2, 2, len(matrices), dtype=torch.float64)  # [half of the chain, score, row]
    for step, chosen in enumerate(_chain(mass, tau, seed)):
        sums[2 * step // SAMPLES] += torch.stack(cosines(matrices, chosen))
    halves = sums / (SAMPLES // 2)
    return Sampled(halves.mean(0), (halves[0] - halves[1]).square() / 4)


def moved_mass(mass: Float[Tensor, "*#any key"], order: Int[Tensor, "*#any key"]) -> Float[Tensor, "*any"]:
    """How much attention a permutation moves if attention goes with the contents; -inf for the identity."""
    mass, order = torch.broadcast_tensors(mass, order)
    moved = (mass.gather(-1, order) - mass).abs().sum(-1) / 2
    return moved.masked_fill((order == torch.arange(order.shape[-1])).all(-1), -torch.inf)


def cosines(
    matrices: Float[Tensor, "*#any n n"], order: Int[Tensor, "*#any key"]
) -> tuple[Float[Tensor, "*any"], Float[Tensor, "*any"]]:
    """The positional and the symbolic cosine of permutations, over the places that each moves."""
    keys = order.shape[-1]
    batch = torch.broadcast_shapes(matrices.shape[:-2], order.shape[:-1])
    order = order.expand(*batch, keys)
    inner = matrices[..., :keys, :keys].expand(*batch, keys, keys)
    after = inner.gather(-2, order[..., None, :])[..., 0, :]  # the content of pi(j) at place j
    before = inner.diagonal(dim1=-2, dim2=-1)
    still = order == torch.arange(keys)
    new, at_place, of_content = (_unscaled(logits, still) for logits in (after, before, before.gather(-1, order)))
    return _cosine(new, at_place), _cosine(new, of_content)


def _unscaled(logits: Float[Tensor, "*any key"], still: Bool[Tensor, "*any key"]) -> Float[Tensor, "*any key"]:
    """Attention over the places that move, up to a factor, which a cosine ignores."""
    moving = logits.masked_fill(still, -torch.inf)
    return (moving - moving.amax(-1, keepdim=True)).exp()


def _cosine(one: Float[Tensor, "*any key"], other: Float[Tensor, "*any key"]) -> Float[Tensor, "*any"]:
    return (one * other).sum(-1) / (one.square().sum(-1) * other.square().sum(-1)).sqrt()


def _chain(mass: Float[Tensor, "row key"], tau: float, seed: int) -> Iterator[Int[Tensor, "row key"]]:
    """Permutations of one Metropolis chain per row, drawn by ``exp(moved mass / tau)``."""
    random = torch.Generator().manual_seed(seed)
    rows, keys = mass.shape
    order = torch.rand(rows, keys, generator=random).argsort(-1)
    moved = (mass.gather(-1, order) - mass).abs().sum(-1) / 2  # kept up to date: an exchange changes two terms of it
    fixed = (order == torch.arange(keys)).sum(-1)
    for step in range(BURN_IN + SAMPLES * THINNING):
        i = torch.randint(keys, (rows,), generator=random)
        j = (i + torch.randint(1, keys, (rows,), generator=random)) % keys
        places = torch.stack([i, j], 1)  # [row, 2]
        old, own = order.gather(1, places), mass.gather(1, places)
        new, there = old.flip(1), mass.gather(1, old)
        change = ((there.flip(1) - own).abs() - (there - own).abs()).sum(1) / 2
        then, still = moved + change, fixed + (new == places).sum(1) - (old == places).sum(1)
        gain = (then.masked_fill(still == keys, -torch.inf) - moved.masked_fill(fixed == keys, -torch.inf)) / tau
        accept = torch.rand(rows, generator=random, dtype=torch.float64).log() < gain
        order.scatter_(1, places, torch.where(accept[:, None], new, old))
        moved, fixed = torch.where(accept, then, moved), torch.where(accept, still, fixed)
        if step >= BURN_IN and (step - BURN_IN) % THINNING == 0:
            yield order.clone()
