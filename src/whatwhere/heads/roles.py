"""Roles of heads: the share of queries whose strongest key has a role (Section 3.2).

The queries are the pointers on the path of an input, p_0 (the last token) to p_(h-1). Pointer p_r is h - r hops away
from the answer; this *distance* decides which layer can bring the answer to it. For every head:

- ``index`` or ``retrieval``: the strongest key is where Index (number task) or Retrieval (letter task) would look, one
  hop ahead;
- ``equivalent``: it is another position that leads to the same answer and is as near to it as the one pointed at;
- ``beyond``: it leads to the same answer and is nearer by two or more hops, where the paper's functions never look;
- ``itself`` (Reflexive) and ``previous``: the query's own position, and the one before it;
- ``elsewhere``: none of these.

The token before a pointer may also be the one it points at, so the shares can add up to more than one. Pointers of one
input are not independent, so intervals over several of them are by input.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from whatwhere.errors import WhatwhereError
from whatwhere.heads.estimate import Estimate, clustered_shares
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.vocabulary import Vocabulary


@dataclass(frozen=True)
class RoleShare:
    """How often one head's strongest key has a role."""

    layer: int
    head: int
    queries: str
    """``path`` for all pointers of the path, ``last`` for the last token alone, ``served`` for some distances."""
    distance: int | None
    """Hops from the query to the answer; None for several distances, each query counted by itself."""
    role: str
    share: Estimate
    """Of the queries."""


def destinations(
    tokens: Int[np.ndarray, "n seq"], vocabulary: Vocabulary
) -> tuple[Int[np.ndarray, "n seq"], Int[np.ndarray, "n seq"]]:
    """Where the chain of pointers from each position ends, and after how many hops; -1 and -1 if it leads nowhere."""
    there = vocabulary.goals(tokens)
    place = np.tile(np.arange(tokens.shape[1]), (len(tokens), 1))
    hops = np.zeros_like(place)
    while (moving := (ahead := np.take_along_axis(there, place, 1)) >= 0).any():
        place = np.where(moving, ahead, place)
        hops += moving
    answered = ~vocabulary.points(np.take_along_axis(tokens, place, 1))
    return np.where(answered, place, -1), np.where(answered, hops, -1)


def hops_nearer(
    strongest: Int[np.ndarray, "layer n head seq"], tokens: Int[np.ndarray, "n seq"], vocabulary: Vocabulary
) -> Float[np.ndarray, "layer n head seq"]:
    """How many hops nearer to its answer than a query its strongest key is; NaN if it leads elsewhere."""
    ends, hops = destinations(tokens, vocabulary)
    rows = np.arange(len(tokens))[:, None, None]
    same = (ends[rows, strongest] == ends[:, None]) & (ends[:, None] >= 0)
    return np.where(same, hops[:, None] - hops[rows, strongest], np.nan)


def role_shares(
    strongest: Int[np.ndarray, "layer n head seq"],
    batch: Batch,
    vocabulary: Vocabulary,
    served: Mapping[int, Collection[int]] | None = None,
) -> list[RoleShare]:
    """Counts the roles of every head.

    ``strongest`` is the key to which each query pays most attention; ``served`` holds, for some layers, the distances
    that are counted together as ``served``.

    Raises:
        WhatwhereError: there are no inputs.
    """
    if not len(batch):
        raise WhatwhereError("expected at least one input to count roles on, got none; did the model solve none?")
    there = vocabulary.goals(batch.tokens)
    nearer = hops_nearer(strongest, batch.tokens, vocabulary)
    rows: list[RoleShare] = []
    for queries in ("path", "last"):
        asked: dict[int, Int[np.ndarray, "chosen"]] = {}
        found: dict[int, dict[str, Bool[np.ndarray, "layer chosen head"]]] = {}
        for distance in range(1, int(batch.hops.max()) + 1):
            (inputs,) = np.nonzero(batch.hops >= distance if queries == "path" else batch.hops == distance)
            if len(inputs):
                asked[distance] = inputs
                found[distance] = _roles(strongest, nearer, batch, there, inputs, distance, vocabulary.function)
                rows += _rows(found[distance], inputs, queries, distance)
        together = {(queries, None): list(found)}
        if queries == "path":
            together |= {
                ("served", layer): [at for at in some if at in found] for layer, some in (served or {}).items()
            }
        for (name, layer), distances in together.items():
            if distances:
                parts = [found[distance] for distance in distances]
                pooled = {role: np.concatenate([roles[role] for roles in parts], 1) for role in parts[0]}
                rows += _rows(pooled, np.concatenate([asked[distance] for distance in distances]), name, None, layer)
    return rows


def _roles(
    strongest: Int[np.ndarray, "layer n head seq"],
    nearer: Float[np.ndarray, "layer n head seq"],
    batch: Batch,
    there: Int[np.ndarray, "n seq"],
    inputs: Int[np.ndarray, "chosen"],
    distance: int,
    goal: str,
) -> dict[str, Bool[np.ndarray, "layer chosen head"]]:
    """The roles of the strongest key of the pointer at this distance, in each layer, input and head."""
    query = batch.paths[inputs, batch.hops[inputs] - distance]
    keys = strongest[:, inputs, :, query].transpose(1, 0, 2)  # [chosen, layer, head] -> [layer, chosen, head]
    ahead = nearer[:, inputs, :, query].transpose(1, 0, 2)
    at_goal = keys == there[inputs, query][:, None]
    roles = {
        goal: at_goal,
        "equivalent": (ahead == 1) & ~at_goal,
        "beyond": ahead >= 2,
        "itself": keys == query[:, None],
        "previous": keys == query[:, None] - 1,
    }
    return roles | {"elsewhere": ~np.logical_or.reduce(list(roles.values()))}


def _rows(
    roles: dict[str, Bool[np.ndarray, "layer n head"]],
    inputs: Int[np.ndarray, "n"],
    queries: str,
    distance: int | None,
    only: int | None = None,
) -> list[RoleShare]:
    """One row for each role and head, of all layers or of one."""
    cells = [
        (layer, head) for layer, head in np.ndindex(*next(iter(roles.values())).shape[::2]) if only in (None, layer)
    ]
    return [
        RoleShare(layer, head, queries, distance, role, share)
        for role, holds in roles.items()
        for (layer, head), share in zip(
            cells, clustered_shares(np.stack([holds[at, :, head] for at, head in cells], 1), inputs), strict=True
        )
    ]
