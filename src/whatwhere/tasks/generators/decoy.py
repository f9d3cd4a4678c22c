"""The leak-free control: a generator that hides the answer among decoys (docs/tasks.md says why)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from whatwhere.tasks.balance import below, random_subset, running_count
from whatwhere.tasks.generators.generator import ANSWER, Generator, Role, Roles, letters_pointed_at, uniform
from whatwhere.tasks.vocabulary import Each

if TYPE_CHECKING:
    from whatwhere.tasks.letter import LetterTask

DECOYS = 2
"""Target tokens that look like answers: alone with their left letter, and pointed at."""
TO_LINK = 0.3
"""How often a token that is free to point anywhere points at a link to its left rather than at the answer or a decoy.

More of them tell less about where chains lead, and more about how often the answer is pointed at in one-hop inputs."""


class Decoy(Generator):
    """Roles 1 and 2 are decoys, the next ``max_hops`` links (tokens that point and may be pointed at), the rest free.

    The answer and the decoys are exchangeable in all that one can see without following a pointer from the query: each
    is alone with its left letter, has one token that surely points at it at an equally likely position, and each share
    of the other pointers is equally likely. All hop classes have the same number of links, on the path or not.
    """

    name: ClassVar[str] = "decoy"
    target_needed: ClassVar[int] = 1 + DECOYS
    spare_letters: ClassVar[int] = 2 + DECOYS  # the answer's beside those of max_hops links, the decoys'
    reserved = staticmethod(letters_pointed_at)

    def draw(self, rng: np.random.Generator, hops: Each, places: Each, task: LetterTask) -> Roles:  # noqa: D102
        n, target, context = len(hops), task.target, task.context
        first_link, first_free = 1 + DECOYS, 1 + DECOYS + task.max_hops
        left = uniform(rng, (target + context + 1, n), first_free, task.letters)
        right = np.empty((context + 1, n), Role)

        decoy = random_subset(rng, np.arange(target)[:, None] != places, np.full(n, DECOYS))
        left[:target] = np.where(decoy, running_count(decoy), left[:target])
        left[places, np.arange(n)] = ANSWER

        # Up to three tokens end chains, one at the answer and one at each decoy; the path goes through any of them,
        # then through later tokens, for which there must be room. (One hop has none: its chain is the query.)
        room = np.where(hops > 1, context - hops + 2, 0)
        ends = random_subset(rng, np.arange(context)[:, None] < room, np.minimum(1 + DECOYS, room))
        visited = random_subset(rng, ends, np.minimum(room, 1))
        decoy_end = ends & ~visited
        visited |= random_subset(rng, (running_count(visited) > 0) & ~ends, np.maximum(hops - 2, 0))
        # Links off the path end at decoys first, so that longer chains lead there as well.
        off_path = task.max_hops - (hops - 1)
        side_link = decoy_end & (running_count(decoy_end) <= off_path)
        others = ~visited & ~decoy_end
        side_link |= random_subset(rng, others, np.minimum(off_path - side_link.sum(0), others.sum(0)))

        links, ended = np.zeros((2, n), Role)  # so far: links, and decoys at which a chain ended
        tip = np.full(n, ANSWER, Role)  # what the next token of the path points at
        orphan = np.zeros(n, Role)  # a link to a decoy at which nothing points yet, or 0
        urn = np.ones((1 + DECOYS, n), Role)
        for c in range(context):
            ended += decoy_end[c]
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
            right[c] = visited[c] * tip + decoy_end[c] * ended + feed * orphan + to_link * some_link + anywhere * goal
            link = first_link + links
            is_link = visited[c] | side_link[c]
            left[target + c] = np.where(is_link, link, left[target + c])
            tip = np.where(visited[c], link, tip)
            orphan = np.where(side_link[c] & decoy_end[c], link, np.where(feed, 0, orphan))
            links += is_link
        right[context] = tip
        return Roles(left, right, uniform(rng, (target, n), 0, task.integers, np.int32), visited)
