import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whatwhere.errors import WhatwhereError
from whatwhere.store import storage
from whatwhere.tasks import LetterTask, NumberTask
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.dataset import SPLITS, Dataset, load_dataset

PAPER = [NumberTask(), LetterTask()]


def whole(dataset: Dataset) -> Batch:
    parts = dataset.splits().values()
    names = ("tokens", "answers", "hops", "paths")
    return Batch(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def cells(task, batch: Batch) -> np.ndarray:
    """[value, place]: how many sequences have each solution at each place of the target window."""
    place = np.take_along_axis(batch.paths, batch.hops[:, None], 1)[:, 0]
    table = np.zeros((len(task.answer_ids), task.target), int)
    np.add.at(table, (np.searchsorted(task.answer_ids, batch.answers), place), 1)
    return table


@pytest.fixture(scope="module", params=PAPER, ids=lambda task: task.name)
def paper(request) -> Dataset:
    return request.param.dataset()


@pytest.mark.slow
def test_the_paper_s_data_are_balanced_exactly_as_far_as_the_arithmetic_allows(paper):
    batch = whole(paper)
    for hop in range(1, 5):
        table = cells(paper.task, batch[batch.hops == hop])
        assert (table.sum(0) == 15_000).all()
        if paper.task.name == "number":
            assert (table == 125).all()
        else:
            assert set(np.unique(table)) == {234, 235}
            assert (table.sum(1) == 1875).all()
            assert ((table == 235).sum(1) == 3).all()
            assert ((table == 235).sum(0) == 24).all()


@pytest.mark.slow
def test_the_paper_s_splits_are_exact_by_hop_share_no_sequence_and_hold_right_answers(paper):
    sizes = {"train": 108_000, "validation": 600, "test": 11_400}
    for name, split in paper.splits().items():
        assert np.bincount(split.hops).tolist() == [0, *[sizes[name]] * 4]
    batch = whole(paper)
    assert len({row.tobytes() for row in batch.tokens}) == 480_000
    assert (paper.task.solve(batch.tokens) == batch.answers).all()


@pytest.mark.slow
def test_solutions_are_spread_over_the_splits_by_chance_alone(paper):
    table = cells(paper.task, paper.train).sum(0)
    assert abs(table - 54_000).max() < 6 * (54_000 * 0.1) ** 0.5


@settings(max_examples=15)
@given(task=st.sampled_from(PAPER), size=st.integers(800, 6000), seed=st.integers(0, 2**20))
def test_any_size_is_as_balanced_as_arithmetic_allows(task, size, seed):
    dataset = task.dataset(size, seed)
    batch = whole(dataset)
    assert len(batch) == size
    assert len(dataset.train) == round(0.9 * size)
    for split in dataset.splits().values():
        assert np.ptp(np.bincount(split.hops, minlength=5)[1:]) <= 1
    for hop in range(1, 5):
        table = cells(task, batch[batch.hops == hop])
        assert max(np.ptp(table), np.ptp(table.sum(0)), np.ptp(table.sum(1))) <= 1


@pytest.mark.parametrize("task", PAPER, ids=lambda task: task.name)
def test_data_depend_on_the_seed_alone_and_not_on_what_sample_draws(task):
    first, again, other = (task.dataset(900, seed) for seed in (1, 1, 2))
    assert first.manifest() == again.manifest()
    assert first.manifest()["sha256"] != other.manifest()["sha256"]
    assert (whole(first).tokens != task.sample(900, seed=1).tokens).any(1).all()


def test_repeated_sequences_are_drawn_again():
    # With so few different sequences a first draw surely repeats some; the dataset does not.
    task = NumberTask(symbols=4, target=3, context=3, max_hops=1, integers=6)
    tokens = task.sample(2000, seed=0).tokens
    assert len(np.unique(tokens, axis=0)) < 2000
    batch = whole(task.dataset(2000, seed=0))
    assert len(np.unique(batch.tokens, axis=0)) == 2000
    assert (task.solve(batch.tokens) == batch.answers).all()
    assert np.ptp(cells(task, batch)) <= 1


def test_more_sequences_than_there_are_is_refused():
    task = NumberTask(symbols=1, target=1, context=1, max_hops=1, integers=2)
    with pytest.raises(WhatwhereError, match=r"800 different sequences were asked for.*too few.*still repeat"):
        task.dataset(800)


def test_too_few_for_the_splits_is_refused():
    with pytest.raises(WhatwhereError, match=r"4 hop classes needs 800 sequences or more.*799 were asked for"):
        NumberTask().dataset(799)


@pytest.fixture
def saved(tmp_path):
    dataset = LetterTask().dataset(800, seed=3)
    dataset.save(tmp_path)
    return dataset, tmp_path


def test_what_is_saved_is_loaded(saved):
    dataset, directory = saved
    loaded = load_dataset(directory)
    assert loaded.task == dataset.task
    assert loaded.manifest() == dataset.manifest()
    assert (whole(loaded).paths == whole(dataset).paths).all()
    assert sorted(path.name for path in directory.iterdir()) == sorted(
        ["manifest.json", *(f"{name}.safetensors" for name in SPLITS)]
    )


def rewrite(directory, **changes):
    path = directory / "test.safetensors"
    arrays, _ = storage.load_tensors(path, "the split")
    storage.save_tensors(path, {**arrays, **{name: change(arrays[name]) for name, change in changes.items()}})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokens": lambda x: x[:, 1:]}, "should hold tokens as int32"),
        ({"answers": lambda x: x.astype(np.int64)}, "should hold answers as int32"),
        ({"answers": lambda x: x[::-1]}, "holds answers that the letter task does not give"),
        ({"tokens": lambda x: np.full_like(x, 128)}, "ids from 0 to 127 were expected, and 128 arrived"),
        ({"hops": lambda x: x + 1}, "holds hops or paths that do not lead to its answers"),
        ({"paths": lambda x: np.full_like(x, -1)}, "holds hops or paths that do not lead to its answers"),
        ({"tokens": lambda x: x[1:], "answers": lambda x: x[1:], "hops": lambda x: x[1:], "paths": lambda x: x[1:]},
         "is not the one that its manifest describes"),
    ],
)  # fmt: skip
def test_a_split_that_was_tampered_with_is_refused(saved, changes, message):
    _, directory = saved
    rewrite(directory, **changes)
    with pytest.raises(WhatwhereError, match=message):
        load_dataset(directory)


def test_a_manifest_without_its_parts_is_refused(saved):
    _, directory = saved
    manifest = json.loads((directory / "manifest.json").read_text())
    del manifest["seed"]
    storage.write_json(directory / "manifest.json", manifest)
    with pytest.raises(WhatwhereError, match=r"manifest in .* lacks seed"):
        load_dataset(directory)


def test_a_directory_without_a_manifest_is_refused(tmp_path):
    with pytest.raises(WhatwhereError, match="the dataset's manifest was expected at"):
        load_dataset(tmp_path)
