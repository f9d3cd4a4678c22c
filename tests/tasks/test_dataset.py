import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whatwhere.errors import WhatwhereError
from whatwhere.store.documents import write_json
from whatwhere.store.tensors import load_tensors, save_tensors
from whatwhere.tasks import LetterTask, NumberTask
from whatwhere.tasks.batch import ARRAYS, Batch
from whatwhere.tasks.dataset import SPLITS, Dataset, hop_counts, load_dataset

PAPER = [NumberTask(), LetterTask()]


def whole(dataset: Dataset) -> Batch:
    parts = dataset.splits().values()
    return replace(dataset.train, **{name: np.concatenate([getattr(part, name) for part in parts]) for name in ARRAYS})


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
def test_the_paper_s_splits_are_exact_by_hop_and_hold_right_answers(paper):
    sizes = {"train": 108_000, "validation": 600, "test": 11_400}
    for name, split in paper.splits().items():
        assert np.bincount(split.hops).tolist() == [0, *[sizes[name]] * 4]
        assert (paper.task.solve(split.tokens) == split.answers).all()


@pytest.mark.slow
def test_the_paper_s_splits_share_no_sequence_and_repeat_none(paper):
    assert paper.shared() == 0
    assert len({row.tobytes() for row in whole(paper).tokens}) == 480_000


@pytest.mark.slow
def test_each_split_of_the_paper_is_balanced_as_far_as_arithmetic_allows(paper):
    """Cells of the training set: 108,000 / 960 = 112.5 for numbers, 108,000 / 512 = 210.9 for letters."""
    for hop in range(1, 5):
        table = cells(paper.task, paper.train[paper.train.hops == hop])
        assert set(np.unique(table)) == ({112, 113} if paper.task.name == "number" else {210, 211})
        assert (table.sum(0) == 13_500).all()


@settings(max_examples=15)
@given(task=st.sampled_from(PAPER), size=st.integers(800, 6000), seed=st.integers(0, 2**20))
def test_splits_of_any_size_are_as_balanced_as_arithmetic_allows(task, size, seed):
    dataset = task.dataset(size, seed)
    assert len(whole(dataset)) == size
    assert len(dataset.train) == round(0.9 * size)
    for split in dataset.splits().values():
        assert np.ptp(np.bincount(split.hops, minlength=5)[1:]) <= 1
        for hop in range(1, 5):
            table = cells(task, split[split.hops == hop])
            assert max(np.ptp(table), np.ptp(table.sum(0)), np.ptp(table.sum(1))) <= 1


@pytest.mark.parametrize("task", PAPER, ids=lambda task: task.name)
def test_a_split_is_the_same_alone_and_in_its_data_set(task):
    dataset = task.dataset(900, seed=1)
    for name, split in dataset.splits().items():
        alone = task.split(name, size=900, seed=1)
        assert all((array == split.arrays()[key]).all() for key, array in alone.arrays().items())


@pytest.mark.parametrize("task", PAPER, ids=lambda task: task.name)
def test_data_depend_on_the_seed_alone_and_not_on_what_sample_draws(task):
    first, again, other = (task.dataset(900, seed) for seed in (1, 1, 2))
    assert first.manifest() == again.manifest()
    assert first.manifest()["sha256"] != other.manifest()["sha256"]
    assert (whole(first).tokens != task.sample(900, seed=1).tokens).any(1).all()


def test_sequences_that_splits_share_are_counted():
    task = NumberTask(symbols=1, target=1, context=1, max_hops=1, integers=2)  # two different sequences
    assert task.dataset(800).shared() == 76
    assert NumberTask().dataset(800).shared() == 0


def test_the_manifest_counts_the_sequences_of_each_split_and_hop_class():
    manifest = NumberTask().dataset(802).manifest()
    assert manifest["sequences"] == {"train": 722, "validation": 4, "test": 76}
    assert manifest["hops"] == {
        "train": {"1": 181, "2": 181, "3": 180, "4": 180},
        "validation": {"1": 1, "2": 1, "3": 1, "4": 1},
        "test": {"1": 19, "2": 19, "3": 19, "4": 19},
    }


def test_too_few_for_the_splits_is_refused():
    with pytest.raises(WhatwhereError, match=r"4 hop classes needs 800 sequences or more.*got 799"):
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
    arrays, _ = load_tensors(path, "the split")
    save_tensors(path, {**arrays, **{name: change(arrays[name]) for name, change in changes.items()}})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokens": lambda x: x[:, 1:]}, "should hold tokens as int32"),
        ({"answers": lambda x: x.astype(np.int64)}, "should hold answers as int32"),
        ({"answers": lambda x: x[::-1]}, "holds answers that the letter task does not give"),
        ({"tokens": lambda x: np.full_like(x, 128)}, "expected token ids from 0 to 127, got 128"),
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
    write_json(directory / "manifest.json", manifest)
    with pytest.raises(WhatwhereError, match=r"manifest of the data set in .* lacks seed"):
        load_dataset(directory)


def test_a_directory_without_a_manifest_is_refused(tmp_path):
    with pytest.raises(WhatwhereError, match="the manifest of the data set"):
        load_dataset(tmp_path)


def test_hop_classes_without_a_sequence_count_none():
    task = NumberTask()
    assert hop_counts(task, task.sample(5, hops=1, seed=0)) == {"1": 5, "2": 0, "3": 0, "4": 0}


@pytest.mark.parametrize(
    ("task", "drawn"),
    [
        (NumberTask(), ("c141109296c3", "06ce6e3cc48b", "fb05186780c1")),
        (LetterTask(), ("fe7e2485647e", "e35ef6ab378f", "0f5183fd87ff")),
    ],
    ids=["number", "letter"],
)
def test_the_splits_of_a_seed_stay_what_they_were(task, drawn, digest):
    """Shipped models and results were made from such data."""
    splits = task.dataset(800, seed=3).splits().values()
    assert tuple(digest(split.tokens, split.answers, split.hops, split.paths) for split in splits) == drawn


def test_data_sets_are_told_apart_by_what_they_are():
    dataset = NumberTask().dataset(800)
    assert dataset != replace(dataset)


def test_data_that_do_not_fit_are_refused_before_they_are_drawn(monkeypatch):
    monkeypatch.setattr("whatwhere.machine.memory.free_bytes", lambda: 1)
    with pytest.raises(WhatwhereError, match="720 sequences of 17 tokens would take about"):
        NumberTask().split("train", 800)


@pytest.mark.parametrize(("key", "wrong"), [("task", "number"), ("seed", "3"), ("sha256", [])])
def test_a_manifest_whose_parts_are_of_another_kind_is_refused(saved, key, wrong):
    _, directory = saved
    manifest = json.loads((directory / "manifest.json").read_text())
    write_json(directory / "manifest.json", {**manifest, key: wrong})
    with pytest.raises(WhatwhereError, match=f"lacks {key}; make the data again"):
        load_dataset(directory)


def test_a_split_without_an_array_is_refused(saved):
    _, directory = saved
    path = directory / "test.safetensors"
    arrays, _ = load_tensors(path, "the split")
    for name in ARRAYS:
        save_tensors(path, {key: array for key, array in arrays.items() if key != name})
        with pytest.raises(WhatwhereError, match=r"should hold .* as int32"):
            load_dataset(directory)


def test_paths_that_end_elsewhere_are_refused(saved):
    _, directory = saved
    rewrite(directory, paths=lambda x: np.where(x < 0, x, np.maximum(x - 1, 0)))
    with pytest.raises(WhatwhereError, match="holds hops or paths that do not lead to its answers"):
        load_dataset(directory)
