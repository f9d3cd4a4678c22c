"""The idealised functions Index, Retrieval and Reflexive, on whole batches of token ids.

Section 3.2, "Mechanism implemented by pure heads", and Appendix "Formal definition of the basic functions".

Each reads the old sequence and writes a new one; in place, one pass would resolve any number of hops. For F = Index or
Retrieval and an input of h hops, ``Reflexive^(l-h)(F^h(x))`` holds the answer at its last position, h applications are
needed, and more do no harm: what may be an answer is a fixed point. Only the path must be well defined for that. Tokens
off the path may point at nothing or at several tokens, and in the authors' letter data they do.

Where the paper's listing and its definition differ (erratum E23), the definition holds: an integer that points before
the sequence is left alone (a negative Python index would wrap to its end), and the right component of a pair decides
whether it points. ``strict`` refuses what the definition leaves undefined; otherwise such tokens stay as they are, or,
if ambiguous, take the leftmost match as the listing does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whatwhere.errors import WhatwhereError
from whatwhere.tasks.both_vocabulary import BothVocabulary
from whatwhere.tasks.vocabulary import LetterVocabulary, Marks, NumberVocabulary, Sequences, Vocabulary


def index(tokens: Sequences, vocabulary: NumberVocabulary, *, strict: bool = False) -> Sequences:
    """Index: an integer i at position j becomes the token at j - i if that is a symbol; all else stays.

    Raises:
        WhatwhereError: ``strict``, and an integer points before the sequence (Theorem 1 needs them in range; E3).
    """
    there, goal = _goals(tokens, vocabulary)
    if strict:
        _refuse(vocabulary.points(tokens) & (there < 0), tokens, vocabulary, "points before the sequence")
    return np.where((there >= 0) & ~vocabulary.points(goal), goal, tokens)


def index_doubling(tokens: Sequences, vocabulary: NumberVocabulary) -> Sequences:
    """Pointer doubling for the number task: an integer that points at an integer adds it to itself.

    Each application takes twice the hops, so ``index`` after ceil(log2 h) of these gives the answer of an h-hop input:
    1, 2, 3, 3 rounds for h = 1 .. 4. Index itself never takes such a shortcut (docs/tasks.md). Sums that leave the
    sequence or the vocabulary are not taken.
    """
    there, goal = _goals(tokens, vocabulary)
    total = vocabulary.value(tokens) + vocabulary.value(goal)
    fits = total <= np.minimum(np.arange(tokens.shape[1]), vocabulary.integers)
    return np.where((there >= 0) & vocabulary.points(goal) & fits, vocabulary.integer(total), tokens)


def retrieval(tokens: Sequences, vocabulary: LetterVocabulary | BothVocabulary, *, strict: bool = False) -> Sequences:
    """Retrieval: a letter-letter pair becomes the token whose left letter is its right one; all else stays.

    Raises:
        WhatwhereError: ``strict``, and the input is not proper (the appendix's definition): a right letter is the left
            letter of no token up to it, or of different tokens.
    """
    if strict:
        first, other = vocabulary.matches(tokens)
        points, place = vocabulary.points(tokens), np.arange(tokens.shape[1])
        _refuse(points & (first > place), tokens, vocabulary, "points at nothing up to it")
        _refuse(points & (other <= place), tokens, vocabulary, "points at different tokens")
    there, goal = _goals(tokens, vocabulary)
    return np.where(there >= 0, goal, tokens)


def retrieval_doubling(tokens: Sequences, vocabulary: LetterVocabulary) -> Sequences:
    """Pointer doubling for the letter task: a pair that points at a pair keeps its left letter and takes its right one.

    As with :func:`index_doubling`, ``retrieval`` after ceil(log2 h) of these gives the answer. Retrieval replaces the
    address too, and so takes one hop however often it is applied.
    """
    there, goal = _goals(tokens, vocabulary)
    doubled = vocabulary.pair(vocabulary.left(tokens), vocabulary.right(goal))
    return np.where((there >= 0) & vocabulary.points(goal), doubled, tokens)


def reflexive(tokens: Sequences) -> Sequences:
    """Reflexive: every token stays, in a new sequence."""
    return tokens.copy()


_FUNCTIONS: dict[str, Callable[[Sequences, Any], Sequences]] = {"index": index, "retrieval": retrieval}


def follow_pointers(tokens: Sequences, vocabulary: Vocabulary) -> Sequences:
    """One layer of the ideal model: Index on numbers, Retrieval on pairs (:attr:`Vocabulary.function`).

    Raises:
        WhatwhereError: several tokens spell a pointer, so that none of them can become the token that it points at.
    """
    if vocabulary.whole is not vocabulary:
        raise WhatwhereError(
            "expected pointers of one token, got spelled ones; pass vocabulary.read(tokens) and vocabulary.whole, in "
            "which a pointer stands at its last token."
        )
    return _FUNCTIONS[vocabulary.function](tokens, vocabulary)


def _goals(tokens: Sequences, vocabulary: Vocabulary) -> tuple[Sequences, Sequences]:
    """Where each pointer points (-1: nowhere), and the token there (meaningless for -1)."""
    there = vocabulary.goals(tokens)
    return there, np.take_along_axis(tokens, np.maximum(there, 0), 1)


def _refuse(wrong: Marks, tokens: Sequences, vocabulary: Vocabulary, reason: str) -> None:
    if wrong.any():
        row, position = np.argwhere(wrong)[0]
        name = vocabulary.names[tokens[row, position]]
        raise WhatwhereError(f"sequence {row} is not valid: {name!r} at position {position} {reason}.")
