"""The inputs of the theorems: all of them if they are few, random ones otherwise.

Which inputs a construction gets right depends on their class (errata E3, E4):

- *in range*: every integer points into the sequence;
- *proper*: every LL token finds its right letter among the left letters up to itself, on one token only;
- *left-unique*: tokens with the same left letter are the same token.

:func:`index_failures` and :func:`retrieval_failures` say where hard attention must fail outside of these.
"""

from __future__ import annotations

import itertools

import numpy as np
from jaxtyping import Bool, Int

from whatwhere.tasks.vocabulary import LetterVocabulary, NumberVocabulary


def all_sequences(tokens: int, length: int) -> Int[np.ndarray, "n seq"]:
    """Every sequence of a length over the ids 0 .. tokens - 1."""
    return np.array(list(itertools.product(range(tokens), repeat=length)))


def is_in_range(tokens: Int[np.ndarray, "n seq"], vocabulary: NumberVocabulary) -> Bool[np.ndarray, "n seq"]:
    """Whether the token at each position is a symbol, or an integer that points into the sequence."""
    return vocabulary.value(tokens) <= np.arange(tokens.shape[1])


def is_proper(tokens: Int[np.ndarray, "n seq"], vocabulary: LetterVocabulary) -> Bool[np.ndarray, "n"]:
    """Whether each LL token has matches up to itself, and all of them are one token (the paper's definition)."""
    pointed = vocabulary.left(tokens)[:, None, :] == vocabulary.right(tokens)[:, :, None]  # [n, query, key]
    match = pointed & _visible(tokens)
    last = tokens.shape[1] - 1 - match[..., ::-1].argmax(-1)  # [n, query]: some match, if there is one
    one_token = ~(match & (tokens[:, None, :] != np.take_along_axis(tokens, last, 1)[:, :, None])).any(-1)
    return (~vocabulary.points(tokens) | (match.any(-1) & one_token)).all(-1)


def is_left_unique(tokens: Int[np.ndarray, "n seq"], vocabulary: LetterVocabulary) -> Bool[np.ndarray, "n"]:
    """Whether tokens with the same left letter are the same token, everywhere in the sequence."""
    left = vocabulary.left(tokens)
    same_left = left[:, None, :] == left[:, :, None]
    return (~same_left | (tokens[:, None, :] == tokens[:, :, None])).all((1, 2))


def random_in_range(n: int, length: int, vocabulary: NumberVocabulary, seed: int) -> Int[np.ndarray, "n seq"]:
    """Symbols and integers in any order, as many of each as chance gives, every integer in range."""
    rng = np.random.default_rng(seed)
    symbols = rng.integers(0, vocabulary.symbols, (n, length))
    most = np.minimum(np.arange(length), vocabulary.integers)  # the largest integer in range at each position
    integers = vocabulary.integer(rng.integers(0, most + 1, (n, length)))  # the value 0 is no integer
    take_integer = (rng.random((n, length)) < 0.5) & (vocabulary.value(integers) > 0)
    return np.where(take_integer, integers, symbols)


def random_left_unique(n: int, length: int, vocabulary: LetterVocabulary, seed: int) -> Int[np.ndarray, "n seq"]:
    """Proper left-unique sequences: each letter stands for one token, LI or pointing at a letter seen before."""
    rng = np.random.default_rng(seed)
    letters, rows = vocabulary.letters, np.arange(n)
    order = rng.permuted(np.tile(np.arange(letters), (n, 1)), axis=1)  # [n, letter]: which letter appears when
    earlier = order[rows[:, None], rng.integers(0, np.maximum(np.arange(letters), 1), (n, letters))]
    integers = rng.integers(letters, vocabulary.width, (n, letters))
    points = (rng.random((n, letters)) < 0.5) & (np.arange(letters) > 0)
    cast = vocabulary.pair(order, np.where(points, earlier, integers))  # [n, letter]: the token of each
    tokens = np.empty((n, length), dtype=np.int64)
    seen = np.zeros(n, dtype=np.int64)
    for j in range(length):
        drawn = rng.integers(0, np.minimum(seen, letters - 1) + 1)  # one that was seen, or the next
        seen = np.maximum(seen, drawn + 1)
        tokens[:, j] = cast[rows, drawn]
    return tokens


def index_failures(
    tokens: Int[np.ndarray, "n seq"], vocabulary: NumberVocabulary, theta: float
) -> Bool[np.ndarray, "n seq"]:
    """Where T_Index with hard attention is wrong: an out-of-range integer whose best aliased key holds a letter."""
    place = np.arange(tokens.shape[1])
    off = place[:, None] - place - vocabulary.value(tokens)[:, :, None]  # [n, query, key]: places past the wanted one
    aliased = np.where(_visible(tokens), np.cos(off * theta), -np.inf).argmax(-1)  # [n, query]
    copies_letter = ~vocabulary.points(np.take_along_axis(tokens, aliased, 1))
    return ~is_in_range(tokens, vocabulary) & copies_letter


def retrieval_failures(tokens: Int[np.ndarray, "n seq"], vocabulary: LetterVocabulary) -> Bool[np.ndarray, "n seq"]:
    """Where T_Retrieval at theta = 0 with hard attention is wrong on proper inputs: LI tokens that are outvoted.

    An LI query attends equally to all tokens with its left letter, so the commonest of them wins; a draw is undecided.
    """
    same_token = tokens[:, :, None] == tokens[:, None, :]  # [n, query, key]
    left = vocabulary.left(tokens)
    visible = _visible(tokens)
    rivals = (left[:, :, None] == left[:, None, :]) & ~same_token & visible
    votes = np.einsum("qj,nkj->nqk", visible.astype(int), same_token.astype(int))  # visible copies of the token at key
    own = (same_token & visible).sum(-1)  # [n, query]
    return ~vocabulary.points(tokens) & ((votes * rivals).max(-1) >= own)


def _visible(tokens: np.ndarray) -> Bool[np.ndarray, "query key"]:
    return np.tri(tokens.shape[1], dtype=bool)
