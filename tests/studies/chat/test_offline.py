from __future__ import annotations

from math import erf, sqrt

import numpy as np
import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.studies.chat.one_hop import MULTI_HOP, TASKS, floors, multi_hop_examples, one_hop_examples, solve
from whatwhere.studies.chat.registry import ReferenceSolver, TrainedModel


@pytest.mark.parametrize("task", TASKS)
def test_the_perfect_solver_is_always_right(task: str) -> None:
    solver = ReferenceSolver("perfect")
    assert all(solver.answer(e.sequence) == e.answer for e in one_hop_examples(task, 48, 1, 50))
    made = MULTI_HOP[task]
    batch = made.sample(20, seed=1)
    for tokens in batch.tokens:
        assert solver.answer(made.decode(tokens)) == solve(made.decode(tokens))


@pytest.mark.parametrize("task", TASKS)
def test_the_guesser_scores_what_chance_does(task: str) -> None:
    solver = ReferenceSolver("guess")
    right = np.mean([solver.answer(e.sequence) == e.answer for e in one_hop_examples(task, 12, 1, 800)])
    _, chance = floors(f"one_hop_{task}", 12)
    assert abs(right - chance) < 4 * sqrt(chance / 800)


def counted(distance: int, size: int, noise: float, task: str) -> float:
    """The counter's accuracy at one distance, by hand: it lands right, or wrong and finds the same letter."""

    def within(low: float, high: float) -> float:
        return (erf(high / sqrt(2)) - erf(low / sqrt(2))) / 2

    sd = noise * distance
    lands = within(-0.5 / sd, 0.5 / sd)
    inside = within((0.5 - distance) / sd, (size + 0.5 - distance) / sd)
    found = lands + (1 - inside) / size
    return found + (1 - found) * (1 / 26 if task == "number" else 0.0)


@pytest.mark.parametrize("task", TASKS)
def test_the_counter_errs_with_distance_as_its_formula_says(task: str) -> None:
    solver = ReferenceSolver("counter", noise=0.1)
    examples = one_hop_examples(task, 40, 1, 1200)
    for near, far in ((1, 5), (6, 12), (13, 25), (26, 40)):
        here = [e for e in examples if near <= e.distance <= far]
        expected = np.mean([counted(e.distance, 40, 0.1, task) for e in here])
        right = np.mean([solver.answer(e.sequence) == e.answer for e in here])
        assert abs(right - expected) < 4 * sqrt(0.25 / len(here)), (near, far)
    assert counted(3, 40, 0.1, task) > 0.9 > 0.4 > counted(40, 40, 0.1, task)


def test_a_counter_without_noise_is_perfect_and_seeds_differ() -> None:
    examples = one_hop_examples("number", 60, 1, 60)
    assert all(ReferenceSolver("counter", noise=0.0).answer(e.sequence) == e.answer for e in examples)
    first, again, other = (
        [ReferenceSolver("counter", noise=0.3, seed=seed).answer(e.sequence) for e in examples] for seed in (0, 0, 1)
    )
    assert first == again != other


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("oracle", {}, "expected a reference solver of perfect, guess, counter, got 'oracle'"),
        ("counter", {"noise": -1.0}, "expected a noise of 0 or more, got -1.0"),
        ("counter", {"noise": "much"}, "expected a noise of 0 or more, got 'much'"),
        ("counter", {"loudness": 1}, "expected the arguments noise and seed of a reference solver, got 'loudness'"),
    ],
)
def test_what_no_solver_is_is_refused(name: str, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(WhatwhereError, match=message):
        ReferenceSolver(name, **arguments)  # pyright: ignore[reportArgumentType]


def test_a_trained_model_answers_its_own_task() -> None:
    model = TrainedModel("letter")
    examples = multi_hop_examples("letter", 16, 1, 8)
    assert [model.answer(example.sequence) for example in examples] == [example.answer for example in examples]
