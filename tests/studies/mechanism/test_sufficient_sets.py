"""The oracle is a made-up model whose answers depend on its heads in a known way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np

from whatwhere.heads.estimate import share
from whatwhere.studies.mechanism import MECHANISM
from whatwhere.studies.mechanism.ablation import MeanAblation
from whatwhere.studies.mechanism.measure import fresh_inputs, held_out_inputs
from whatwhere.studies.mechanism.sufficient_sets import KEEP, confirm, eliminate, sufficient_sets
from whatwhere.studies.mechanism.tables import ConfirmedSet, Elimination, SufficientSet
from whatwhere.studies.results import Results
from whatwhere.tasks import NumberTask, task_from_dict
from whatwhere.tasks.batch import Batch
from whatwhere.zoo.load import SHIPPED, SHIPPED_AT

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


def test_inputs_that_the_search_has_seen_confirm_nothing() -> None:
    """The set works on seen inputs alone: were one of them counted, some answers would be right."""
    model, drawn = MadeUp(3, lambda _: 1.0), NumberTask().sample(40, hops=2, seed=1)
    seen, held_out, fresh = drawn[:10], drawn[10:15], drawn[5:]
    known = {tokens.tobytes() for tokens in drawn.tokens[:15]}

    def logits(tokens: np.ndarray, sets: Sequence[Collection[Head]], base: Collection[Head] = ()) -> np.ndarray:
        found = np.zeros((len(sets), len(tokens), 200))
        for at, heads in enumerate(sets):
            right = [not {*heads, *base} or one.tobytes() in known for one in tokens]
            found[at, :, 1] = np.where(right, 1, -1)
        return found

    model.logits = logits  # pyright: ignore[reportAttributeAccessIssue]
    seen, held_out, fresh = (replace(one, answers=np.ones(len(one), np.int32)) for one in (seen, held_out, fresh))
    _, sets = sufficient_sets(model, seen, held_out)
    assert (sets[0].size, sets[0].accuracy.value, sets[0].held_out.value) == (0, 1, 1)
    (row,) = confirm(model, sets, fresh, [seen, held_out])
    assert (row.hops, row.heads) == (2, "")
    assert (row.alone.value, row.alone.n) == (0, 25)
    assert (row.whole.value, row.whole.n) == (1, 25)


def test_the_heads_of_a_set_stay_while_it_is_confirmed() -> None:
    model = MadeUp(6, lambda left: float(left == {(1, 0), (4, 0)} or len(left) == 6))
    one = share(5, 5)
    (row,) = confirm(model, [SufficientSet(2, 2, 6, "1.0 4.0", one, one, one)], batch(), [])
    assert (row.alone.value, row.whole.value) == (1, 1)


def test_a_shipped_set_is_confirmed_on_inputs_of_its_own() -> None:
    for name in SHIPPED:
        results = Results.open(MECHANISM, SHIPPED_AT / name / MECHANISM.name)
        task = task_from_dict(results.inputs["task"])
        searched = [task.sample(results.settings.inputs, seed=0), held_out_inputs(task, results)]
        seen = {tokens.tobytes() for one in searched for tokens in one.tokens}
        fresh = fresh_inputs(task, results)
        assert not seen & {tokens.tobytes() for tokens in fresh.tokens}
        rows = results.rows("confirmed", ConfirmedSet)
        assert [row.heads for row in rows] == [row.heads for row in results.rows("sufficient", SufficientSet)]
        assert {row.alone.n for row in rows} == {len(fresh) // 4}


def test_of_the_sets_that_were_not_confirmed_held_out_inputs_chose_the_two_that_the_docs_name() -> None:
    """docs/mechanism.md: a set that the search ends with by itself is as good as confirmed."""
    chosen = []
    for home in sorted(SHIPPED_AT.glob("seeds/*/*/mechanism")):
        results = Results.open(MECHANISM, home)
        if results.has("confirmed"):
            continue
        steps = results.rows("elimination", Elimination)
        for one in results.rows("sufficient", SufficientSet):
            of_class = [step for step in steps if step.hops == one.hops]
            own = min(step.kept for step in of_class if step.accuracy.value >= KEEP * of_class[0].accuracy.value)
            chosen.append((home.parts[-3], home.parts[-2], one.hops) if own < one.size else None)
    assert len(chosen) == 24
    assert [*filter(None, chosen)] == [("11", "letter", 4), ("12", "letter", 4)]
