"""The one-hop number and letter tasks for chat models (Section 3.6; Appendix "Generalization on LLMs").

A sequence is a window of ``size`` tokens and one query, with spaces between them. In the number task the window holds
letters and the query is an integer: the answer stands that many places to the left. In the letter task the window holds
letter-digit pairs and the query is two letters: the answer is the only pair that begins with the second of them. There
are 26 letters, so in a longer window the other letters repeat; just the queried one is unique. (The paper does not say
how answers are placed; here every distance is asked for equally often.)
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase

import numpy as np

from whatwhere.errors import WhatwhereError
from whatwhere.tasks.balance import balanced_cells

TASKS = ("number", "letter")
SIZES = (12, 16, 24, 32, 48, 64, 80, 100, 150, 200, 300)
"""The paper's window sizes."""
RUNS = (1, 2, 3, 4, 5)
"""The paper's runs; a run's number is its seed."""
EXAMPLES = 200
"""Sequences per task, size and run. The paper does not say; its standard deviations fit 200 (binomial)."""
DIGITS = "123456789"


@dataclass(frozen=True)
class Example:
    """One sequence with its answer."""

    sequence: str
    answer: str
    distance: int
    """How many places to the left of the query the answer stands: 1 is the token just before it."""


def one_hop_examples(task: str, size: int, seed: int, count: int = EXAMPLES) -> list[Example]:
    """Draws sequences, balanced over the distance and the value of the answer as far as ``count`` allows.

    Args:
        task: ``number`` or ``letter``.
        size: tokens of the window, without the query.
        seed: the number of the run; another size or task with the same seed shares no randomness.
        count: sequences.

    Raises:
        WhatwhereError: there is no such task, or a number is out of range.
    """
    if task not in TASKS:
        raise WhatwhereError(f"the one-hop task must be one of {', '.join(TASKS)}, and {task!r} arrived.")
    for name, value, least in (("size", size, 1), ("seed", seed, 0), ("the number of examples", count, 1)):
        if value < least:
            raise WhatwhereError(f"{name} must be {least} or more, and {value} arrived.")
    rng = np.random.default_rng([seed, size, *task.encode()])
    return (_number if task == "number" else _letter)(rng, size, count)


def _number(rng: np.random.Generator, size: int, count: int) -> list[Example]:
    letters = len(ascii_lowercase)
    answers, places = balanced_cells(rng, count, letters, size)
    windows = rng.integers(letters, size=(count, size))
    windows[np.arange(count), places] = answers
    return [
        Example(
            " ".join([*(ascii_lowercase[i] for i in window), str(size - place)]), ascii_lowercase[answer], size - place
        )
        for window, answer, place in zip(windows.tolist(), answers.tolist(), places.tolist(), strict=True)
    ]


def _letter(rng: np.random.Generator, size: int, count: int) -> list[Example]:
    pairs = [letter + digit for letter in ascii_lowercase for digit in DIGITS]
    letters, digits = len(ascii_lowercase), len(DIGITS)
    answers, places = balanced_cells(rng, count, len(pairs), size)
    asked = answers // digits  # the queried letter
    # Letters other than the queried one, drawn as steps past it in the circle of the alphabet; the last is the query's.
    lefts = (asked[:, None] + rng.integers(1, letters, size=(count, size + 1))) % letters
    windows = lefts[:, :-1] * digits + rng.integers(digits, size=(count, size))
    windows[np.arange(count), places] = answers
    queries = zip(lefts[:, -1].tolist(), asked.tolist(), strict=True)
    return [
        Example(
            " ".join([*(pairs[i] for i in window), ascii_lowercase[first] + ascii_lowercase[second]]),
            pairs[answer],
            size - place,
        )
        for window, (first, second), answer, place in zip(
            windows.tolist(), queries, answers.tolist(), places.tolist(), strict=True
        )
    ]


def follow(sequence: str) -> list[int]:
    """The oracle: the positions (from 0) that a reader visits, from the query to the answer.

    It reads either task, of one hop or several, and the query tells which: an integer sends one that many places back;
    two letters send one back to the nearest token that begins with the second. What does neither is the answer.

    Raises:
        WhatwhereError: a token points outside the sequence, or at nothing.
    """
    tokens = sequence.split()
    counting = tokens[-1].isdigit() if tokens else False
    path = [len(tokens) - 1]
    while tokens and (tokens[path[-1]].isdigit() if counting else tokens[path[-1]].isalpha()):
        here, token = path[-1], tokens[path[-1]]
        if counting:
            found = [here - int(token)] if 0 < int(token) <= here else []
        else:
            found = [place for place in range(here - 1, -1, -1) if tokens[place].startswith(token[1:2])]
        if not found:
            raise WhatwhereError(f"{token!r} at position {here} points at nothing before it, in {sequence!r}.")
        path.append(found[0])
    return path


def solve(sequence: str) -> str:
    """The answer of a sequence, found by :func:`follow`."""
    return sequence.split()[follow(sequence)[-1]]


def window_chance(task: str, size: int) -> float:
    """The expected accuracy of a uniform guess among the tokens of the window.

    It hits the answer's place once in ``size``. Elsewhere it may still find the same letter in the number task (1/26);
    in the letter task no other token can be right.
    """
    elsewhere = 1 / len(ascii_lowercase) if task == "number" else 0.0
    return 1 / size + (1 - 1 / size) * elsewhere


def blind_chance(task: str) -> float:
    """The expected accuracy of a guess that reads the query but not the window: the floor at any size.

    One letter of 26 in the number task; in the letter task the query gives the letter, and one digit of 9 is left.
    """
    return 1 / len(ascii_lowercase) if task == "number" else 1 / len(DIGITS)


def digest(examples: Sequence[Example]) -> str:
    """A name for a set of sequences, so that results on other sequences are not taken for the same measurement."""
    text = "\n".join(f"{example.sequence} -> {example.answer}" for example in examples)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
