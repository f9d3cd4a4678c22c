from __future__ import annotations

import numpy as np
import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.heads.roles import destinations, hops_nearer, role_shares
from whatwhere.tasks import LetterTask, NumberTask
from whatwhere.tasks.batch import Batch
from whatwhere.theory.index_head import index_head
from whatwhere.theory.retrieval_head import retrieval_head


def test_the_hand_built_index_head_looks_at_the_index_target_and_nowhere_else() -> None:
    task = NumberTask()
    batch = task.sample(40, seed=1)
    attention = index_head(0.866, 1e4).trace(batch.tokens, queries=range(17)).attention()
    rows = role_shares(attention.argmax(-1).numpy(), batch, task.vocabulary)
    shares = {(row.queries, row.distance, row.role): row for row in rows}
    assert {row.layer for row in rows} == {row.head for row in rows} == {0}
    for distance in range(1, 5):
        row = shares["path", distance, "index"]
        assert (row.share.value, row.share.high, row.share.n) == (1, 1, 10 * (5 - distance))
        assert shares["last", distance, "index"].share.n == 10
        assert shares["path", distance, "itself"].share == shares["path", distance, "elsewhere"].share
        assert shares["path", distance, "itself"].share.value == 0
    assert shares["path", None, "index"].share.n == 10 * (1 + 2 + 3 + 4)


def test_the_hand_built_retrieval_head_looks_at_the_retrieval_target() -> None:
    task = LetterTask(generator="strict")
    batch = task.sample(40, seed=1)
    attention = retrieval_head(0.0, 1e3).trace(batch.tokens, queries=range(17)).attention()
    rows = role_shares(attention.argmax(-1).numpy(), batch, task.vocabulary)
    assert all(row.share.value == 1 for row in rows if row.role == "retrieval")
    assert all(row.share.value == 0 for row in rows if row.role == "beyond")


def test_destinations_follow_every_chain_to_its_end() -> None:
    task = NumberTask(distractors="any")
    ends, hops = destinations(task.encode("a b 2 1 4 9 1")[None], task.vocabulary)
    assert ends.tolist() == [[0, 1, 0, 0, 0, -1, -1]]
    assert hops.tolist() == [[0, 0, 1, 2, 1, -1, -1]]


@pytest.mark.parametrize("task", [NumberTask(), LetterTask()])
def test_destinations_agree_with_the_paths_of_the_generator(task: NumberTask | LetterTask) -> None:
    batch = task.sample(200, seed=3)
    ends, hops = destinations(batch.tokens, task.vocabulary)
    rows = np.arange(len(batch))
    assert (hops[:, -1] == batch.hops).all()
    assert (batch.tokens[rows, ends[:, -1]] == batch.answers).all()


def test_keys_count_by_how_much_nearer_to_the_answer_they_are() -> None:
    task = NumberTask()
    tokens = task.encode("a b 2 3 2 1")[None]  # the last token goes to position 4, 2 and 0; position 3 to 0 as well
    strongest = np.array([5, 4, 3, 2, 1, 0])[:, None, None, None].repeat(6, 3)  # one layer for each key
    nearer = hops_nearer(strongest, tokens, task.vocabulary)[:, 0, 0, -1]
    np.testing.assert_array_equal(nearer, [0, 1, 2, 2, np.nan, 3])


def test_another_way_to_the_answer_is_equivalent_and_a_jump_is_beyond() -> None:
    task = NumberTask()
    tokens = task.encode("a b 2 3 2 1")[None].astype(np.int32)  # 5 -> 4 -> 2 -> a; position 3 points at a, too
    paths = np.array([[5, 4, 2, 0]], np.int32)
    batch = Batch(tokens, tokens[:, 0], np.array([3], np.int32), paths)
    for key, role in ((4, "index"), (4, "previous"), (2, "beyond"), (3, "beyond"), (0, "beyond"), (1, "elsewhere")):
        strongest = np.full((1, 1, 1, 6), key)
        rows = [row for row in role_shares(strongest, batch, task.vocabulary) if row.queries == "last"]
        assert {row.role for row in rows if row.share.value == 1} >= {role}
    at_four = np.full((1, 1, 1, 6), 3)
    shares = {
        (row.queries, row.distance, row.role): row.share.value for row in role_shares(at_four, batch, task.vocabulary)
    }
    assert shares["path", 2, "equivalent"] == 1
    assert shares["path", 2, "index"] == 0


def test_distances_that_a_layer_serves_are_counted_together_for_that_layer_alone() -> None:
    task = NumberTask()
    batch = task.sample(8, seed=1)  # two inputs of each hop class
    strongest = np.tile(task.vocabulary.goals(batch.tokens)[None, :, None], (2, 1, 1, 1))
    strongest[1, batch.hops == 4] = 0  # layer 1 looks away on inputs of four hops
    rows = role_shares(strongest, batch, task.vocabulary, served={1: (2, 3, 9), 0: (7,)})
    served = {row.role: row for row in rows if row.queries == "served"}
    assert {(row.layer, row.distance) for row in served.values()} == {(1, None)}
    assert sum(row.queries == "served" for row in rows) == len(served) == 6
    # Pointers 2 hops away from the answer: of 2, 3 and 4 hops, two inputs each; 3 hops away: of 3 and 4.
    assert (served["index"].share.value, served["index"].share.n) == (pytest.approx((4 + 2) / (6 + 4)), 10)
    assert not any(row.queries == "served" for row in role_shares(strongest, batch, task.vocabulary))


def test_roles_of_no_input_are_refused() -> None:
    task = NumberTask()
    batch = task.sample(1, seed=0)
    with pytest.raises(WhatwhereError, match="expected at least one input to count roles on"):
        role_shares(np.zeros((1, 0, 1, 17), int), batch[np.zeros(1, bool)], task.vocabulary)
