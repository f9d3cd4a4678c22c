"""Who is who among the letters of a sequence: the three generators of the letter task.

A generator decides the *role* of the letter on each side of each token; which letter plays which role is drawn
afterwards, so that no letter and no integer carries a hint. Role 0 is always the left letter of the answer.

- :func:`paper_roles`, the default: the authors' data. No token off the path points at a letter of the path, which
  leaks the answer (docs/tasks.md measures how much).
- :func:`decoy_roles` hides the path: the leak-free control (docs/tasks.md tells why each part is there).
- :func:`strict_roles`: equal left letters mean equal tokens everywhere, the condition under which Theorem 1 holds for
  Retrieval without a tie (erratum E4). It leaks the answer, and is meant for the theory only.

Arrays are [position, n]: one operation handles one position of every sequence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from whatwhere.tasks.balance import below, random_subset, running_count

Role = np.int16
"""Small, since the speed here is that of memory."""
ANSWER = 0
DECOYS = 2
"""Target tokens that look like answers: alone with their left letter, and pointed at."""
TO_LINK = 0.3
"""How often a token that is free to point anywhere points at a link to its left rather than at the answer or a decoy.

More of them tell less about where chains lead, and more about how often the answer is pointed at in one-hop inputs."""


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


def paper_letters(max_hops: int) -> int:
    """Letters that :func:`paper_roles` needs: those of the path, and one for all other tokens."""
    return max_hops + 1


def paper_roles(
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
    """Roles 0 .. hops-1 are the letters of the path; every letter off it is drawn from the others, with replacement."""
    del max_hops
    n = len(hops)

    def off_path(count: int) -> Int[np.ndarray, "count n"]:
        return (hops + rng.random((count, n), dtype=np.float32) * (letters - hops)).astype(Role)

    left, right = off_path(target + context + 1), off_path(context + 1)
    left[places, np.arange(n)] = ANSWER
    visited = random_subset(rng, np.ones((context, n), bool), hops - 1)
    tip = np.full(n, ANSWER, Role)  # what the next token of the path points at; links count from role 1
    for c in range(context):
        left[target + c] = np.where(visited[c], tip + 1, left[target + c])
        right[c] = np.where(visited[c], tip, right[c])
        tip += visited[c]
    right[context] = tip
    integer = (rng.random((target, n), dtype=np.float32) * integers).astype(Role)
    return Roles(left, right, integer, visited)


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
    """Roles 1 and 2 are decoys, the next ``max_hops`` links (tokens that point and may be pointed at), the rest free.

    The answer and the decoys are exchangeable in all that one can see without following a pointer from the query: each
    is alone with its left letter, has one token that surely points at it at an equally likely position, and every way
    to share the other pointers is equally likely. All hop classes have the same number of links, on the path or not.
    """
    n = len(hops)
    rows = np.arange(n)
    first_link, first_free = 1 + DECOYS, 1 + DECOYS + max_hops
    left = first_free + (rng.random((target + context + 1, n), dtype=np.float32) * (letters - first_free)).astype(Role)
    right = np.empty((context + 1, n), Role)

    decoy = random_subset(rng, np.arange(target)[:, None] != places, np.full(n, DECOYS))
    left[:target] = np.where(decoy, running_count(decoy), left[:target])
    left[places, rows] = ANSWER

    # Up to three tokens end chains, one at the answer and one at each decoy; the path goes through any of them, then
    # through later tokens, for which there must be room. (One hop has none: its chain is the query.)
    room = np.where(hops > 1, context - hops + 2, 0)
    ends = random_subset(rng, np.arange(context)[:, None] < room, np.minimum(1 + DECOYS, room))
    visited = random_subset(rng, ends, np.minimum(hops - 1, 1))
    decoy_end = ends & ~visited
    visited |= random_subset(rng, (running_count(visited) > 0) & ~ends, np.maximum(hops - 2, 0))
    # Links off the path end at decoys first, so that longer chains lead there as well.
    off_path = max_hops - (hops - 1)
    side_link = decoy_end & (running_count(decoy_end) <= off_path)
    others = ~visited & ~decoy_end
    side_link |= random_subset(rng, others, np.minimum(off_path - side_link.sum(0), others.sum(0)))

    links, told = np.zeros((2, n), Role)  # so far: links, and decoys at which a chain ended
    tip = np.full(n, ANSWER, Role)  # what the next token of the path points at
    orphan = np.zeros(n, Role)  # a link to a decoy at which nothing points yet, or 0
    urn = np.ones((1 + DECOYS, n), Role)
    for c in range(context):
        told += decoy_end[c]
        feed = others[c] & (orphan > 0)
        to_link = others[c] & ~feed & (links > 0) & (rng.random(n, dtype=np.float32) < TO_LINK)
        anywhere = others[c] & ~feed & ~to_link
        # Polya's urn: each draw adds one of its kind, and then all shares of the pointers are equally likely.
        draw = rng.random(n, dtype=np.float32) * urn.sum(0)
        goal = sum((draw >= urn[:kind].sum(0)).astype(Role) for kind in range(1, 1 + DECOYS))
        for kind in range(1 + DECOYS):
            urn[kind] += anywhere & (goal == kind)
        some_link = first_link + below(rng, links, n)
        # Exactly one of these holds of each token.
        right[c] = visited[c] * tip + decoy_end[c] * told + feed * orphan + to_link * some_link + anywhere * goal
        link = first_link + links
        is_link = visited[c] | side_link[c]
        left[target + c] = np.where(is_link, link, left[target + c])
        tip = np.where(visited[c], link, tip)
        orphan = np.where(side_link[c] & decoy_end[c], link, np.where(feed, 0, orphan))
        links += is_link
    right[context] = tip
    integer = (rng.random((target, n), dtype=np.float32) * integers).astype(Role)
    return Roles(left, right, integer, visited)


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
    rows = np.arange(n)
    query = max_hops
    first_target, first_pointer = query + 1, query + 1 + (letters - query) // 2
    left = np.empty((target + context + 1, n), Role)
    right = np.empty((context + 1, n), Role)

    for p in range(target):
        left[p] = np.where(places == p, ANSWER, first_target + below(rng, first_pointer - first_target, n))
    # One token for each letter: its integer, or the target token that it points at.
    integer_of = (rng.random((letters, n), dtype=np.float32) * integers).astype(Role)
    goal_of = left[(rng.random((letters, n), dtype=np.float32) * target).astype(Role), rows]

    visited = random_subset(rng, np.ones((context, n), bool), hops - 1)
    tip = np.full(n, ANSWER, Role)  # what the next token of the path points at; links count from role 1
    for c in range(context):
        pointer = first_pointer + below(rng, letters - first_pointer, n)
        left[target + c] = np.where(visited[c], tip + 1, pointer)
        right[c] = np.where(visited[c], tip, goal_of[pointer, rows])
        tip += visited[c]
    left[target + context] = query
    right[context] = tip
    return Roles(left, right, integer_of[left[:target], rows], visited)
