from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import binom

from whatwhere.heads.estimate import Estimate
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.mechanism.ablation import (
    Group,
    MeanAblation,
    ablate_groups,
    ablate_heads,
    groups_of,
    mcnemar,
)
from whatwhere.studies.mechanism.tables import Kind, read_heads, write_heads
from whatwhere.tasks import NumberTask
from whatwhere.tasks.batch import Batch
from whatwhere.trace.traceable import run

ALL = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]


@pytest.fixture(scope="module")
def model() -> GPTJ:
    return GPTJ(ModelConfig(vocab_size=136, layers=3, heads=2, d_model=32, d_mlp=32, init_std=0.3), seed=1)


@pytest.fixture(scope="module")
def batch(model: GPTJ) -> Batch:
    """More than one part; what the model answers counts as right."""
    drawn = NumberTask().sample(300, seed=0)
    return replace(drawn, answers=model.predict(drawn.tokens).astype(np.int32))


def by_hand(model: GPTJ, means_of: np.ndarray, tokens: np.ndarray, heads: list[tuple[int, int]]) -> torch.Tensor:
    """The answer's logits with some heads replaced, by edits of the whole forward pass."""
    clean: dict[int, torch.Tensor] = {}

    def keep(layer: int):
        def edit(written: torch.Tensor) -> torch.Tensor:
            clean[layer] = written.mean(0)
            return written

        return edit

    def put(layer: int):
        def edit(written: torch.Tensor) -> torch.Tensor:
            each = list(written.unbind(2))
            for at, head in heads:
                if at == layer:
                    each[head] = clean[layer][:, head].expand_as(each[head])
            return torch.stack(each, 2)

        return edit

    with torch.no_grad():
        list(model.residuals(torch.as_tensor(means_of).long(), edits={layer: keep(layer) for layer in range(3)}))
        *_, end = model.residuals(torch.as_tensor(tokens).long(), edits={layer: put(layer) for layer in range(3)})
        return model.head(model.norm(end[:, -1]))


SETS = [[], [(1, 1)], [(2, 0), (2, 1)], [(0, 0), (1, 0), (1, 1)], [(1, 0), (1, 1), (2, 0), (2, 1)], ALL]


@pytest.mark.slow
def test_each_set_of_heads_is_replaced_by_its_means_over_inputs(model: GPTJ, batch: Batch) -> None:
    ablation = MeanAblation(model, batch.tokens)
    logits = ablation.logits(batch.tokens, SETS)
    for heads, found in zip(SETS, logits, strict=True):
        assert found == pytest.approx(by_hand(model, batch.tokens, batch.tokens, heads).numpy(), abs=1e-4)


@pytest.mark.slow
def test_heads_are_ablated_on_top_of_others_as_if_at_once(model: GPTJ, batch: Batch) -> None:
    batch = batch[:40]
    ablation = MeanAblation(model, batch.tokens)
    for base in ([(2, 0), (2, 1)], [(0, 1)], ALL[2:], ALL):
        together = ablation.logits(batch.tokens, [[*base, *heads] for heads in SETS])
        assert ablation.logits(batch.tokens, SETS, base) == pytest.approx(together, abs=1e-4)


def test_other_inputs_are_run_with_the_same_means(model: GPTJ, batch: Batch) -> None:
    others = NumberTask().sample(20, seed=5).tokens
    found = MeanAblation(model, batch.tokens).logits(others, [[(0, 0), (1, 1)]])[0]
    assert found == pytest.approx(by_hand(model, batch.tokens, others, [(0, 0), (1, 1)]).numpy(), abs=1e-4)


def test_the_general_intervention_says_the_same(model: GPTJ, batch: Batch) -> None:
    with torch.no_grad():
        wanted = run(model, batch.tokens, ablate=[(0, 1), (2, 0)])[:, -1].numpy()
    assert MeanAblation(model, batch.tokens).logits(batch.tokens, [[(0, 1), (2, 0)]])[0] == pytest.approx(
        wanted, abs=1e-4
    )


@pytest.mark.slow
def test_rows_are_accuracies_before_and_after_on_the_same_inputs(model: GPTJ, batch: Batch) -> None:
    ablation = MeanAblation(model, batch.tokens)
    singles = ablate_heads(ablation, batch)
    groups = ablate_groups(ablation, batch, [Group("pair", "both", ((0, 0), (1, 1)))])
    assert [(row.layer, row.head) for row in singles[::4]] == ALL
    assert [(row.group, row.heads) for row in groups] == [("both", "0.0 1.1")] * 4
    cases = [([(row.layer, row.head)], row) for row in singles] + [([(0, 0), (1, 1)], row) for row in groups]
    for heads, row in cases:
        right = by_hand(model, batch.tokens, batch.tokens, heads).argmax(-1).numpy() == batch.answers
        here = right[batch.hops == row.hops]
        assert (row.before.value, row.before.n) == (1, 75)
        assert row.after.value == pytest.approx(here.mean())
        assert row.loss == pytest.approx(1 - here.mean())
        lost = int((~here).sum())
        assert row.p_value == pytest.approx(0.5**lost)
        assert row.needed == (lost / 75 > 0.05 and 0.5**lost < 0.001)
    assert any(row.needed for row in singles)


class Loses(MeanAblation):
    """A made-up model of one head, without which it loses so many answers."""

    def __init__(self, lost: int) -> None:
        self.heads, self.lost = [(0, 0)], lost

    def logits(
        self, tokens: np.ndarray, sets: Sequence[Collection[tuple[int, int]]], base: Collection[tuple[int, int]] = ()
    ) -> np.ndarray:
        del base
        found = np.zeros((len(sets), len(tokens), 2), np.float32)
        found[:, :, 1] = 1
        found[1:, : self.lost, 1] = -1
        return found


@pytest.mark.parametrize(
    ("inputs", "lost", "needed"),
    [(200, 20, True), (1000, 40, False), (50, 5, False)],  # enough; too small a loss; too few answers to be sure
)
def test_needed_is_a_loss_that_is_large_enough_and_sure(inputs: int, lost: int, needed: bool) -> None:
    batch = replace(NumberTask().sample(inputs, hops=1), answers=np.ones(inputs, np.int32))
    (row,) = ablate_heads(Loses(lost), batch)
    assert (row.loss, row.needed) == (pytest.approx(lost / inputs), needed)


def test_mcnemar_counts_only_the_answers_that_change() -> None:
    before = np.array([True] * 90 + [False] * 10)
    after = np.array([True] * 80 + [False] * 10 + [True] * 2 + [False] * 8)
    assert mcnemar(before, after) == pytest.approx(binom.sf(9, 12, 0.5))  # 10 lost, 2 gained
    assert mcnemar(before, before) == 1
    assert mcnemar(after[80:], before[80:]) > 0.5  # a gain is no loss


def kind(layer: int, label: str) -> Kind:
    positional, symbolic = {"positional": (0.98, 0.02), "symbolic": (0.02, 0.98), "mixed": (0.15, 0.85)}[label]
    return Kind(layer, 0, label, *(Estimate(value, value, value, 9) for value in (positional, symbolic)))


def test_groups_are_late_layers_kinds_and_all_but_a_set() -> None:
    kinds = [kind(0, "positional"), kind(1, "symbolic"), kind(2, "symbolic"), kind(3, "mixed")]
    found = groups_of(kinds, needed={(1, 0)})
    groups = {group.name: write_heads(group.heads) for group in found if "gamma" not in group.family}
    assert groups == {
        "layers 1-3": "1.0 2.0 3.0",
        "layers 2-3": "2.0 3.0",
        "all mixed": "3.0",
        "all positional": "0.0",
        "all symbolic": "1.0 2.0",
        "all but mixed": "0.0 1.0 2.0",
        "all but positional": "1.0 2.0 3.0",
        "all but symbolic": "0.0 3.0",
        "all but needed": "0.0 2.0 3.0",
        "all": "0.0 1.0 2.0 3.0",
    }
    assert "all but needed" not in {group.name for group in groups_of(kinds, needed=())}
    assert [group.name for group in groups_of(kinds[:1], ()) if "gamma" not in group.family] == [
        "all positional",
        "all",
    ]
    loose = {group.name: write_heads(group.heads) for group in found if group.family == "kind at gamma 0.2"}
    assert loose == {"all positional": "0.0", "all symbolic": "1.0 2.0 3.0"}, "a tolerance decides which heads are pure"


def test_heads_are_written_and_read() -> None:
    assert read_heads(write_heads([(10, 1), (2, 0)])) == [(2, 0), (10, 1)]
    assert read_heads("") == []
