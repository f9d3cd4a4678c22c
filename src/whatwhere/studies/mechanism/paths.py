"""Paths through any sequence, inputs that differ in one hop, and chains longer than those of training."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Int, Int32

from whatwhere.errors import WhatwhereError
from whatwhere.tasks.balance import random_subset
from whatwhere.tasks.batch import Batch, paths_through
from whatwhere.tasks.letter import LetterTask
from whatwhere.tasks.number import NumberTask
from whatwhere.tasks.task import Task, random_streams
from whatwhere.tasks.vocabulary import LetterVocabulary, NumberVocabulary, Vocabulary

DECOYS = 2
"""Look-alikes of the answer in a chain of letters, where the alphabet leaves letters for them."""


def follow(
    task: Task, tokens: Int[np.ndarray, "n seq"]
) -> tuple[Int32[np.ndarray, "n visited"], Bool[np.ndarray, "n"]]:
    """Follows the hops from the last token, whatever made the sequence.

    Returns:
        The positions visited, -1 after the end, and whether each path ends at an answer (it may leave the sequence or
        be ambiguous).
    """
    rows = np.arange(len(tokens))
    position = np.full(len(tokens), tokens.shape[1] - 1)
    answered = np.ones(len(tokens), bool)
    path = [position.copy()]
    while len(moving := rows[answered & task.vocabulary.points(tokens[rows, position])]):
        there, fits = task.step(tokens[moving], position[moving])
        answered[moving] = fits == 1
        position[moving] = np.where(fits == 1, there, position[moving])
        path.append(np.full(len(tokens), -1))
        path[-1][moving] = np.where(fits == 1, there, -1)
    return np.stack(path, 1).astype(np.int32), answered


def as_batch(task: Task, tokens: Int[np.ndarray, "seq"]) -> Batch:
    """One sequence with its answer and path.

    Raises:
        WhatwhereError: it has no answer, or no hop to follow.
    """
    if len(tokens) == 0:
        raise WhatwhereError("an input of at least two tokens was expected, and it is empty.")
    if not task.vocabulary.points(tokens[-1:])[0]:
        raise WhatwhereError(
            f"the last token of an input starts the path, and {task.decode(tokens[-1:])!r} does not point. "
            f"End it with {'a number' if task.name == 'number' else 'a pair of letters'}."
        )
    answers = task.solve(tokens[None])
    paths, _ = follow(task, tokens[None])
    return Batch(tokens[None].astype(np.int32), answers, _hops(paths), paths)


def change_one_hop(task: Task, batch: Batch, hop: int, seed: int = 0) -> tuple[Batch, Batch]:
    """Pairs of inputs that differ in one token: the pointer of one hop, so that the answer changes.

    A change that keeps the hop count, so that both inputs ask for the same work, is preferred; an alphabet of 8 letters
    often has none, and then the count may change within the task's classes. Inputs that allow neither are left out.

    Args:
        task: the task.
        batch: inputs of at least ``hop`` hops.
        hop: which hop, from 1: the pointer at p_(hop-1) is exchanged.
        seed: of the choice among the tokens that serve.

    Returns:
        The inputs for which there is a change, and the changed inputs.
    """
    rows = np.arange(len(batch))
    position = batch.paths[:, hop - 1]
    options = _pointers(task.vocabulary, batch.tokens[rows, position])  # [option, n]
    liking = np.zeros(options.shape)  # 0: does not serve, 1: another hop count, 2: the same
    for option, token in enumerate(options):
        tokens = batch.tokens.copy()
        tokens[rows, position] = token
        paths, answered = follow(task, tokens)
        hops = _hops(paths)
        answers = tokens[rows, np.take_along_axis(paths, hops[:, None], 1)[:, 0]]
        serves = answered & (answers != batch.answers) & (hops <= task.max_hops)
        liking[option] = np.where(serves, 1 + (hops == batch.hops), 0)
    (some,) = np.nonzero(liking.max(0) > 0)
    chosen = (liking + np.random.default_rng(seed).random(liking.shape)).argmax(0)
    tokens = batch.tokens.copy()
    tokens[rows, position] = options[chosen, rows]
    tokens = tokens[some]
    paths, _ = follow(task, tokens)
    return batch[some], Batch(tokens, task.solve(tokens), _hops(paths), paths)


def _hops(paths: Int[np.ndarray, "n visited"]) -> Int32[np.ndarray, "n"]:
    return (paths >= 0).sum(1, dtype=np.int32) - np.int32(1)


def _pointers(vocabulary: Vocabulary, tokens: Int[np.ndarray, "n"]) -> Int[np.ndarray, "option n"]:
    """Every pointer that may stand in for each token: any integer; a pair with the same left letter."""
    if isinstance(vocabulary, NumberVocabulary):
        options = vocabulary.integer(np.arange(1, vocabulary.integers + 1))[:, None]
        return np.broadcast_to(options, (vocabulary.integers, len(tokens))).astype(np.int32)
    assert isinstance(vocabulary, LetterVocabulary)
    return vocabulary.pair(vocabulary.left(tokens), np.arange(vocabulary.letters)[:, None]).astype(np.int32)


def most_hops(task: Task) -> int:
    """The longest chain that fits: a pointer for each token before the target window, a letter for each token."""
    if isinstance(task, LetterTask):
        return min(task.context + 1, task.letters - 1)
    return task.context + 1


def decoys(task: Task, hops: int) -> int:
    """Target tokens that look like the answer in a chain of letters: what the alphabet leaves, two at most."""
    return min(DECOYS, task.letters - hops - 1, task.target - 1) if isinstance(task, LetterTask) else 0


def chains(task: Task, n: int, hops: int, seed: int = 0) -> Batch:
    """Inputs of any hop count that fits the vocabulary, beyond the task's own classes.

    Numbers come from the task's own generator with more hop classes. Its letters would need four more than there are
    hops, to hide the answer well; here a chain takes one letter per hop, up to two letters for decoys, and at least one
    that nobody points at for all other tokens.
    """
    if not 1 <= hops <= most_hops(task):
        raise WhatwhereError(f"chains of 1 to {most_hops(task)} hops fit this task, and {hops} hops were asked for.")
    if isinstance(task, NumberTask):
        return replace(task, max_hops=max(hops, task.max_hops)).sample(n, hops=hops, seed=seed)
    assert isinstance(task, LetterTask)
    rng, _ = random_streams(seed, f"chains of {hops}")
    return _letter_chains(task, rng, n, hops)


def _letter_chains(task: LetterTask, rng: np.random.Generator, n: int, hops: int) -> Batch:
    """Roles are letters in random order: first those of p_1 .. p_h, then decoys, then the free ones."""
    vocabulary, rows = task.vocabulary, np.arange(n)
    look_alikes = decoys(task, hops)
    letter = rng.permuted(np.tile(np.arange(task.letters), (n, 1)), axis=1).T  # [role, n]
    free = letter[rng.integers(hops + look_alikes, task.letters, (task.length, n)), rows]  # [seq, n]
    integer = task.letters + rng.integers(0, task.integers, (task.target, n))
    tokens = np.empty((task.length, n), np.int32)
    tokens[: task.target] = vocabulary.pair(free[: task.target], integer)
    places = rng.permuted(np.tile(np.arange(task.target), (n, 1)), axis=1).T[: 1 + look_alikes]  # the answer's first
    for kind, place in enumerate(places):
        tokens[place, rows] = vocabulary.pair(letter[hops - 1 + kind], integer[place, rows])
    visited = random_subset(rng, np.ones((task.context, n), bool), np.full(n, hops - 1))
    tip = np.full(n, hops - 1)  # the role that the next token of the path points at
    for c, on_path in enumerate(visited):
        aside = rng.integers(hops - 1, hops + look_alikes, n)
        left = np.where(on_path, letter[np.maximum(tip - 1, 0), rows], free[task.target + c])
        tokens[task.target + c] = vocabulary.pair(left, letter[np.where(on_path, tip, aside), rows])
        tip -= on_path
    tokens[-1] = vocabulary.pair(free[-1], letter[0])
    paths = paths_through(visited, places[0], task.target, hops)
    return Batch(np.ascontiguousarray(tokens.T), tokens[places[0], rows], np.full(n, hops, np.int32), paths)
