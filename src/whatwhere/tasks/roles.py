"""Who is who among the letters of a sequence: the two generators of the letter task.

A generator decides the *role* of the letter on each side of each token; which letter plays which role is drawn
afterwards, so no letter and no integer carries a hint. Role 0 is always the left letter of the answer.

- :func:`decoy_roles`, the default: the sequences that the path does not need are built so that its parts do not stand
  out. The answer is one of three target tokens that are alone with their left letter and pointed at; a fixed number of
  *links* (tokens that point, and that others may point at) is used in every hop class, the path's or not.
- :func:`strict_roles`: equal left letters mean equal tokens everywhere, the condition under which Theorem 1 holds for
  Retrieval without a tie (erratum E4). It leaks, and is meant for the theory only.

Arrays are [position, n]: one operation handles one position of every sequence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from whatwhere.tasks.balance import below, random_subset

ANSWER = 0
DECOYS = 2
"""Target tokens that look like answers: alone with their left letter, and pointed at."""
TO_LINK = 0.4
"""How often an off-path token points at a link to its left, if there is one, rather than at a target token."""
TO_ANSWER = 0.2
"""How often an off-path token that points at a target token points at the answer rather than at a decoy.

The path itself points at the answer once, often from the first pre-target token, so a third would be too many."""


@dataclass(frozen=True, eq=False)
class Roles:
    """The roles in each sequence."""

    left: Int[np.ndarray, "seq n"]
    right: Int[np.ndarray, "pointers n"]
    """The role that each pre-target token and the query point at."""
    integer: Int[np.ndarray, "target n"]
    """Right components of the target window, from 0; the answer's is overruled by the prescribed one."""
    visited: Bool[np.ndarray, "context n"]
    """Which pre-target tokens the path visits."""


def decoy_letters(max_hops: int) -> int:
    """Letters that :func:`decoy_roles` needs: the answer, the decoys, the links and one that nobody points at."""
    return 1 + DECOYS + max_hops + 1


def decoy_roles(
    rng: np.random.Generator,
    hops: Int[np.ndarray, "n"],
    places: Int[np.ndarray, "n"],
    *,
    letters: int,
    integers: int,
    target: int,
    context: int,
    max_hops: int,
) -> Roles:
    """Roles 1, 2 are decoys, the next ``max_hops`` links (the path's h-1 first), and the others free."""
    n = len(hops)
    first_link, first_free = 1 + DECOYS, 1 + DECOYS + max_hops
    left = first_free + (rng.random((target + context + 1, n), dtype=np.float32) * (letters - first_free)).astype(int)
    right = np.empty((context + 1, n), np.int64)

    decoy = random_subset(rng, np.arange(target)[:, None] != places, np.full(n, DECOYS))
    for p in range(target):
        left[p] = np.where(decoy[p], decoy[: p + 1].sum(0), left[p])
    left[places, np.arange(n)] = ANSWER

    visited = random_subset(rng, np.ones((context, n), bool), hops - 1)
    off_path = context - (hops - 1)
    side_link = random_subset(rng, ~visited, np.minimum(max_hops - (hops - 1), off_path))
    to_decoy = random_subset(rng, ~visited, np.minimum(DECOYS, off_path))
    path, side, told = np.zeros((3, n), np.int64)  # so far: links of the path, other links, decoys pointed at
    for c in range(context):
        link = below(rng, path + side, n)
        link = first_link + np.where(link < path, link, hops - 1 + link - path)
        goal = np.where(rng.random(n, dtype=np.float32) < TO_ANSWER, ANSWER, 1 + below(rng, DECOYS, n))
        goal = np.where((rng.random(n, dtype=np.float32) < TO_LINK) & (path + side > 0), link, goal)
        told += to_decoy[c]
        goal = np.where(to_decoy[c], told, goal)
        right[c] = np.where(visited[c], _end_of(path, first_link), goal)

        p = target + c
        left[p] = np.where(visited[c], first_link + path, left[p])
        left[p] = np.where(side_link[c], first_link + hops - 1 + side, left[p])
        path += visited[c]
        side += side_link[c]
    right[context] = _end_of(path, first_link)
    integer = (rng.random((target, n), dtype=np.float32) * integers).astype(int)
    return Roles(left, right, integer, visited)


def _end_of(path: Int[np.ndarray, "n"], first_link: int) -> Int[np.ndarray, "n"]:
    """What the next token of the path points at: the link before it, or the answer."""
    return np.where(path > 0, first_link + path - 1, ANSWER)


def strict_letters(max_hops: int) -> int:
    """Letters that :func:`strict_roles` needs: the path's, the query's, and one more on each side."""
    return max_hops + 3


def strict_roles(
    rng: np.random.Generator,
    hops: Int[np.ndarray, "n"],
    places: Int[np.ndarray, "n"],
    *,
    letters: int,
    integers: int,
    target: int,
    context: int,
    max_hops: int,
) -> Roles:
    """Roles 1 .. max_hops-1 are links, then the query's, then half the rest target letters and half pointers."""
    n = len(hops)
    first_link, query = 1, max_hops
    first_target, first_pointer = query + 1, query + 1 + (letters - query) // 2
    left = np.empty((target + context + 1, n), np.int64)
    right = np.empty((context + 1, n), np.int64)
    rows = np.arange(n)

    for p in range(target):
        left[p] = np.where(places == p, ANSWER, first_target + below(rng, first_pointer - first_target, n))
    # One token for each letter: its integer, or the target token that it points at.
    integer_of = (rng.random((letters, n), dtype=np.float32) * integers).astype(int)
    goal_of = left[(rng.random((letters, n), dtype=np.float32) * target).astype(int), rows]

    visited = random_subset(rng, np.ones((context, n), bool), hops - 1)
    path = np.zeros(n, np.int64)
    for c in range(context):
        pointer = first_pointer + below(rng, letters - first_pointer, n)
        left[target + c] = np.where(visited[c], first_link + path, pointer)
        right[c] = np.where(visited[c], _end_of(path, first_link), goal_of[pointer, rows])
        path += visited[c]
    left[target + context] = query
    right[context] = _end_of(path, first_link)
    return Roles(left, right, integer_of[left[:target], rows], visited)
