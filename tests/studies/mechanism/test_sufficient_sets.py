"""The oracle is a made-up model whose answers depend on its heads in a known way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np

from whatwhere.studies.mechanism.ablation import MeanAblation
from whatwhere.studies.mechanism.sufficient_sets import eliminate, sufficient_sets
from whatwhere.studies.mechanism.tables import Elimination, SufficientSet
from whatwhere.tasks import NumberTask
from whatwhere.tasks.batch import Batch

Head = tuple[int, int]


class MadeUp(MeanAblation):
    """Answers right on the share of inputs that a function of the heads left says; more heads make it surer."""

    def __init__(self, layers: int, works: Callable[[set[Head]], float]) -> None:
        self.heads = [(layer, 0) for layer in range(layers)]
        self.works, self.runs = works, 0

    def logits(self, tokens: np.ndarray, sets: Sequence[Collection[Head]], base: Collection[Head] = ()) -> np.ndarray:
        self.runs += len(sets)
        found = np.zeros((len(sets), len(tokens), 2))
        for at, heads in enumerate(sets):
            left = {*self.heads} - {*heads} - {*base}
            right = np.arange(len(tokens)) < round(self.works(left) * len(tokens))
            found[at, :, 1] = np.where(right, 1, -1) * (1 + sum(layer for layer, _ in left) / 100)
        return found


def batch(n: int = 40) -> Batch:
    drawn = NumberTask().sample(n, hops=2, seed=0)
    return replace(drawn, answers=np.ones(n, np.int32))


def search(model: MadeUp, n: int = 40) -> tuple[list[Elimination], SufficientSet]:
    steps, (found,) = sufficient_sets(model, batch(n), batch(n))
    return steps, found


def test_heads_that_can_replace_each_other_are_needed_once() -> None:
    """No single head but 0 is needed, and yet 0 with one of 1, 2, 3 is: what single ablation misses."""

    def works(left: set[Head]) -> float:
        return float((0, 0) in left and bool(left & {(1, 0), (2, 0), (3, 0)}))

    steps, found = search(MadeUp(6, works))
    assert found.heads == "0.0 3.0"  # the one that makes it surest
    assert (found.hops, found.size, found.all_heads) == (2, 2, 6)
    assert found.accuracy.value == found.held_out.value == found.whole.value == 1
    assert [step.kept for step in steps] == [6, 5, 4, 3, 2, 1]
    assert steps[0].removed == ""
    assert (steps[-1].accuracy.value, steps[-1].kept) == (0, 1)  # one too many


def test_a_small_loss_is_allowed_and_a_larger_one_is_not() -> None:
    steps, found = search(MadeUp(4, lambda left: 0.9 - 0.02 * (4 - len(left))), 100)  # 0.95 * 0.9 = 0.855
    assert found.size == 2
    assert steps[-1].kept == 1


def test_a_model_that_needs_no_head_is_left_with_none() -> None:
    _, found = search(MadeUp(5, lambda _: 1.0))
    assert (found.heads, found.size) == ("", 0)


def test_a_model_whose_heads_are_all_needed_keeps_them() -> None:
    steps, found = search(MadeUp(3, lambda left: float(len(left) == 3)))
    assert (found.heads, len(steps)) == ("0.0 1.0 2.0", 2)


def test_many_heads_go_several_at_a_time() -> None:
    model = MadeUp(32, lambda left: float({(0, 0), (9, 0)} <= left))
    removed = eliminate(model, batch())
    assert len(removed[0]) == 8
    assert {head for heads in removed[:-1] for head in heads} == {*model.heads} - {(0, 0), (9, 0)}
    assert model.runs < 150  # one by one takes 32 + 31 + ..


def test_heads_that_only_together_cannot_go_are_found_one_by_one() -> None:
    model = MadeUp(16, lambda left: float(len(left) > 14))
    _, found = search(model)
    assert found.size == 15


def test_a_step_that_fails_on_held_out_inputs_is_taken_back() -> None:
    model = MadeUp(3, lambda left: 1.0 if left else 0.0)
    lucky = batch()
    unlucky = replace(batch(30), answers=np.ones(30, np.int32))
    answer = model.logits

    def logits(tokens: np.ndarray, sets: Sequence[Collection[Head]], base: Collection[Head] = ()) -> np.ndarray:
        found = answer(tokens, sets, base)
        for at, heads in enumerate(sets):
            if len(tokens) == 30 and len({*heads, *base}) >= 2:
                found[at, :10] *= -1
        return found

    model.logits = logits  # pyright: ignore[reportAttributeAccessIssue]
    steps, (found,) = sufficient_sets(model, lucky, unlucky)
    assert found.size == 2
    assert [round(step.held_out.value, 2) for step in steps] == [1, 1, 0.67, 0.33]
    assert [step.accuracy.value for step in steps] == [1, 1, 1, 0]
