from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.mechanism.ablation import MeanAblation
from whatwhere.studies.mechanism.observation import record, run_from
from whatwhere.studies.mechanism.patching import change_one_hop, count_flips, edge_gains, edges, patch, solved_pairs
from whatwhere.tasks import NumberTask
from whatwhere.tasks.batch import Batch

TASK = NumberTask()


@pytest.fixture(scope="module")
def model() -> GPTJ:
    return GPTJ(ModelConfig(vocab_size=136, layers=2, d_model=32, d_mlp=32, init_std=0.5), seed=1)


@pytest.fixture(scope="module")
def pairs(model: GPTJ) -> tuple[Batch, Batch]:
    """Pairs that differ in the last pointer, with what the model answers as the answers."""
    plain, changed = change_one_hop(TASK, TASK.sample(300, hops=2, seed=0), hop=2)
    answered = model.predict(plain.tokens), model.predict(changed.tokens)
    differ = answered[0] != answered[1]
    assert differ.sum() > 10
    plain, changed = (
        replace(batch, answers=answers.astype(np.int32))
        for batch, answers in zip((plain, changed), answered, strict=True)
    )
    return plain[differ], changed[differ]


def test_the_last_state_carries_everything_and_the_last_layer_nothing_elsewhere(
    model: GPTJ, pairs: tuple[Batch, Batch]
) -> None:
    assert count_flips(model, *pairs, positions=2)[1].tolist() == [len(pairs[0]), 0]


def test_a_patched_place_is_the_others_state_there_and_ours_elsewhere(model: GPTJ, pairs: tuple[Batch, Batch]) -> None:
    plain, changed = pairs
    _, last = model.layers()
    flips = 0
    for row, at in enumerate(plain.paths[:, 1]):
        with torch.no_grad():
            both = (torch.as_tensor(batch.tokens[row : row + 1]).long() for batch in pairs)
            ours, theirs = (list(model.residuals(tokens))[1] for tokens in both)
            ours[0, at] = theirs[0, at]
            end = last(ours, *model.turns_of(1, 17))
            flips += int(model.head(model.norm(end[0, -1])).argmax()) == changed.answers[row]
    assert count_flips(model, plain, changed, positions=2)[0, 1] == flips


def test_pairs_that_the_model_does_not_solve_are_left_out_and_nothing_left_is_undefined(model: GPTJ) -> None:
    rows = patch(model, TASK, pairs=5)
    assert [row.changed_hop for row in rows].count(4) == 2 * 4
    assert all(row.share.n == 0 and np.isnan(row.share.value) and row.same_hops == 0 for row in rows)
    nothing = solved_pairs(model, TASK, 5, pairs=5)
    assert edges(MeanAblation(model, TASK.sample(8).tokens), nothing, [(0, 0)]) == []


def test_going_on_from_any_layer_gives_the_models_own_answers(model: GPTJ) -> None:
    tokens = TASK.sample(30, seed=0).tokens
    states, written = record(model, tokens)
    assert written.shape == (2, 30, 17, 1, 32)
    for layer in range(3):
        answers = run_from(model, states[layer], layer).argmax(-1).numpy()
        assert (answers == model.predict(tokens)).all()


def test_going_on_with_an_edit_is_running_all_of_it_with_the_edit(model: GPTJ) -> None:
    tokens = TASK.sample(30, seed=0).tokens
    states, _ = record(model, tokens)

    def edit(written: torch.Tensor) -> torch.Tensor:
        return -3 * written

    for layer in range(2):
        changed, _ = record(model, tokens, {layer: edit})
        with torch.no_grad():
            wanted = model.head(model.norm(changed[-1][:, -1]))
        torch.testing.assert_close(run_from(model, states[layer], layer, {layer: edit}), wanted)
        assert (wanted.argmax(-1).numpy() != model.predict(tokens)).any()


def test_edges_of_a_built_index_model_are_the_chain_of_its_hops(index_machine: GPTJ) -> None:
    task = index_machine.task
    assert task is not None
    ablation = MeanAblation(index_machine, task.sample(60, seed=0).tokens)
    rows = edges(ablation, solved_pairs(index_machine, task, 4, 12), ablation.heads)
    found = {((row.from_layer, row.from_position), (row.to_layer, row.to_position)): row for row in rows}
    # A letter weighs 1 at first; each layer adds twice what the place holds: p2 has 2 after layer 0 and 2 + 2 * 3 = 8
    # after layer 1, p1 has 4 and 4 + 16 = 20 after layers 1 and 2, and p0 gets 8 in layer 2 and 40 in layer 3.
    weights = {
        ((None, 3), (0, 2)): 24 / 48, ((None, 3), (1, 2)): 8 / 48, ((0, 2), (1, 1)): 16 / 48,
        ((0, 2), (2, 1)): 8 / 48, ((1, 2), (2, 1)): 24 / 48, ((1, 1), (2, 0)): 8 / 48, ((1, 1), (3, 0)): 8 / 48,
        ((2, 1), (3, 0)): 32 / 48, ((2, 0), (None, 0)): 8 / 48, ((3, 0), (None, 0)): 40 / 48,
    }  # fmt: skip
    for edge, row in found.items():
        assert row.share.value == row.alone.value == pytest.approx(weights.get(edge, 0), abs=0.01), edge
        assert row.share.n == 12
    assert weights.keys() <= found.keys()


def test_an_edge_is_one_heads_write_at_one_position_seen_by_one_other_head(
    model: GPTJ, pairs: tuple[Batch, Batch]
) -> None:
    plain, changed = (batch[:3] for batch in pairs)
    gap, gains = edge_gains(model, plain, changed, [(0, 0), (1, 0)])
    first, second = model.layers()
    blocks, at = (first, second), torch.as_tensor(plain.paths).long()
    (states, written), (_, theirs) = record(model, plain.tokens), record(model, changed.tokens)
    for row in range(3):
        here, place = at[row, 0], at[row, 1]
        with torch.no_grad():
            sent = written[0, row : row + 1].clone()
            sent[0, place] = theirs[0, row, place]
            seen = blocks[0](states[0, row : row + 1], *model.turns_of(0, 17), edit=lambda _, new=sent: new)
            caught: list[torch.Tensor] = []
            blocks[1](seen, *model.turns_of(1, 17), edit=lambda values, kept=caught: kept.append(values) or values)
            new = written[1, row : row + 1].clone()
            new[0, here] = caught[0][0, here]
            end = blocks[1](states[1, row : row + 1], *model.turns_of(1, 17), edit=lambda _, new=new: new)
            both = torch.as_tensor([plain.answers[row], changed.answers[row]]).long()
            logits = [model.head(model.norm(state[0, -1]))[both] for state in (end, states[2, row : row + 1])]
        wanted = float((logits[0][1] - logits[0][0]) - (logits[1][1] - logits[1][0]))
        assert gains[(0, 0, 1), (1, 0, 0)][row] == pytest.approx(wanted, abs=1e-4)
    assert (gap > 0).all()
    assert max(map(abs, gains[(0, 0, 1), (1, 0, 0)])) > 0
