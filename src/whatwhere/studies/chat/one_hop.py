"""The questions for chat models: one-hop number and letter tasks, and the prompts (Appendix "Generalization on LLMs").

A sequence is a window of ``size`` tokens and one query, with spaces between them. In the number task the window holds
letters and the query is an integer: the answer is that many places to the left. In the letter task the window holds
letter-digit pairs and the query is two letters: the answer is the only pair that begins with the second of them. There
are 26 letters, so in a longer window the other letters repeat; only the queried one is unique. (The paper does not say
how answers are placed; here every distance is equally frequent.)

Prompts are read from ``prompts.toml``: the paper's for one hop, ours for several. Nothing here needs inspect-ai.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import nan
from string import ascii_lowercase

import numpy as np

from whatwhere.errors import WhatwhereError
from whatwhere.studies.chat.tables import EXAMPLES
from whatwhere.tasks import LetterTask, NumberTask
from whatwhere.tasks.balance import balanced_cells

TASKS = ("number", "letter")
DIGITS = "123456789"
MULTI_HOP = {"number": NumberTask(), "letter": LetterTask(generator="decoy")}
"""The tasks of several hops; each pointer of a letter sequence has one target, so the rule is unambiguous."""
_INPUT = re.compile(r'Input: "([^"]*)"')


@dataclass(frozen=True)
class Example:
    """One sequence with its answer."""

    sequence: str
    answer: str
    distance: int
    """How many places to the left of the query the answer stands: 1 is the token just before it."""


def one_hop_examples(task: str, size: int, seed: int, count: int = EXAMPLES) -> list[Example]:
    """Draws sequences, balanced over the distance and the value of the answer as far as ``count`` allows.

    The size is that of the window, without the query. Another size or task with the same seed shares no randomness.
    """
    if task not in TASKS:
        raise WhatwhereError(f"expected a one-hop task of {', '.join(TASKS)}, got {task!r}.")
    for name, value, least in (("size", size, 1), ("seed", seed, 0), ("count", count, 1)):
        if value < least:
            raise WhatwhereError(f"expected a {name} of {least} or more, got {value}.")
    rng = np.random.default_rng([seed, size, *task.encode()])
    letters, digits = len(ascii_lowercase), len(DIGITS)
    names = [first + last for first in ascii_lowercase for last in (DIGITS if task == "letter" else [""])]
    answers, places = balanced_cells(rng, count, len(names), size)
    distances = size - places
    if task == "number":
        windows = rng.integers(letters, size=(count, size))
        queries = [str(distance) for distance in distances]
    else:
        asked = answers // digits  # the queried letter
        # Letters other than the queried one, drawn as steps past it in the circle of the alphabet; the last is the
        # query's own.
        lefts = (asked[:, None] + rng.integers(1, letters, size=(count, size + 1))) % letters
        windows = lefts[:, :-1] * digits + rng.integers(digits, size=(count, size))
        queries = [
            ascii_lowercase[own] + ascii_lowercase[wanted] for own, wanted in zip(lefts[:, -1], asked, strict=True)
        ]
    windows[np.arange(count), places] = answers
    return [
        Example(" ".join([*(names[token] for token in window), query]), names[answer], distance)
        for window, query, answer, distance in zip(
            windows.tolist(), queries, answers.tolist(), distances.tolist(), strict=True
        )
    ]


def multi_hop_examples(task: str, size: int, seed: int, count: int = EXAMPLES) -> list[Example]:
    """Sequences of the multi-hop tasks of Section 2.1 as text; longer ones have extra target tokens (Section 3.6)."""
    made = MULTI_HOP[task]
    if size < made.length - 1:
        raise WhatwhereError(f"expected a size of {made.length - 1} or more for several hops, got {size}.")
    batch = made.sample(count, seed=seed, extra_target=size - (made.length - 1))
    return [
        Example(made.decode(tokens), made.decode(answer[None]), int(size - path[hops]))
        for tokens, answer, path, hops in zip(batch.tokens, batch.answers, batch.paths, batch.hops, strict=True)
    ]


def follow(sequence: str) -> list[int]:
    """The oracle: the positions (from 0) on the path from the query to the answer.

    It works for both tasks, with one hop or several: an integer points that many places back; two letters point to the
    nearest earlier token that begins with the second. Any other token is the answer.
    """
    tokens = sequence.split()
    points = str.isdigit if tokens and tokens[-1].isdigit() else str.isalpha
    path = [len(tokens) - 1]
    while tokens and points(token := tokens[here := path[-1]]):
        if token.isdigit():
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


def floors(task: str, size: int) -> tuple[float, float]:
    """The accuracy of guessing: without the window, and uniformly among its tokens (NaN for several hops).

    A guess that reads only the query has one letter of 26 in the number task; in the letter task the query gives the
    letter, and one digit of 9 is left. A token of the window is the right place once in ``size``. Elsewhere it may
    still be the same letter in the number task (1/26); in the letter task no other token can be right.
    """
    kind, name = task.rsplit("_", 1)
    if kind != "one_hop":
        return 1 / len(MULTI_HOP[name].answer_ids), nan
    letter = 1 / len(ascii_lowercase)
    return (letter, 1 / size + (1 - 1 / size) * letter) if name == "number" else (1 / len(DIGITS), 1 / size)


def digest(examples: Sequence[Example]) -> str:
    """A checksum of a set of sequences."""
    text = "\n".join(f"{example.sequence} -> {example.answer}" for example in examples)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def prompt(task: str, sequence: str) -> str:
    """The prompt for one sequence: of ``one_hop_number`` in the paper's words, of ``multi_hop_number`` in ours."""
    kind, name = task.rsplit("_", 1)
    return _prompts()[kind][name].replace("{sequence}", sequence)


@cache
def _prompts() -> dict[str, dict[str, str]]:
    return tomllib.loads(files("whatwhere.studies.chat").joinpath("prompts.toml").read_text(encoding="utf-8"))


def sequences_in(text: str) -> list[str]:
    """Every sequence that a prompt gives as input, in order; the last is the one that is asked for."""
    return _INPUT.findall(text)


def asked_sequence(text: str) -> str:
    """The sequence that a prompt asks about, for models that read only sequences."""
    found = sequences_in(text)
    if not found:
        raise WhatwhereError(f'expected a prompt with a line such as Input: "a b 2", got {text[:80]!r}.')
    return found[-1]
