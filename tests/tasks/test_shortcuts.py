import math

import numpy as np
import pytest

from whatwhere.store import storage
from whatwhere.tasks import LetterTask, NumberTask
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.shortcuts import Shortcut, View, shortcuts, write_shortcuts

LETTER = LetterTask()


def report(task, batch) -> dict[str, tuple[float, ...]]:
    return {each.rule: each.accuracy for each in shortcuts(task, batch)}


@pytest.mark.parametrize("task", [NumberTask(), LETTER, LetterTask(letters=26, integers=20)])
def test_no_rule_without_hops_beats_one_half_in_any_hop_class(task):
    found = shortcuts(task, task.sample(20_000, seed=1))
    plain = [each for each in found if not each.hopping]
    assert len(plain) >= 9
    assert max(accuracy for each in plain for accuracy in each.accuracy) < 0.5


def test_the_rules_find_the_leak_of_a_strict_generator():
    task = LetterTask(generator="strict")
    found = report(task, task.sample(4000, seed=1))
    assert min(found["one alone with its left letter and pointed at"]) > 0.9


def test_chance_is_one_in_eight_and_place_tells_nothing():
    found = report(LETTER, LETTER.sample(20_480, seed=2))
    assert found["any target token"] == pytest.approx([0.125] * 4)
    assert found["the one nearest to the query"] == pytest.approx([0.125] * 4, abs=1e-3)


def test_one_hop_from_the_query_is_right_for_one_hop_and_chance_otherwise():
    assert report(LETTER, LETTER.sample(4000, seed=3))["one hop from the query"] == pytest.approx([1, *[0.125] * 3])


def fitted_table(batch: Batch) -> np.ndarray:
    """Accuracy of the best table from what can be counted to the probability of being the answer.

    It is fitted on one half and used on the other. A target token is described by how many pre-target tokens point at
    it, from where first and last, and how many share its left letter: any rule on these features is such a table.
    """
    see = View(LETTER, batch.tokens)
    features = [see.pointers(), see.earliest(), see.latest(), see.companions()]
    key = np.ravel_multi_index([feature[:, :8] for feature in features], (10, 10, 10, 10))
    right = batch.tokens[:, :8] == batch.answers[:, None]
    half = len(batch) // 2
    hits = np.bincount(key[:half].ravel(), right[:half].ravel(), minlength=10_000)
    seen = np.bincount(key[:half].ravel(), minlength=10_000)
    score = ((hits + 0.1) / (seen + 1))[key[half:]]
    best = score == score.max(1, keepdims=True)
    return (best & right[half:]).sum(1) / best.sum(1)


@pytest.mark.parametrize("hop", [1, 2, 3, 4])
def test_even_the_best_table_fitted_to_pointers_and_letters_does_little_better_than_one_in_three(hop):
    assert 0.3 < fitted_table(LETTER.sample(60_000, hops=hop, seed=4)).mean() < 0.42


def test_the_view_counts_pointers_as_one_would_by_hand():
    task = LetterTask(target=3, context=3, max_hops=2)
    tokens = task.encode("a1 b2 c3 da eb fa gd")[None]
    see = View(task, tokens)
    assert see.goals[0].tolist() == [-1, -1, -1, 0, 1, 0, 3]
    assert see.pointers()[0].tolist() == [2, 1, 0, 0, 0, 0, 0]
    assert see.pointers(with_query=True)[0].tolist() == [2, 1, 0, 1, 0, 0, 0]
    assert see.earliest()[0].tolist() == [3, 2, 0, 0, 0, 0, 0]
    assert see.latest()[0].tolist() == [3, 2, 0, 0, 0, 0, 0]
    assert see.reached([1])[0].tolist() == [2, 1, 0, 0, 0, 0, 0]
    assert see.alone()[0, :3].all()
    chain = View(task, task.encode("a1 b2 b3 da ed fe gf")[None])
    assert chain.reached([2])[0].tolist() == [1, 0, 0, 1, 0, 0, 0]
    assert chain.reached([2, 3])[0].tolist() == [2, 0, 0, 1, 0, 0, 0]
    assert chain.companions()[0, :3].tolist() == [1, 2, 2]


def test_a_class_without_sequences_is_undefined_and_an_empty_cell_on_disk(tmp_path):
    found = shortcuts(LETTER, LETTER.sample(10, hops=2, seed=0))
    assert all(math.isnan(each.accuracy[0]) and not math.isnan(each.accuracy[1]) for each in found)
    write_shortcuts(tmp_path / "shortcuts.csv", [Shortcut("guess", False, (math.nan, 0.25))])
    rows = storage.read_csv(tmp_path / "shortcuts.csv", "the report", ["rule", "hopping", "hops", "accuracy"])
    assert [row["accuracy"] for row in rows] == ["", "0.25"]


@pytest.mark.parametrize("max_hops", [1, 2])
def test_tasks_of_few_hops_are_reported_too(max_hops):
    task = LetterTask(max_hops=max_hops)
    assert all(len(each.accuracy) == max_hops for each in shortcuts(task, task.sample(50)))
