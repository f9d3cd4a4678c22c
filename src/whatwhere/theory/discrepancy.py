"""The margin of the wanted key: exact discrepancies and their bounds (Theorem 2; errata E5, E6, E7, E9).

The discrepancy of one input is the logit of the wanted key minus the largest logit of a key that holds another token.
The paper uses one word for three things, which are kept apart here:

- *per input*: :func:`index_discrepancy`, and :func:`measured_discrepancy` for any construction;
- *largest* over the inputs of a length, as the definition and Theorem 2 say: ``*_largest``;
- *smallest* over the inputs of a length, which is what the lemma, the figure and every robustness argument need (there
  lambda(n)): ``*_smallest``.

``*_printed_bound`` is the paper's; ``*_bound`` is one that holds for the notion in its name. All are for beta = 1.
Lengths ``n`` count tokens, the query included.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from whatwhere.errors import WhatwhereError
from whatwhere.theory.arguments import check_angle, check_index_angle, check_integers, check_length, check_letters
from whatwhere.theory.construction import Construction
from whatwhere.trace.layer import Tokens
from whatwhere.trace.traceable import trace


def measured_discrepancy(construction: Construction, tokens: Tokens, wanted: Tokens) -> Float[np.ndarray, "batch seq"]:
    """The per-input discrepancy of every query, read from the trace; negative where a wrong key wins.

    ``wanted`` is the id that each position should attend to. NaN where no visible key holds it, or none another one.
    """
    ids, sought = np.asarray(tokens), np.asarray(wanted)
    layer = trace(construction, ids, queries=range(ids.shape[1])).layers[0]
    logits = layer.logits()[:, 0].numpy() / layer.scale  # [batch, query, key]
    holds = ids[:, None, :] == sought[:, :, None]
    best = np.where(holds, logits, -np.inf).max(-1)
    rival = np.where(holds, -np.inf, logits).max(-1)
    return np.where(np.isinf(best) | np.isinf(rival), np.nan, best - np.where(np.isinf(rival), 0, rival))


# --- T_Index. The wanted key gets cos 0; a key t places from it, on either side, cos(t theta). Only the farthest
# distance T in the window matters: the discrepancy is the smallest 1 - cos(t theta) for t = 1 .. T.


def gaps(theta: float, farthest: int) -> Float[np.ndarray, "t"]:
    """1 - cos(t theta) for t = 1 .. farthest, as 2 sin^2(t theta / 2), which keeps its digits when it is tiny."""
    return 2 * np.sin(np.arange(1, farthest + 1) * theta / 2) ** 2


def index_discrepancy(query: int, n: int, theta: float) -> float:
    """Per input: it depends on the length and the last token only, an integer below n, or 0 for a letter."""
    check_index_angle(theta, n)
    if not 0 <= query < n:
        raise WhatwhereError(f"expected a query from 0 to {n - 1} (in range at length {n}), got {query}.")
    return float(gaps(theta, max(query, n - 1 - query)).min())


def index_smallest(n: int, theta: float) -> float:
    """Smallest over inputs: a letter query sees all distances up to n - 1."""
    return index_discrepancy(0, n, theta)


def index_largest(n: int, theta: float, integers: int | None = None) -> float:
    """Largest over inputs: the integer query that sits in the middle of its window.

    ``integers`` is the largest integer there is; any by default.
    """
    check_index_angle(theta, n)
    return float(gaps(theta, _narrowest_window(n, integers)).min())


def index_printed_bound(n: int, theta: float) -> float:
    """Theorem 2: min{1 - cos theta, 2 pi^2 / n^2}, printed for the largest discrepancy, where it fails (E5)."""
    check_length(n)
    return min(1 - math.cos(theta), 2 * math.pi**2 / n**2)


def index_smallest_bound(n: int, theta: float) -> float:
    """The same expression, which does hold for the smallest discrepancy, with another proof (E9).

    The n angles t theta, t = 0 .. n - 1, cut the circle into n arcs; one is at most 2 pi / n, and its ends are the
    angles of two distances that differ by some t <= n - 1. Then 1 - cos x <= x^2 / 2.
    """
    return index_printed_bound(n, theta)


def index_largest_bound(n: int, theta: float, integers: int | None = None) -> float:
    """What holds for the largest: the same argument on the narrowest window, T + 1 angles instead of n."""
    check_length(n)
    return min(1 - math.cos(theta), 2 * math.pi**2 / (_narrowest_window(n, integers) + 1) ** 2)


def _narrowest_window(n: int, integers: int | None) -> int:
    """The smallest farthest distance T = max(i, n - 1 - i) over the queries there are: ceil((n - 1) / 2) if any is."""
    if integers is not None:
        check_integers(integers)
    middle = n // 2
    return middle if integers is None or integers >= n - 1 - middle else n - 1 - integers


# --- T_Retrieval. The match at j gets cos((n - j) theta); a letter k places after it in the alphabet, at position j',
# cos(k omega + (n - j') theta). The worst is k = -1, which RoPE turns towards the match. LL queries, match before n.


def retrieval_smallest(n: int, theta: float, letters: int = 8) -> float:
    """Smallest over inputs: every place of the match against the strongest rival; below 0 a wrong token wins."""
    rivals = _rival_logits(n, theta, letters, toward=0)
    return float((_match_logits(n, theta) - _largest_elsewhere(rivals)).min())


def retrieval_smallest_formula(n: int, theta: float, letters: int = 8) -> float:
    """The closed form of :func:`retrieval_smallest` (E6): match in second place, rival in first.

        2 sin((omega - theta) / 2) sin((omega - (2 n - 3) theta) / 2),   n >= 3 and (2 n - 3) theta <= omega.

    Past that length it is not the smallest discrepancy, but it is below 0 just as that one is.
    """
    omega = _omega(n, theta, letters)
    if n == 2:
        return math.cos(theta) - math.cos(omega)
    return 2 * math.sin((omega - theta) / 2) * math.sin((omega - (2 * n - 3) * theta) / 2)


def retrieval_largest(n: int, theta: float, letters: int = 8) -> float:
    """Largest over inputs: one match next to the query, every other letter as far from it as the circle allows."""
    rivals = _rival_logits(n, theta, letters, toward=math.pi)
    return float((_match_logits(n, theta) - _largest_elsewhere(rivals)).max())


def retrieval_self_smallest(n: int, theta: float, letters: int = 8) -> float:
    """Smallest over inputs with an LI query and distinct left letters: the rival stands first."""
    return float(1 - _rival_logits(n, theta, letters, toward=0)[:-1].max())


def retrieval_printed_bound(n: int, theta: float, letters: int = 8) -> float:
    """Theorem 2: 1 - cos(omega - n theta), off by one, and rising again past n = omega / theta (E6)."""
    return 1 - math.cos(_omega(n, theta, letters) - n * theta)


def retrieval_smallest_bound(n: int, theta: float, letters: int = 8) -> float:
    """What holds for the smallest: 1 - cos(omega - (n - 1) theta), and no margin once that angle is used up.

    The farthest rival is n - 1 away; with n = 2 the match stands there, and the only rival is the query itself.
    """
    farthest = n - 1 if n > 2 else 0
    return 1 - math.cos(max(0.0, _omega(n, theta, letters) - farthest * theta))


def retrieval_largest_bound(n: int, theta: float, letters: int = 8) -> float:
    """What holds for the largest: the nearest match against the opposite point of the circle, 1 + cos theta."""
    _omega(n, theta, letters)
    return 1 + math.cos(theta)


def _omega(n: int, theta: float, letters: int) -> float:
    check_length(n)
    check_angle(theta)
    check_letters(letters)
    return math.tau / letters


def _largest_elsewhere(values: Float[np.ndarray, "n"]) -> Float[np.ndarray, "before"]:
    """For each place of the match, the largest rival at another place: no rival stands where the match does."""
    second, first = np.argsort(values)[-2:]
    largest = np.full(len(values), values[first])
    largest[first] = values[second]
    return largest[:-1]


def _match_logits(n: int, theta: float) -> Float[np.ndarray, "before"]:
    """The logit of a match at each position before the query, the first position first."""
    return np.cos(np.arange(n - 1, 0, -1) * theta)


def _rival_logits(n: int, theta: float, letters: int, toward: float) -> Float[np.ndarray, "n"]:
    """The logit, at each position, of the letter that is nearest to a direction of the circle.

    Letters k = 1 .. letters - 1 places after the sought one are the rivals. At distance t letter k stands at the angle
    k omega + t theta; the nearest k to a direction is found by rounding, so the cost does not grow with the alphabet.
    The direction is 0 for the strongest rival, pi for the weakest.
    """
    omega = _omega(n, theta, letters)
    away = np.arange(n - 1, -1, -1) * theta  # [n]: position 1 first
    exact = (toward - away) / omega  # which k would stand there
    near = np.stack([np.floor(exact), np.floor(exact) + 1])  # [2, n]: the two letters around it
    # Letter 0 is the match itself. Next to it the nearest rival is on its other side.
    near = np.where(near % letters == 0, near + np.array([[-1], [1]]), near)
    logits = np.cos(near * omega + away)
    return logits.max(0) if toward == 0 else logits.min(0)
