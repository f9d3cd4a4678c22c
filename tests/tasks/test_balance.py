import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from whatwhere.tasks.balance import balanced_cells, below, random_orders, random_subset, running_count


def spread(counts: np.ndarray) -> int:
    return int(counts.max() - counts.min())


@given(count=st.integers(0, 700), values=st.integers(1, 30), places=st.integers(1, 12), seed=st.integers(0, 99))
def test_cells_and_both_margins_differ_by_one_at_most_at_any_size(count, values, places, seed):
    value, place = balanced_cells(np.random.default_rng(seed), count, values, places)
    table = np.zeros((values, places), int)
    np.add.at(table, (value, place), 1)
    assert table.sum() == count
    assert spread(table) <= 1
    assert spread(table.sum(0)) <= 1
    assert spread(table.sum(1)) <= 1


def test_the_order_of_cells_is_random():
    first, second = (balanced_cells(np.random.default_rng(seed), 960, 120, 8)[0] for seed in (0, 1))
    assert (first != second).mean() > 0.9


def test_every_subset_of_the_allowed_places_is_equally_likely():
    n = 60_000
    allowed = np.repeat(np.array([True, True, False, True, True])[:, None], n, axis=1)
    chosen = random_subset(np.random.default_rng(0), allowed, np.full(n, 2))
    assert (chosen.sum(0) == 2).all()
    assert not chosen[2].any()
    kinds, counts = np.unique(chosen, axis=1, return_counts=True)
    assert kinds.shape[1] == 6
    assert abs(counts - n / 6).max() < 5 * (n / 6) ** 0.5


def test_sizes_of_subsets_may_differ_from_sequence_to_sequence():
    size = np.arange(6)
    assert (random_subset(np.random.default_rng(0), np.ones((5, 6), bool), size).sum(0) == size).all()


def test_numbers_below_a_bound_are_uniform():
    counts = np.bincount(below(np.random.default_rng(0), 7, 70_000), minlength=8)
    assert counts[7] == 0
    assert abs(counts[:7] - 10_000).max() < 500


def test_orders_are_permutations_with_the_prescribed_item_first_and_uniform_after_it():
    n = 48_000
    first = np.arange(n) % 4
    order = random_orders(np.random.default_rng(0), first, 4)
    assert (np.sort(order, 0) == np.arange(4)[:, None]).all()
    assert (order[0] == first).all()
    _, counts = np.unique(order, axis=1, return_counts=True)
    assert len(counts) == 24
    assert abs(counts - n / 24).max() < 5 * (n / 24) ** 0.5


def test_places_that_are_marked_are_counted_up_to_each():
    marks = np.random.default_rng(0).random((9, 40)) < 0.4
    assert (running_count(marks) == marks.cumsum(0)).all()


def test_what_is_drawn_from_a_seed_stays_what_it_was(digest):
    def rng():
        return np.random.default_rng(5)

    assert digest(*balanced_cells(rng(), 50, 6, 4)) == "a19c2cc0848f"
    subsets = random_subset(rng(), np.ones((3, 4), bool), np.array([0, 1, 2, 3]))
    assert subsets.sum(0).tolist() == [0, 1, 2, 3]
    assert random_orders(rng(), np.array([2, 0, 1]), 4).T.tolist() == [[2, 3, 1, 0], [0, 3, 2, 1], [1, 0, 3, 2]]
    assert below(rng(), np.array([1, 5, 9]), 3).tolist() == [0, 4, 0]
