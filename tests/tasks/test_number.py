from math import comb

import numpy as np

from whatwhere.tasks import NumberTask

TASK = NumberTask()


def test_every_path_of_a_hop_class_is_equally_likely():
    for hop in range(1, 5):
        paths, counts = np.unique(TASK.sample(44_800, hops=hop, seed=hop).paths, axis=0, return_counts=True)
        assert len(paths) == comb(8, hop - 1) * 8  # the 8, 64, 224, 448 of the specification
        expected = 44_800 / len(paths)
        assert abs(counts - expected).max() < 6 * expected**0.5


def test_distractors_stay_in_range_unless_asked_otherwise():
    values = TASK.whole.value(TASK.sample(5000, seed=1).tokens)
    assert (values <= np.arange(17)).all()
    anywhere = NumberTask(distractors="any")
    values = anywhere.whole.value(anywhere.sample(5000, seed=1).tokens)
    assert 0.8 < (values > np.arange(17)).any(1).mean() < 0.95


def test_only_the_first_hop_class_can_be_read_from_the_query():
    batch = TASK.sample(4000, seed=2)
    value = TASK.whole.value(batch.tokens[:, -1])
    assert ((value >= 9) == (batch.hops == 1)).all()


def test_the_answer_formula_of_the_appendix_is_wrong_and_the_corrected_one_right():
    # Erratum E1, in the paper's letters: k counts from 1 in the second window, s from 1 in the first.
    batch = TASK.sample(20_000, seed=3)
    last = np.take_along_axis(batch.paths, batch.hops[:, None] - 1, 1)[:, 0]
    k = last + 1 - 8
    j = TASK.whole.value(np.take_along_axis(batch.tokens, last[:, None], 1)[:, 0])
    rows = np.arange(len(batch))
    assert (batch.tokens[rows, 8 + k - j - 1] == batch.answers).all()
    printed = 9 - j + 1
    right = (printed >= 1) & (printed <= 8)
    right[right] = batch.tokens[rows[right], printed[right] - 1] == batch.answers[right]
    assert right.mean() < 0.3


def test_integers_off_the_path_lead_to_every_earlier_place_equally_often():
    values = TASK.whole.value(TASK.sample(8_000, hops=1, seed=4).tokens)  # of one hop: only the query is on the path
    for place in range(8, 16):
        counts = np.bincount(values[:, place], minlength=17)
        expected = 8_000 / place
        assert abs(counts[1 : place + 1] - expected).max() < 5 * expected**0.5
        assert counts.sum() == counts[1 : place + 1].sum()


def test_the_sequences_of_a_seed_stay_what_they_were(digest):
    """Shipped models and results were made from such data."""
    for task, drawn in (
        (TASK, "f77893ad4ee7"),
        (NumberTask(distractors="any"), "ecd73edeb385"),
        (NumberTask(parts=2, integers=10, target=6, context=5), "1df5c03aa0ed"),
    ):
        batch = task.sample(60, seed=7, extra_target=3)
        assert digest(batch.tokens, batch.answers, batch.hops, batch.paths) == drawn


def test_a_sequence_of_one_pointer_has_no_answer():
    for task in (TASK, NumberTask(parts=2, integers=10)):
        paths, answered = task.follow(task.encode("1")[None])
        assert (paths.shape[0], answered.tolist()) == (1, [False])


def test_the_largest_numbers_that_digits_may_write_are_taken():
    assert NumberTask(parts=2, integers=1024).whole.integers == 2**20 - 1
    assert NumberTask(parts=4, integers=3, context=3).whole.integers == 80
