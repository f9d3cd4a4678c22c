from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from whatwhere.heads.estimate import Estimate
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.mechanism.copying import Looks, copying, observe_looks, observe_pointers, selectivity
from whatwhere.studies.mechanism.decoders import unembedding
from whatwhere.studies.mechanism.observation import record
from whatwhere.studies.mechanism.patching import change_one_hop
from whatwhere.tasks import LetterTask, NumberTask
from whatwhere.tasks.functions import follow_pointers
from whatwhere.tasks.task import Task
from whatwhere.trace.traceable import trace


def test_a_built_index_model_attends_and_copies_nothing_until_the_letter_is_there(index_machine: GPTJ) -> None:
    task = index_machine.task
    assert task is not None
    looks = observe_pointers(index_machine, task, {"lens": unembedding(index_machine, task)}, 40)["lens"]
    rows, (together, *each) = copying(looks), selectivity(looks[:-1])
    assert (together.layer, together.head) == (None, None)
    assert together.share.interval == pytest.approx((1, 1), abs=1e-3)
    assert together.before.value == pytest.approx(0, abs=1e-4)
    assert together.present.value > 0.1
    assert together.before.n > 40
    assert [row.layer for row in each] == [0, 1, 2, 3]
    assert each[0].share.n == 0  # in layer 0 nothing flows from a pointer, so it cannot be asked when it does
    assert {row.attends.value for row in rows if row.attends.n} == {1}
    flows = {(row.layer, row.position, row.moment): row for row in rows if row.flow.n}
    assert flows[0, 2, "present"].flow.value == pytest.approx(24 / 48, abs=0.01)  # see the test of its edges
    assert flows[1, 1, "present"].flow.value == pytest.approx(16 / 48, abs=0.01)
    assert flows[2, 0, "present"].flow.value == pytest.approx(8 / 48, abs=0.01)
    assert all(row.logit.value > 10 for row in flows.values() if row.moment != "before")
    assert all(abs(row.logit.value) < 0.01 for row in flows.values() if row.moment == "before")


def test_the_swap_is_of_one_value_for_one_pointer_in_one_head() -> None:
    task = NumberTask()
    guesser = GPTJ(ModelConfig(vocab_size=136, layers=2, heads=2, d_model=16, d_mlp=16, init_std=0.5), seed=1)
    pairs = change_one_hop(task, task.sample(300, hops=4, seed=0), 2)
    told = [guesser.predict(batch.tokens).astype(np.int32) for batch in pairs]
    differ = told[0] != told[1]
    plain, changed = (replace(batch, answers=one)[differ] for batch, one in zip(pairs, told, strict=True))
    [looks] = observe_looks(guesser, task, [unembedding(guesser, task)], plain, changed, 0)
    (states, written), (theirs, _) = record(guesser, plain.tokens), record(guesser, changed.tokens)
    attention = trace(guesser, plain.tokens).attention()[..., 0, :]  # [layer, n, head, key]
    blocks, asked = list(guesser.layers()), np.argwhere(looks.attends)
    assert len({(layer, head) for _, layer, head in asked.tolist()}) > 1
    for row, layer, head in asked.tolist():
        here, there = plain.paths[row, :2]
        block = blocks[layer]
        with torch.no_grad():
            ours, other = (
                (block.norm(each[layer, row]) @ block.w_in[32:48].T).unflatten(-1, (2, 8))[:, head]
                for each in (states, theirs)
            )
            ours[there] = other[there]
            new = written[layer, row : row + 1].clone()
            new[0, here, head] = attention[layer, row, head] @ ours
            edited, _ = record(guesser, plain.tokens[row : row + 1], {layer: lambda _, new=new: new})
            logits = guesser.head(
                guesser.norm(torch.stack([edited[-1, 0, -1], states[-1, row, -1], theirs[-1, row, -1]]))
            )
            lead = logits[:, int(changed.answers[row])] - logits[:, int(plain.answers[row])]
        wanted = float((lead[0] - lead[1]) / (lead[2] - lead[1]))
        assert looks.flow[row, layer, head] == pytest.approx(wanted, abs=1e-3)


def ideal_looks(task: Task, position: int, layers: int) -> Looks:
    """Looks of the ideal function: a swap gives one pointer the other input's token at its place, in one layer."""
    plain, changed = change_one_hop(task, task.sample(40, hops=task.max_hops, seed=position), position + 2)
    rows, here, there = np.arange(len(plain)), plain.paths[:, position], plain.paths[:, position + 1]

    def run(tokens: np.ndarray, count: int) -> np.ndarray:
        for _ in range(count):
            tokens = follow_pointers(tokens, task.vocabulary)
        return tokens

    flow, moments, attends = [], [], []
    for layer in range(layers):
        ours, theirs = run(plain.tokens, layer), run(changed.tokens, layer)
        attends.append(task.vocabulary.goals(ours)[rows, here] == there)
        value, after = theirs[rows, there], run(ours, 1)
        copied = attends[-1] & ((task.vocabulary.function == "retrieval") | ~task.vocabulary.points(value))
        after[rows, here] = np.where(copied, value, after[rows, here])
        flow.append(run(after, layers - layer - 1)[:, -1] == changed.answers)
        both = (ours, plain.answers), (theirs, changed.answers)
        has, done = ([tokens[rows, at] == answers for tokens, answers in both] for at in (there, here))
        lacks = ~done[0] & ~done[1]
        moments.append(np.stack([lacks & ~has[0] & ~has[1], lacks & has[0] & has[1], done[0] & done[1]], -1))
    every = np.stack(flow, 1)[..., None].astype(float)
    return Looks(np.stack(moments, 1), np.stack(attends, 1)[..., None], every, every)


@pytest.mark.parametrize("task", [NumberTask(), LetterTask(generator="decoy")], ids=["index", "retrieval"])
def test_ideal_index_copies_in_time_alone_and_ideal_retrieval_always(task: Task) -> None:
    together = selectivity([ideal_looks(task, position, layers=6) for position in range(3)])[0]
    assert together.before.n > 50
    if task.vocabulary.function == "index":
        assert (together.before.value, together.present.value, together.share.value) == (0, 1, 1)
    else:  # what p1 gets in layer 1 comes too late for p0, and of equal tokens it looks at the leftmost: 123 of 168
        assert together.before.value == pytest.approx(123 / 168)
        assert together.share.value <= 1 / 3


def test_without_pairs_nothing_is_defined(guesser_of: Callable[[Task], GPTJ]) -> None:
    task = NumberTask()
    guesser = guesser_of(task)
    looks = observe_pointers(guesser, task, {"lens": unembedding(guesser, task)}, 2)["lens"]
    rows, (together, *_) = copying(looks), selectivity(looks[:-1])
    undefined: list[Estimate] = [together.share, together.before, *(row.flow for row in rows)]
    assert all(np.isnan(one.value) and one.n == 0 for one in undefined)
