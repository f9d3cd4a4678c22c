"""480,000 balanced sequences with their splits, against a generator that makes one sequence at a time."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from benchmarks.measure import Row, seconds, show
from whatwhere.store.tensors import save_tensors
from whatwhere.tasks import LetterTask, NumberTask, Task

SIZE = 480_000
BY_HAND = 4_000
"""Sequences for the slow peer, whose time is proportional to their number."""


def number_by_hand(rng: random.Random, hops: int) -> list[int]:
    """One sequence of the number task, as one would write it first: symbols, a path, distractors."""
    tokens = [rng.randrange(120) for _ in range(8)] + [119 + rng.randint(1, min(16, p)) for p in range(8, 17)]
    path = [16, *sorted(rng.sample(range(8, 16), hops - 1), reverse=True), rng.randrange(8)]
    for here, there in pairwise(path):
        tokens[here] = 119 + here - there
    return tokens


def letter_by_hand(rng: random.Random, hops: int) -> list[int]:
    """One sequence of the letter task, with two decoys: letters get roles, then tokens are filled in."""
    letters = rng.sample(range(8), 8)
    answer, decoys, links, free = letters[0], letters[1:3], letters[3 : 2 + hops], letters[2 + hops :]
    tokens = [rng.choice(free) * 16 + 8 + rng.randrange(8) for _ in range(8)]
    for place, letter in zip(rng.sample(range(8), 3), [answer, *decoys], strict=True):
        tokens[place] = letter * 16 + 8 + rng.randrange(8)
    path = sorted(rng.sample(range(8), hops - 1))
    present = [answer, *decoys]
    tip = answer
    for position in range(8):
        if position in path:
            link = links[path.index(position)]
            tokens.append(link * 16 + tip)
            tip = link
            present.append(link)
        else:
            tokens.append(rng.choice(free) * 16 + rng.choice(present))
    return [*tokens, rng.choice(free) * 16 + tip]


def _one_at_a_time(by_hand: Callable[[random.Random, int], list[int]]) -> list[list[int]]:
    rng = random.Random(0)
    return [by_hand(rng, i % 4 + 1) for i in range(BY_HAND)]


def main() -> None:
    """Prints the table."""
    cases: list[tuple[Task, Callable[[random.Random, int], list[int]]]] = [
        (NumberTask(), number_by_hand),
        (LetterTask(), letter_by_hand),
    ]
    for task, by_hand in cases:
        dataset = task.dataset(SIZE)
        splits = [split.arrays() for split in dataset.splits().values()]
        with tempfile.TemporaryDirectory() as directory:
            made, slow, written = seconds(
                lambda task=task: task.dataset(SIZE),
                lambda by_hand=by_hand: _one_at_a_time(by_hand),
                lambda splits=splits, directory=directory: [
                    save_tensors(Path(directory) / f"{i}.safetensors", split) for i, split in enumerate(splits)
                ],
                repeats=3,
            )
        show(
            f"{task.name} task: {SIZE:,} balanced sequences with splits",
            [
                Row("time", made, "s", "< 2 on two cores"),
                Row("faster than one sequence at a time in Python", slow * SIZE / BY_HAND / made, goal=">= 10"),
                Row("time over merely writing the arrays to disk, with checksum and fsync", made / written),
            ],
        )
