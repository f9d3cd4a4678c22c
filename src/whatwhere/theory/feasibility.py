"""Theorem 1 (Feasibility) on real inputs: the constructions against the functions they should compute.

Softmax runs at an inverse temperature just above the least that serves the length, and hard attention beside it.
"""

from __future__ import annotations

import numpy as np

from whatwhere.tasks import LetterTask, NumberTask
from whatwhere.tasks.functions import index, retrieval
from whatwhere.tasks.task import Task
from whatwhere.tasks.vocabulary import LetterVocabulary, NumberVocabulary
from whatwhere.theory.check import Check
from whatwhere.theory.construction import Construction
from whatwhere.theory.index_head import index_head
from whatwhere.theory.oracle import index_oracle, retrieval_oracle
from whatwhere.theory.printed import LENGTH as LENGTH
from whatwhere.theory.retrieval_head import retrieval_head
from whatwhere.theory.sequences import (
    all_sequences,
    index_failures,
    is_in_range,
    is_left_unique,
    is_proper,
    random_in_range,
    random_left_unique,
    retrieval_failures,
)
from whatwhere.theory.temperature import index_minimum_beta, retrieval_minimum_beta, retrieval_self_minimum_beta

JUST_ABOVE = 1.001
"""A factor on the least beta, at which the worst input ties."""
INDEX_ANGLES = (0.8, 0.866, 1.0)
RETRIEVAL_ANGLES = (0.0, 0.0027, 0.0115)
NUMBERS, LETTERS = NumberTask().whole, LetterTask().whole


def sharp_index_head(theta: float, length: int = LENGTH, vocabulary: NumberVocabulary = NUMBERS) -> Construction:
    """T_Index with an inverse temperature just above the least that serves inputs of this length."""
    beta = JUST_ABOVE * index_minimum_beta(length, theta, vocabulary.integers)
    return index_head(theta, beta, symbols=vocabulary.symbols, integers=vocabulary.integers, length=length)


def sharp_retrieval_head(theta: float, length: int = LENGTH, vocabulary: LetterVocabulary = LETTERS) -> Construction:
    """T_Retrieval with an inverse temperature just above the least that serves every query of this length."""
    pointing = retrieval_minimum_beta(length, theta, vocabulary.letters)
    itself = retrieval_self_minimum_beta(length, theta, vocabulary.letters)
    beta = JUST_ABOVE * max(pointing, itself)
    return retrieval_head(theta, beta, letters=vocabulary.letters, integers=vocabulary.integers)


def small_index_inputs() -> Check:
    """Theorem 1, exhaustively: 2 letters, 3 integers, up to 5 tokens, in range."""
    vocabulary = NumberVocabulary(2, 3)
    inputs = wrong = 0
    for theta in INDEX_ANGLES:
        head = sharp_index_head(theta, 5, vocabulary)
        for length in range(1, 6):
            tokens = all_sequences(len(vocabulary), length)
            tokens = tokens[is_in_range(tokens, vocabulary).all(1)]
            inputs += 2 * len(tokens)
            wrong += _wrong(head, tokens, index(tokens, vocabulary))
    return Check("T_Index = Index on every in-range input to 5 tokens (2 letters, 3 integers, 3 angles)", inputs, wrong)


def small_retrieval_inputs() -> Check:
    """Theorem 1, exhaustively: 3 letters, 2 integers, up to 4 tokens, left-unique."""
    vocabulary = LetterVocabulary(3, 2)
    inputs = wrong = 0
    for theta in (0.0, 0.999 * np.pi * 2 / 3 / 5):  # 5 = 2 n - 3: just below where hard attention fails
        head = sharp_retrieval_head(theta, 4, vocabulary)
        for length in range(1, 5):
            tokens = all_sequences(len(vocabulary), length)
            tokens = tokens[is_proper(tokens, vocabulary) & is_left_unique(tokens, vocabulary)]
            inputs += 2 * len(tokens)
            wrong += _wrong(head, tokens, retrieval(tokens, vocabulary))
    return Check("T_Retrieval = Retrieval on every left-unique input to 4 tokens (3 letters, 2 angles)", inputs, wrong)


def random_index_inputs(count: int = 10_000) -> Check:
    """Theorem 1 at the paper's size, at every position."""
    tokens = random_in_range(count, LENGTH, NUMBERS, seed=0)
    wrong = sum(_wrong(sharp_index_head(theta), tokens, index(tokens, NUMBERS)) for theta in INDEX_ANGLES)
    return Check("T_Index = Index on random in-range inputs of 17 tokens (3 angles)", 2 * 3 * count, wrong)


def random_retrieval_inputs(count: int = 10_000) -> Check:
    """Theorem 1 at the paper's size, at every position."""
    tokens = random_left_unique(count, LENGTH, LETTERS, seed=0)
    wrong = sum(_wrong(sharp_retrieval_head(theta), tokens, retrieval(tokens, LETTERS)) for theta in RETRIEVAL_ANGLES)
    return Check("T_Retrieval = Retrieval on random left-unique inputs of 17 tokens (3 angles)", 2 * 3 * count, wrong)


def oracles_agree(count: int = 1_000) -> Check:
    """The transformer and the plain formulas, output by output."""
    numbers, pairs = random_in_range(count, LENGTH, NUMBERS, 1), random_left_unique(count, LENGTH, LETTERS, 1)
    one, other = sharp_index_head(1.0), sharp_retrieval_head(0.0027)
    differences = [
        np.abs(one.outputs(numbers).numpy() - index_oracle(numbers, one.theta, one.beta)).max((1, 2)),
        np.abs(other.outputs(pairs).numpy() - retrieval_oracle(pairs, other.theta, other.beta)).max((1, 2)),
    ]
    worst = max(float(difference.max()) for difference in differences)
    wrong = sum(int((difference > 1e-10).sum()) for difference in differences)
    claim = "transformer and plain oracle give the same outputs"
    return Check(claim, 2 * count, wrong, f"largest difference {worst:.0e}")


def out_of_range_inputs(count: int = 2_000) -> Check:
    """Erratum E3: Index is not defined where an integer points before the first token; completed, T_Index is not it."""
    tokens = NumberTask(distractors="any").sample(count, seed=0).tokens
    head = sharp_index_head(1.0)
    failed = head.errors(tokens, index(tokens, NUMBERS), "hard")
    wrong = int((failed != index_failures(tokens, NUMBERS, head.theta)).any(1).sum())
    fails = int(failed.any(1).sum())
    claim = "T_Index fails on out-of-range integers exactly where predicted"
    return Check(claim, count, wrong, f"{fails} inputs fail somewhere (E3)", fails)


def tied_inputs(count: int = 2_000) -> Check:
    """Erratum E4: at theta = 0 LI tokens with one left letter tie, and properness does not forbid them."""
    tokens = LetterTask(generator="decoy").sample(count, seed=0).tokens
    failed = sharp_retrieval_head(0.0).errors(tokens, retrieval(tokens, LETTERS), "hard")
    wrong = int((failed != retrieval_failures(tokens, LETTERS)).any(1).sum())
    fails = int(failed.any(1).sum())
    claim = "T_Retrieval at angle 0 fails on shared left letters exactly where predicted"
    return Check(claim, count, wrong, f"{fails} inputs fail somewhere (E4)", fails)


def number_task(size: int = 480_000) -> Check:
    """Section 3: Index applied once per hop solves the number task."""
    return _solves(NumberTask(), sharp_index_head(1.0), "T_Index", size)


def letter_task(size: int = 480_000, generator: str = "paper") -> Check:
    """Section 3: Retrieval applied once per hop solves the letter task.

    Off the path the paper's data hold pointers at nothing and at several tokens. They do no harm: T_Retrieval makes
    some token of the input of them, and each letter of the path remains the left letter of one token only.
    """
    return _solves(LetterTask(generator=generator), sharp_retrieval_head(0.0027), "T_Retrieval", size)


def _wrong(head: Construction, tokens: np.ndarray, wanted: np.ndarray) -> int:
    """On how many inputs some position is wrong, softmax and hard attention counted apart."""
    return sum(int(head.errors(tokens, wanted, attention).any(1).sum()) for attention in ("softmax", "hard"))


def _solves(task: Task, head: Construction, name: str, size: int) -> Check:
    """Whether a head, applied once per hop, gives the answers of the test split of a data set of this size."""
    test = task.split("test", size)
    wrong = 0
    for hops in range(1, task.max_hops + 1):
        some = test[test.hops == hops]
        wrong += int((head.apply(some.tokens, times=hops)[:, -1] != some.answers).sum())
    return Check(f"{name}, applied once per hop, solves the test split of the {task.name} task", len(test), wrong)
