"""The idealised functions Index, Retrieval and Reflexive, on whole batches of token ids.

Section 3.2, "Mechanism implemented by pure heads", and Appendix "Formal definition of the basic functions".

Each reads the old sequence and writes a new one; in place, one pass would resolve any number of hops. For F = Index or
Retrieval and an input of h hops, ``Reflexive^(l-h)(F^h(x))`` holds the answer at its last position, h applications are
needed, and more do no harm: what may be an answer is a fixed point.

Where the paper's listing and its definition differ (erratum E23), the definition holds: an integer that points before
the sequence is left alone (a negative Python index would wrap to its end), and whether a pair points is told by its
right component. ``strict`` refuses what the definition leaves undefined; otherwise such tokens stay as they are, or, if
ambiguous, take the leftmost match as the listing does.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int

from whatwhere.errors import WhatwhereError
from whatwhere.tasks.vocabulary import LetterVocabulary, NumberVocabulary, Vocabulary


def index(
    tokens: Int[np.ndarray, "n seq"], vocabulary: NumberVocabulary, *, strict: bool = False
) -> Int[np.ndarray, "n seq"]:
    """Index: an integer i at position j becomes the token at j - i if that is a symbol; all else stays.

    Raises:
        WhatwhereError: ``strict``, and an integer points before the sequence (Theorem 1 needs them in range; E3).
    """
    there = index_goals(tokens, vocabulary)
    if strict:
        _refuse(there < 0, tokens, vocabulary, "points before the sequence")
    goal = np.take_along_axis(tokens, np.maximum(there, 0), 1)
    return np.where((there >= 0) & ~vocabulary.points(goal), goal, tokens)


def index_doubling(tokens: Int[np.ndarray, "n seq"], vocabulary: NumberVocabulary) -> Int[np.ndarray, "n seq"]:
    """Pointer doubling for the number task: an integer that points at an integer adds it to itself.

    Twice the hops are taken by each application, so ``index`` after ceil(log2 h) of these gives the answer of an
    h-hop input: 1, 2, 3, 3 rounds for h = 1 .. 4. Index itself never takes such a shortcut (docs/tasks.md). Sums that
    leave the sequence or the vocabulary are not taken.
    """
    there = index_goals(tokens, vocabulary)
    goal = np.take_along_axis(tokens, np.maximum(there, 0), 1)
    total = vocabulary.value(tokens) + vocabulary.value(goal)
    reaches = total <= np.minimum(np.arange(tokens.shape[1]), vocabulary.integers)
    doubles = vocabulary.points(tokens) & vocabulary.points(goal) & (there >= 0) & reaches
    return np.where(doubles, vocabulary.integer(total), tokens)


def retrieval(
    tokens: Int[np.ndarray, "n seq"], vocabulary: LetterVocabulary, *, strict: bool = False
) -> Int[np.ndarray, "n seq"]:
    """Retrieval: a letter-letter pair becomes the token whose left letter is its right one; all else stays.

    Raises:
        WhatwhereError: ``strict``, and the input is not proper (the appendix's definition): a right letter is the left
            letter of no token up to it, or of different tokens.
    """
    points = vocabulary.points(tokens)
    there, other = retrieval_goals(tokens, vocabulary)
    place = np.arange(tokens.shape[1])
    if strict:
        _refuse(points & (there > place), tokens, vocabulary, "points at nothing up to it")
        _refuse(points & (other <= place), tokens, vocabulary, "points at different tokens")
    found = points & (there <= place)
    return np.where(found, np.take_along_axis(tokens, np.where(found, there, 0), 1), tokens)


def retrieval_doubling(tokens: Int[np.ndarray, "n seq"], vocabulary: LetterVocabulary) -> Int[np.ndarray, "n seq"]:
    """Pointer doubling for the letter task: a pair that points at a pair keeps its left letter and takes its right one.

    As with :func:`index_doubling`, ``retrieval`` after ceil(log2 h) of these gives the answer. Retrieval replaces the
    address too, and so takes one hop however often it is applied.
    """
    there, _ = retrieval_goals(tokens, vocabulary)
    found = vocabulary.points(tokens) & (there <= np.arange(tokens.shape[1]))
    goal = np.take_along_axis(tokens, np.where(found, there, 0), 1)
    doubled = vocabulary.pair(vocabulary.left(tokens), vocabulary.right(goal))
    return np.where(found & vocabulary.points(goal), doubled, tokens)


def reflexive(tokens: Int[np.ndarray, "n seq"]) -> Int[np.ndarray, "n seq"]:
    """Reflexive: every token stays, in a new sequence."""
    return tokens.copy()


def index_goals(tokens: Int[np.ndarray, "n seq"], vocabulary: NumberVocabulary) -> Int[np.ndarray, "n seq"]:
    """Where each token points; symbols point at themselves."""
    return np.arange(tokens.shape[1]) - np.where(vocabulary.points(tokens), vocabulary.value(tokens), 0)


def retrieval_goals(
    tokens: Int[np.ndarray, "n seq"], vocabulary: LetterVocabulary
) -> tuple[Int[np.ndarray, "n seq"], Int[np.ndarray, "n seq"]]:
    """The leftmost position of each token's right letter as a left letter, and of another token with that left letter.

    Both are the sequence length if there is none. One pass for each letter, so the cost is linear in the length.
    """
    length = tokens.shape[1]
    left, right = vocabulary.left(tokens), vocabulary.right(tokens)
    there, other = np.full((2, *tokens.shape), length)
    for letter in range(vocabulary.letters):
        here = left == letter  # [n, seq]
        first = here.argmax(1)[:, None]
        differs = here & (tokens != np.take_along_axis(tokens, first, 1))
        asked = (right == letter) & here.any(1, keepdims=True)
        there = np.where(asked, first, there)
        other = np.where(asked & differs.any(1, keepdims=True), differs.argmax(1)[:, None], other)
    return there, other


def _refuse(
    wrong: Bool[np.ndarray, "n seq"], tokens: Int[np.ndarray, "n seq"], vocabulary: Vocabulary, reason: str
) -> None:
    if wrong.any():
        row, position = np.argwhere(wrong)[0]
        name = vocabulary.names[tokens[row, position]]
        raise WhatwhereError(f"sequence {row} is not valid: {name!r} at position {position} {reason}.")
