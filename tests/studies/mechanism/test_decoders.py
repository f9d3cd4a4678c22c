from __future__ import annotations

import numpy as np
import pytest
import torch

from whatwhere.model.gptj import GPTJ
from whatwhere.studies.mechanism.copying import Looks, compare_decoders, observe_pointers
from whatwhere.studies.mechanism.decoders import (
    Decoder,
    answer_probe,
    read_answers,
    read_by_probe,
    states_of,
    unembedding,
)
from whatwhere.studies.mechanism.observation import observe
from whatwhere.studies.mechanism.patching import solved_pairs
from whatwhere.studies.mechanism.readout import layers_used


@pytest.fixture(scope="module")
def probe(index_machine: GPTJ) -> Decoder:
    assert index_machine.task is not None
    return answer_probe(index_machine, index_machine.task, 160, seed=9)


def test_states_are_those_of_the_path_before_each_layer(index_machine: GPTJ) -> None:
    task = index_machine.task
    assert task is not None
    batch = task.sample(300, hops=2, seed=0)  # more than go through the model at once
    states = states_of(index_machine, batch)
    assert states.shape[:3] == (2, 4, 300)
    one = list(index_machine.residuals(torch.as_tensor(batch.tokens[299:]).long()))
    for position, layer in np.ndindex(2, 4):
        assert torch.allclose(states[position, layer, 299], one[layer][0, batch.paths[299, position]], atol=1e-4)


def test_both_decoders_read_the_answer_of_a_built_index_model_one_hop_per_layer(
    index_machine: GPTJ, probe: Decoder
) -> None:
    task = index_machine.task
    assert task is not None
    rows = read_answers(index_machine, task, probe, task.sample(120, hops=3, seed=8))
    assert [(row.position, row.layer) for row in rows] == [(p, layer) for p in range(3) for layer in (None, 0, 1, 2)]
    for row in rows:
        there = row.layer is not None and row.layer + 1 >= 3 - row.position
        for share in (row.unembedding, row.probe):
            assert share.value == 1 if there else share.value < 0.5, row
    assert 1 / 6 <= rows[0].guess < 0.4


def test_a_probe_reads_what_the_unembedding_does_not(index_machine: GPTJ) -> None:
    task = index_machine.task
    assert task is not None
    mixed = GPTJ(index_machine.config)
    mixed.load_state_dict(index_machine.state_dict())
    mixed.task = task
    with torch.no_grad():
        mixed.head.weight.copy_(torch.roll(mixed.head.weight, 1, 0))  # it now names another token for each answer
    batch = task.sample(120, hops=3, seed=8)
    state, names = states_of(mixed, batch)[2], answer_probe(mixed, task, 160, seed=9)
    assert (unembedding(mixed, task)(state, 2, batch.hops)[:, 1:] == batch.answers[:, None]).mean() < 0.5
    assert (names(state, 2, batch.hops)[:, 1:] == batch.answers[:, None]).all()


def test_probes_are_fitted_for_each_hop_class(index_machine: GPTJ, probe: Decoder) -> None:
    task = index_machine.task
    assert task is not None
    short, long = (task.sample(40, hops=hops, seed=8) for hops in (1, 3))
    states = torch.cat([states_of(index_machine, batch)[0] for batch in (short, long)], 1)
    named = probe(states, 0, np.concatenate([short.hops, long.hops]))
    right = named == np.concatenate([short.answers, long.answers])[:, None]
    assert right[:40, 1].all()
    assert right[40:, 1].mean() < 0.5
    assert right[40:, 3].all()


def test_a_built_index_model_takes_a_layer_for_each_hop_by_the_probe(index_machine: GPTJ, probe: Decoder) -> None:
    task = index_machine.task
    assert task is not None
    batch = task.sample(90, seed=8)
    seen = read_by_probe(observe(index_machine, batch.tokens), index_machine, probe, batch)
    rows = layers_used(seen, batch)
    assert [row.hops for row in rows] == [1, 2, 3]
    for row in rows:
        early = row.fewer.value  # one of six letters is named by chance, from the first layer on
        assert early < 0.35
        assert row.hops * (1 - early) <= row.layers.value <= row.hops
        assert (row.layers.n, row.never) == (30, 0)


def test_an_answer_that_is_read_and_lost_again_counts_from_its_return(index_machine: GPTJ) -> None:
    task = index_machine.task
    assert task is not None
    batch = task.sample(10, hops=2, seed=8)

    def probe(state: torch.Tensor, position: int, hops: np.ndarray) -> np.ndarray:
        named = np.repeat(batch.answers[:, None], len(state), 1)
        named[:, 2] = -1
        return named if position == 0 and set(hops) == {2} else named * 0

    plain = observe(index_machine, batch.tokens)
    seen = read_by_probe(plain, index_machine, probe, batch)
    (row,) = layers_used(seen, batch)
    assert (row.hops, row.layers.value) == (2, 3)
    assert (seen.readable[:-1, range(10), batch.paths[:, 1]] == 0).all()
    np.testing.assert_array_equal(seen.readable[-1], plain.readable[-1])
    np.testing.assert_array_equal(
        seen.readable[:, range(10), batch.paths[:, 2]], plain.readable[:, range(10), batch.paths[:, 2]]
    )
    assert (plain.readable[2, :, -1] == batch.answers).all()  # the observation that was given is as before


def test_a_model_that_solves_nothing_has_no_answers_to_read(index_machine: GPTJ, probe: Decoder) -> None:
    task = index_machine.task
    assert task is not None
    batch = task.sample(20, hops=3, seed=8)
    silent = GPTJ(index_machine.config)
    silent.task = task
    with torch.no_grad():
        silent.head.bias[int(task.vocab_size) - 1] = 1e6
    assert read_answers(silent, task, probe, batch) == []


def test_on_a_built_index_model_decoders_agree_and_miss_nothing(index_machine: GPTJ, probe: Decoder) -> None:
    task = index_machine.task
    assert task is not None
    decoders = {"unembedding": unembedding(index_machine, task), "probe": probe}
    of_link, of_answer = (
        observe_pointers(index_machine, task, decoders, 40, answer=answer) for answer in (False, True)
    )
    rows = compare_decoders({"link": of_link, "answer": of_answer})
    assert [(row.decoder, row.changed) for row in rows] == [
        (decoder, changed) for changed in ("link", "answer") for decoder in decoders
    ]
    for row in rows:
        assert row.share.value == pytest.approx(1, abs=0.02), row
        assert row.before.n > 20


def test_pairs_that_differ_in_the_answer_alone_differ_nowhere_else(index_machine: GPTJ) -> None:
    task = index_machine.task
    assert task is not None
    plain, changed = solved_pairs(index_machine, task, task.max_hops + 1, 40)
    rows = np.arange(len(plain))
    differ = plain.tokens != changed.tokens
    assert (differ.sum(1) == 1).all()
    assert differ[rows, plain.paths[:, task.max_hops]].all()


def test_flow_on_which_the_two_inputs_disagree_is_counted_as_unclear() -> None:
    moment = np.zeros((4, 1, 3), bool)
    moment[0, 0, 0] = moment[1, 0, 1] = moment[2, 0, 2] = True  # before, present, after; the last is none of them
    flow = np.array([1.0, 2.0, 50.0, 5.0])[:, None, None]
    one = Looks(moment, np.ones((4, 1, 1), bool), flow, flow)
    (row,) = compare_decoders({"link": {"probe": [one, one]}})
    assert (row.before.value, row.present.value, row.share.value) == pytest.approx((1, 2, 2 / 3))
    assert (row.unclear.value, row.unclear.n) == (pytest.approx(5 / 8), 3)
