"""What a head does, judged by where it looks: the share of queries whose strongest key plays a role (Section 3.2).

The queries are the pointers on the path of an input, p_0 (the last token) to p_(h-1). Each stands some hops away from
the answer: p_r is h - r away, and this *distance* decides which layer can bring the answer to it. For every head:

- ``index`` or ``retrieval``: the strongest key is where Index (number task) or Retrieval (letter task) would look, one
  hop ahead;
- ``equivalent``: it is another position that leads to the same answer and is as near to it as the one pointed at;
- ``beyond``: it leads to the same answer and is nearer by two or more hops, where the paper's functions never look;
- ``itself`` (Reflexive) and ``previous``: the query's own position, and the one before it;
- ``elsewhere``: none of these.

The token before a pointer may also be the one it points at, so the shares can add up to more than one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from whatwhere.errors import WhatwhereError
from whatwhere.heads.estimate import Estimate, share
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.vocabulary import Vocabulary


@dataclass(frozen=True)
class RoleShare:
    """How often one head's strongest key plays a role."""

    layer: int
    head: int
    queries: str
    """``path`` for all pointers of the path, ``last`` for the last token alone."""
    distance: int | None
    """Hops from the query to the answer; None for all distances, each query counted by itself."""
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
    strongest: Int[np.ndarray, "layer n head seq"], batch: Batch, vocabulary: Vocabulary
) -> list[RoleShare]:
    """Counts the roles of every head.

    Args:
        strongest: the key to which each query pays most attention.
        batch: the inputs, with their paths.
        vocabulary: of the task.

    Raises:
        WhatwhereError: there are no inputs.
    """
    if not len(batch):
        raise WhatwhereError("expected at least one input to count roles on, got none; did the model solve none?")
    there = vocabulary.goals(batch.tokens)
    nearer = hops_nearer(strongest, batch.tokens, vocabulary)
    rows: list[RoleShare] = []
    distances = range(1, int(batch.hops.max()) + 1)
    for queries in ("path", "last"):
        found: list[dict[str, Bool[np.ndarray, "layer n head"]]] = []
        for distance in distances:
            (inputs,) = np.nonzero(batch.hops >= distance if queries == "path" else batch.hops == distance)
            if len(inputs):
                roles = _roles(strongest, nearer, batch, there, inputs, distance, vocabulary.function)
                found.append(roles)
                rows += _rows(roles, queries, distance)
        pooled = {role: np.concatenate([roles[role] for roles in found], 1) for role in found[0]}
        rows += _rows(pooled, queries, None)
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
    """Which role the strongest key of the pointer at this distance plays, in each layer, input and head."""
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


def _rows(roles: dict[str, Bool[np.ndarray, "layer n head"]], queries: str, distance: int | None) -> list[RoleShare]:
    return [
        RoleShare(layer, head, queries, distance, role, share(int(count), holds.shape[1]))
        for role, holds in roles.items()
        for (layer, head), count in np.ndenumerate(holds.sum(1))
    ]
