import numpy as np
import pytest

from whatwhere.tasks import LetterTask

DECOY, STRICT = LetterTask(), LetterTask(generator="strict")
CASES = [
    pytest.param(DECOY, 0, id="decoy"),
    pytest.param(STRICT, 0, id="strict"),
    pytest.param(DECOY, 60, id="decoy, longer"),
    pytest.param(STRICT, 60, id="strict, longer"),
    pytest.param(LetterTask(letters=16, max_hops=8), 3, id="eight hops"),
    pytest.param(LetterTask(letters=13, max_hops=9), 0, id="no token off the path"),
]


def pointed_at(task: LetterTask, tokens: np.ndarray) -> np.ndarray:
    """[n, query, key]: keys up to the query whose left letter is the query's right letter."""
    left, right = task.vocabulary.left(tokens), task.vocabulary.right(tokens)
    upto = np.tri(tokens.shape[1], dtype=bool)
    return (left[:, None, :] == right[:, :, None]) & upto & task.vocabulary.points(tokens)[:, :, None]


@pytest.mark.parametrize(("task", "extra"), CASES)
def test_every_sequence_is_proper(task, extra):
    tokens = task.sample(2000, seed=1, extra_target=extra).tokens
    match = pointed_at(task, tokens)
    points = task.vocabulary.points(tokens)
    assert (match.any(2) | ~points).all()
    kinds = [np.unique(tokens[r][match[r, q]]) for r, q in np.argwhere(points[:200])]
    assert all(len(kind) == 1 for kind in kinds)


@pytest.mark.parametrize(("task", "extra"), CASES)
def test_tokens_of_the_path_occur_once_so_that_its_positions_are_unique(task, extra):
    batch = task.sample(2000, seed=2, extra_target=extra)
    left = task.vocabulary.left(batch.tokens)
    for step in range(1, task.max_hops + 1):
        rows = np.flatnonzero(batch.hops >= step)
        position = batch.paths[rows, step]
        assert ((left[rows] == left[rows, position][:, None]).sum(1) == 1).all()


@pytest.mark.parametrize("extra", [0, 60])
def test_strict_sequences_have_one_token_for_each_left_letter(extra):
    tokens = STRICT.sample(2000, seed=3, extra_target=extra).tokens
    left = STRICT.vocabulary.left(tokens)
    same_left = left[:, :, None] == left[:, None, :]
    assert (tokens[:, :, None] == tokens[:, None, :])[same_left].all()


def test_no_query_refers_to_itself():
    query = DECOY.sample(5000, seed=4).tokens[:, -1]
    assert (DECOY.vocabulary.left(query) != DECOY.vocabulary.right(query)).all()


def test_extra_tokens_of_the_decoy_generator_use_letters_at_which_nobody_points():
    tokens = DECOY.sample(2000, seed=5, extra_target=40).tokens
    assert not pointed_at(DECOY, tokens)[:, :, :40].any()


def test_all_hop_classes_have_the_same_target_letters_and_links():
    batch = DECOY.sample(8000, seed=6)
    left, right = DECOY.vocabulary.left(batch.tokens), DECOY.vocabulary.right(batch.tokens)
    target = np.array([len(set(row)) for row in left[:, :8]])
    assert (target == 4).all()  # answer, two decoys, and the letter that nobody points at
    links = np.array([len(set(row[8:16]) - set(row[:8])) for row in left])
    assert (links == 4).all()
    assert (right[:, -1] < 8).all()


def test_each_decoy_and_the_answer_are_pointed_at_once_two_hops_are_needed():
    batch = DECOY.sample(6000, hops=[2, 3, 4] * 2000, seed=7)
    pointed = pointed_at(DECOY, batch.tokens)[:, :, :8].any(1)
    assert (pointed.sum(1) == 3).all()


def test_the_last_hop_starts_anywhere_that_leaves_room_for_the_others():
    for hop in (2, 3, 4):
        batch = DECOY.sample(20_000, hops=hop, seed=hop)
        counts = np.bincount(batch.paths[:, hop - 1] - 8, minlength=8)
        room = 8 - (hop - 2)
        assert abs(counts[:room] - 20_000 / room).max() < 300
        assert (counts[room:] == 0).all()
