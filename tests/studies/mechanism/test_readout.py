"""The oracle is a machine made of the ideal functions: what each position holds after each layer is then known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from whatwhere.studies.mechanism.observation import Observation
from whatwhere.studies.mechanism.readout import (
    deliveries,
    depths_of_answers,
    doubling_layers,
    layers_used,
    moves,
    readable_answers,
    readout,
)
from whatwhere.tasks import LetterTask, NumberTask
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.functions import follow_pointers, index, index_doubling, reflexive

LAYERS = 6


def machine(task: NumberTask | LetterTask, batch: Batch, functions: Sequence[Callable] | None = None) -> Observation:
    """Every layer applies Index or Retrieval (or what is given) and looks where the input points."""
    states = [batch.tokens]
    for layer in range(LAYERS):
        step = functions[layer] if functions else follow_pointers
        states.append(step(states[-1], task.vocabulary))
    there = task.vocabulary.goals(batch.tokens)
    looks = np.where(there >= 0, there, np.arange(there.shape[1]))[None, :, None].repeat(LAYERS, 0)
    readable = np.stack(states)
    ones = np.ones(readable.shape, np.float32)
    return Observation(looks, np.ones(looks.shape, np.float32), readable, ones, ones[:, :, :2])


@pytest.mark.parametrize("task", [NumberTask(), LetterTask(), LetterTask(generator="decoy")])
def test_ideal_functions_bring_the_answer_one_hop_per_layer(task: NumberTask | LetterTask) -> None:
    batch = task.sample(80, seed=0)
    seen = machine(task, batch)
    for row, hops in zip(depths_of_answers(seen, batch), batch.hops, strict=True):
        assert row[:hops].tolist() == list(range(hops, 0, -1))
        assert (row[hops:] == LAYERS + 1).all()
    for used in layers_used(seen, batch):
        assert (used.layers.value, used.layers.low, used.layers.n) == (used.hops, used.hops, 20)
        assert (used.fewer.value, used.never) == (0, 0)
    for move in moves(seen, batch, task.vocabulary):
        assert np.isnan(move.share.value) if move.layer >= 4 else move.share.value == float(move.hops_nearer == 1)
    for delivery in deliveries(seen, batch):
        assert delivery.share.value == float(delivery.layer == delivery.distance - 1)


def test_pointer_doubling_is_seen_as_fewer_layers_than_hops() -> None:
    task = NumberTask()
    batch = task.sample(80, seed=0)

    def last(tokens: np.ndarray, _: object) -> np.ndarray:
        return reflexive(tokens)

    for hops in (2, 3, 4):
        chosen = batch[batch.hops == hops]
        rounds = doubling_layers(hops)
        functions = [*[index_doubling] * (rounds - 1), index, *[last] * (LAYERS - rounds)]
        (used,) = layers_used(machine(task, chosen, functions), chosen)
        assert used.layers.value == used.doubling == rounds
        assert used.fewer.value == float(rounds < hops)


def test_the_readout_table_is_the_share_of_inputs_at_each_position_and_layer() -> None:
    task = NumberTask()
    batch = task.sample(40, seed=2)
    rows = readout(machine(task, batch), batch)
    assert len(rows) == (1 + 2 + 3 + 4) * (LAYERS + 1)
    for row in rows:
        depth = 0 if row.layer is None else row.layer + 1
        assert row.share.value == float(depth >= row.hops - row.position)
        assert row.share.n == 10


def test_an_answer_that_is_lost_again_does_not_count() -> None:
    task = NumberTask()
    batch = task.sample(4, hops=1, seed=2)
    seen = machine(task, batch)
    seen.readable[2] = batch.tokens  # after layer 1 it is gone
    assert (depths_of_answers(seen, batch)[:, 0] == 3).all()
    seen.readable[-1] = batch.tokens
    assert (depths_of_answers(seen, batch)[:, 0] == LAYERS + 1).all()
    (used,) = layers_used(seen, batch)
    assert (used.never, used.layers.n) == (4, 0)
    assert np.isnan(used.layers.value)


def test_the_last_layer_does_not_count_at_positions_that_nobody_reads() -> None:
    task = NumberTask()
    batch = task.sample(4, hops=3, seed=2)
    seen = machine(task, batch)
    seen.readable[-1, :, :-1] = 0
    assert depths_of_answers(seen, batch)[0].tolist()[:3] == [3, 2, 1]


def test_nothing_is_readable_where_a_path_has_ended() -> None:
    task = LetterTask()
    batch = task.sample(8, seed=0)
    readable = readable_answers(machine(task, batch), batch)
    assert not readable[:, batch.paths < 0].any()


def test_doubling_needs_one_two_three_three_layers() -> None:
    assert [doubling_layers(hops) for hops in range(1, 9)] == [1, 2, 3, 3, 4, 4, 4, 4]
