import numpy as np
import pytest

from whatwhere.tasks import LetterTask
from whatwhere.tasks.generators import GENERATORS
from whatwhere.tasks.generators import SIMPLE as SIMPLE_GENERATOR

PAPER, DECOY, STRICT, SIMPLE = (LetterTask(generator=name) for name in GENERATORS)
PROPER = [
    pytest.param(DECOY, 0, id="decoy"),
    pytest.param(STRICT, 0, id="strict"),
    pytest.param(DECOY, 60, id="decoy, longer"),
    pytest.param(STRICT, 60, id="strict, longer"),
    pytest.param(LetterTask(letters=16, max_hops=8, generator="decoy"), 3, id="eight hops"),
    pytest.param(LetterTask(letters=13, max_hops=9, generator="decoy"), 0, id="no token off the path"),
]


def pointed_at(task: LetterTask, tokens: np.ndarray) -> np.ndarray:
    """[n, query, key]: keys up to the query whose left letter is the query's right letter."""
    left, right = task.whole.left(tokens), task.whole.right(tokens)
    upto = np.tri(tokens.shape[1], dtype=bool)
    return (left[:, None, :] == right[:, :, None]) & upto & task.vocabulary.points(tokens)[:, :, None]


@pytest.mark.parametrize(("task", "extra"), [*PROPER, pytest.param(SIMPLE, 9, id="simple")])
def test_every_sequence_is_proper(task, extra):
    tokens = task.sample(2000, seed=1, extra_target=extra).tokens
    match = pointed_at(task, tokens)
    points = task.vocabulary.points(tokens)
    assert (match.any(2) | ~points).all()
    kinds = [np.unique(tokens[r][match[r, q]]) for r, q in np.argwhere(points[:200])]
    assert all(len(kind) == 1 for kind in kinds)


@pytest.mark.parametrize(
    ("task", "extra"), [*PROPER, *((task, extra) for task in (PAPER, SIMPLE) for extra in (0, 60))]
)
def test_tokens_of_the_path_occur_once_so_that_its_positions_are_unique(task, extra):
    batch = task.sample(2000, seed=2, extra_target=extra)
    left = task.whole.left(batch.tokens)
    for step in range(1, task.max_hops + 1):
        rows = np.flatnonzero(batch.hops >= step)
        position = batch.paths[rows, step]
        assert ((left[rows] == left[rows, position][:, None]).sum(1) == 1).all()


@pytest.mark.parametrize("extra", [0, 20])
@pytest.mark.parametrize("task", [PAPER, DECOY, STRICT, SIMPLE], ids=lambda task: task.generator)
def test_every_integer_is_equally_likely_in_the_target_window(task, extra):
    tokens = task.sample(4000, seed=5, extra_target=extra).tokens[:, : 8 + extra]
    counts = np.bincount(task.whole.right(tokens).ravel(), minlength=16)
    assert not counts[:8].any()
    assert counts[8:] / counts.sum() == pytest.approx(1 / 8, abs=0.008)


@pytest.mark.parametrize("extra", [0, 60])
def test_strict_sequences_have_one_token_for_each_left_letter(extra):
    tokens = STRICT.sample(2000, seed=3, extra_target=extra).tokens
    left = STRICT.whole.left(tokens)
    same_left = left[:, :, None] == left[:, None, :]
    assert (tokens[:, :, None] == tokens[:, None, :])[same_left].all()


@pytest.mark.parametrize("task", [PAPER, DECOY, STRICT, SIMPLE], ids=lambda task: task.generator)
def test_no_query_refers_to_itself(task):
    query = task.sample(5000, seed=4).tokens[:, -1]
    assert (task.whole.left(query) != task.whole.right(query)).all()


@pytest.mark.parametrize("extra", [0, 40])
def test_in_the_authors_data_no_token_off_the_path_has_or_points_at_a_letter_of_the_path(extra):
    batch = PAPER.sample(4000, seed=8, extra_target=extra)
    left, right = PAPER.whole.left(batch.tokens), PAPER.whole.right(batch.tokens)
    on_path = np.zeros(batch.tokens.shape, bool)
    np.put_along_axis(on_path, np.where(batch.paths < 0, batch.paths[:, :1], batch.paths), True, 1)
    of_path = np.zeros((len(batch), 16), bool)
    rows, positions = np.nonzero(on_path[:, :-1])
    of_path[rows, left[rows, positions]] = True
    assert (of_path.sum(1) == batch.hops).all()
    assert not np.take_along_axis(of_path, left, 1)[~on_path].any()
    assert not np.take_along_axis(of_path, right, 1)[~on_path].any()


def test_letters_off_the_path_of_the_authors_data_are_drawn_with_replacement():
    """So pointers off the path may point at nothing, or at different tokens: the data are not proper."""
    batch = PAPER.sample(20_000, hops=4, seed=9)
    left = PAPER.whole.left(batch.tokens)
    neither_answers = 6 / 8
    assert (left[:, 0] == left[:, 1]).mean() == pytest.approx(neither_answers / 4, abs=0.02)
    place = np.arange(8, 16)
    first, other = (found[:, 8:-1] for found in PAPER.whole.matches(batch.tokens))
    assert 0.03 < (first >= place).mean() < 0.08
    assert 0.35 < (other < place).mean() < 0.5


def test_decoys_of_the_simple_generator_look_like_the_answer():
    """They are alone with their left letter, as the answer is, and every other target token is not pointed at."""
    batch = PAPER.chains(200, 5, seed=0)
    left, right = PAPER.whole.left(batch.tokens), PAPER.whole.right(batch.tokens[:, 8:])
    alone = (left[:, :8, None] == left[:, None]).sum(2) == 1
    pointed = (left[:, :8, None] == right[:, None]).any(2)
    assert (alone.sum(1) == 3).all()
    assert not (pointed & ~alone).any()
    first_alone = batch.tokens[np.arange(200), alone.argmax(1)]
    assert 0.2 < (first_alone == batch.answers).mean() < 0.47  # a third, so that place tells nothing


def test_extra_tokens_of_the_decoy_generator_use_letters_at_which_nobody_points():
    tokens = DECOY.sample(2000, seed=5, extra_target=40).tokens
    assert not pointed_at(DECOY, tokens)[:, :, :40].any()


def test_all_hop_classes_have_the_same_target_letters_and_links():
    batch = DECOY.sample(8000, seed=6)
    left, right = DECOY.whole.left(batch.tokens), DECOY.whole.right(batch.tokens)
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


def test_some_free_pointers_of_the_decoy_generator_point_at_links():
    """About a third of all pointers of the context; only the path and the decoys' chains would give a fifth."""
    batch = DECOY.sample(8000, seed=6)
    left, right = DECOY.whole.left(batch.tokens), DECOY.whole.right(batch.tokens)
    links = [set(row[8:16]) - set(row[:8]) for row in left]
    share = np.mean([[letter in known for letter in row] for row, known in zip(right[:, 8:16], links, strict=True)])
    assert 0.29 < share < 0.35


@pytest.mark.parametrize(
    ("task", "drawn"),
    [
        (PAPER, "57808f0712f3"),
        (DECOY, "88429f051c43"),
        (STRICT, "65b76833e18a"),
        (SIMPLE, "432826c1b995"),
        (LetterTask(parts=4, generator="decoy"), "5215d804e395"),
        (LetterTask(letters=16, max_hops=8, generator="decoy", context=9), "7a31d6fbb978"),
        (LetterTask(letters=13, max_hops=9, generator="decoy"), "a848c43c3dee"),
    ],
    ids=lambda one: one if isinstance(one, str) else f"{one.generator} {one.letters} {one.parts}",
)
def test_the_sequences_of_a_seed_stay_what_they_were(task, drawn, digest):
    """Shipped models and results were made from such data."""
    batch = task.sample(60, seed=7, extra_target=3)
    assert digest(batch.tokens, batch.answers, batch.hops, batch.paths) == drawn


@pytest.mark.parametrize(("generator", "target"), [("paper", 1), ("simple", 1), ("strict", 2), ("decoy", 3)])
def test_the_smallest_target_window_of_each_generator_is_taken(generator, target):
    task = LetterTask(generator=generator, target=target)
    batch = task.sample(40, extra_target=2)
    assert (task.solve(batch.tokens) == batch.answers).all()


@pytest.mark.parametrize(("generator", "letters"), [("paper", 5), ("simple", 5), ("strict", 7), ("decoy", 8)])
def test_the_smallest_alphabet_of_each_generator_is_taken(generator, letters):
    task = LetterTask(generator=generator, letters=letters)
    batch = task.sample(40)
    assert (task.solve(batch.tokens) == batch.answers).all()


def test_simple_sequences_have_two_decoys_or_what_letters_and_places_allow():
    for letters, hops, target, decoys in ((8, 4, 8, 2), (8, 6, 8, 1), (8, 7, 8, 0), (20, 4, 2, 1), (20, 4, 1, 0)):
        task = LetterTask(generator="simple", letters=letters, max_hops=hops, target=target)
        assert SIMPLE_GENERATOR.decoys(task) == decoys
        left = task.whole.left(task.sample(60, hops=hops).tokens[:, :target])
        assert max(len(set(row)) for row in left.tolist()) <= 1 + decoys + (letters - decoys - hops)
