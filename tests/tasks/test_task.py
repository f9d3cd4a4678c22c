import numpy as np
import pytest
from checked_types import unchecked
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import whatwhere
from whatwhere.errors import WhatwhereError
from whatwhere.machine.limits import LARGEST_SEED
from whatwhere.tasks import LetterTask, NumberTask, make_task, task_from_dict
from whatwhere.tasks.generators import GENERATORS

TASKS = [
    NumberTask(),
    NumberTask(distractors="any"),
    *(LetterTask(generator=generator) for generator in GENERATORS),
    LetterTask(letters=16, max_hops=8, generator="decoy"),
    LetterTask(letters=52, integers=3, target=20, context=30, max_hops=12),
    NumberTask(symbols=1000, integers=64, target=24, context=40, max_hops=20),
]
PAPER = [NumberTask(), LetterTask()]


def by_name(task):
    return "-".join(f"{value}" for value in task.to_dict().values())


@pytest.mark.parametrize("extra", [0, 5, 100])
@pytest.mark.parametrize("task", TASKS, ids=by_name)
def test_answers_hops_and_paths_are_those_read_off_the_text_by_hand(task, extra, by_hand):
    batch = task.sample(60, seed=3, extra_target=extra)
    for row in range(len(batch)):
        words = task.decode(batch.tokens[row]).split()
        path = by_hand(words, task.name == "number")
        assert [p for p in batch.paths[row] if p >= 0] == path
        assert batch.hops[row] == len(path) - 1
        assert task.decode(batch.answers[row : row + 1]) == words[path[-1]]
        assert extra <= path[-1] < extra + task.target
        assert (batch.paths[row, len(path) :] == -1).all()


@pytest.mark.slow
@pytest.mark.parametrize(("length", "n"), [(17, 100_000), (64, 50_000), (300, 20_000), (1000, 10_000)])
@pytest.mark.parametrize("task", PAPER, ids=by_name)
def test_the_oracle_equals_the_construction_on_many_sequences(task, length, n):
    batch = task.sample(n, seed=length, extra_target=length - 17)
    assert batch.tokens.shape == (n, length)
    assert (task.solve(batch.tokens) == batch.answers).all()


@settings(max_examples=60)
@given(
    name=st.sampled_from(["number", *GENERATORS]),
    target=st.integers(1, 12),
    context=st.integers(1, 12),
    max_hops=st.integers(1, 8),
    alphabet=st.integers(1, 52),
    integers=st.integers(1, 30),
    n=st.integers(1, 60),
    extra=st.integers(0, 9),
    seed=st.integers(0, 2**32),
)
def test_every_possible_size_gives_valid_sequences(name, target, context, max_hops, alphabet, integers, n, extra, seed):
    sizes = {"target": target, "context": context, "max_hops": max_hops, "integers": integers}
    try:
        if name == "number":
            task = NumberTask(symbols=alphabet, **sizes)
        else:
            task = LetterTask(letters=alphabet, generator=name, **sizes)
    except WhatwhereError:
        assume(False)
        raise
    batch = task.sample(n, seed=seed, extra_target=extra)
    assert batch.tokens.shape == (n, target + context + 1 + extra)
    assert batch.tokens.dtype == batch.answers.dtype == batch.hops.dtype == batch.paths.dtype == np.int32
    assert (task.solve(batch.tokens) == batch.answers).all()
    assert (np.bincount(batch.hops, minlength=max_hops + 1)[1:] <= -(-n // max_hops)).all()
    points = task.vocabulary.points(batch.tokens)
    assert not points[:, : target + extra].any()
    assert points[:, target + extra :].all()


@pytest.mark.parametrize("task", PAPER, ids=by_name)
def test_longer_inputs_of_a_seed_end_in_the_same_tokens(task):
    short, long = (task.sample(50, seed=7, extra_target=extra) for extra in (0, 200))
    assert (long.tokens[:, 200:] == short.tokens).all()
    assert (long.answers == short.answers).all()


@pytest.mark.parametrize("task", PAPER, ids=by_name)
def test_a_seed_gives_the_same_sequences_and_another_seed_others(task):
    first, again, other = (task.sample(200, seed=seed) for seed in (4, 4, 5))
    assert (first.tokens == again.tokens).all()
    assert not (first.tokens == other.tokens).all(1).any()


@pytest.mark.parametrize("task", PAPER, ids=by_name)
def test_hops_may_be_given_for_all_for_each_or_not_at_all(task):
    assert (task.sample(5, hops=3).hops == 3).all()
    assert task.sample(3, hops=[4, 1, 2]).hops.tolist() == [4, 1, 2]
    assert task.sample(3, hops=np.array([4, 1, 2])).hops.tolist() == [4, 1, 2]
    assert task.sample(6).hops.tolist() == [1, 2, 3, 4, 1, 2]


def test_encode_and_decode_speak_the_task_s_language():
    task = whatwhere.LetterTask()
    assert task.decode(task.encode("c2 b1 gh")) == "c2 b1 gh"


@pytest.mark.parametrize("task", TASKS, ids=by_name)
def test_a_task_survives_its_description(task):
    assert task_from_dict(task.to_dict()) == task


def test_defaults_are_the_paper_s():
    assert (NumberTask().vocab_size, LetterTask().vocab_size) == (136, 128)
    assert NumberTask().length == LetterTask().length == 17


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_task("word"), "expected a task of number, letter, both, got 'word'"),
        (lambda: task_from_dict({}), "expected a task of number, letter, both, got 'None'"),
        (lambda: make_task("number", letters=3), r"expected parameters of the number task \(target, .*, got 'letters'"),
        (lambda: make_task("number", target="8"), "expected target of the number task as int, got '8'"),
        (lambda: make_task("number", target=True), "as int, got True"),
        (lambda: NumberTask(target=0), "expected target of 1 or more, got 0"),
        (lambda: NumberTask(max_hops=5, context=3, integers=64), "visit 4 pre-target tokens, and there are 3"),
        (lambda: NumberTask(integers=15), "16 positions back .*integers end at 15.*Raise integers to 16"),
        (lambda: NumberTask(integers=4, parts=2), "25 positions back .*end at 15.*Raise integers to 6"),
        (lambda: make_task("number", distractors="none"), "expected distractors of in-range, any, got 'none'"),
        (
            lambda: make_task("letter", generator="easy"),
            "expected generator of paper, decoy, strict, simple, got 'easy'",
        ),
        (lambda: LetterTask(letters=4), "4 hops need 5 letters in the paper generator.*there are 4"),
        (lambda: LetterTask(letters=7, generator="decoy"), "4 hops need 8 letters in the decoy generator.*there are 7"),
        (lambda: LetterTask(letters=6, generator="strict"), "4 hops need 7 letters in the strict generator"),
        (lambda: LetterTask(letters=2705, parts=2), "expected at most 2,704 letters .*got 2,705"),
        (lambda: LetterTask(target=2, generator="decoy"), "decoy generator needs 3 target tokens.*target is 2"),
        (lambda: LetterTask(target=1, generator="strict"), "strict generator needs 2 target tokens"),
        (lambda: NumberTask().sample(0), "expected 1 sequence or more, got 0"),
        (lambda: NumberTask().sample(4, hops=5), "expected hops from 1 to 4, got 5"),
        (lambda: NumberTask().sample(4, hops=[1, 2]), "expected one hop count, or 4 of them, got 2"),
        (lambda: NumberTask().sample(4, seed=-1), "expected a seed of 0 or more, .* got -1"),
        (lambda: NumberTask().sample(4, extra_target=-1), "expected extra_target of 0 or more, got -1"),
        (
            lambda: LetterTask(context=10**9),
            r"at most 32,768 tokens in a sequence .*got 1,000,000,009; lower the sizes",
        ),
        (lambda: NumberTask(symbols=10**8), "at most 1,048,576 tokens in the vocabulary, got 100,000,016"),
        (lambda: LetterTask(parts=9), "expected at most 8 parts of a pointer, got 9"),
        (lambda: NumberTask().sample(10**13), "10,000,000,000,000 sequences of 17 tokens would take about"),
        (lambda: NumberTask().sample(10**6, extra_target=10**8), "sequences of 100,000,017 tokens would take about"),
        (lambda: LetterTask().chains(1, 8), "expected chains of 1 to 7 hops, which fit this task, got 8"),
        (lambda: NumberTask().split("exam"), "expected a split of train, validation, test, got 'exam'"),
        (lambda: task_from_dict([]), r"expected a task as its name and parameters, got \[\]"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(call, message):
    with pytest.raises(WhatwhereError, match=message):
        call()


@pytest.mark.parametrize(
    ("task", "text", "message"),
    [
        (NumberTask(), "a b 5", "sequence 1 has no answer: '5' at position 2 points at nothing before it"),
        (LetterTask(), "a1 b1 cd", "'cd' at position 2 points at nothing before it"),
        (LetterTask(), "a1 a2 ba", "'ba' at position 2 points at different tokens"),
        (LetterTask(), "b1 b1 aa", "'aa' at position 2 points at nothing before it"),
    ],
)
def test_the_oracle_refuses_sequences_without_an_answer(task, text, message):
    good = "a b 1" if task.name == "number" else "a1 b1 ca"
    with pytest.raises(WhatwhereError, match=message):
        task.solve(np.stack([task.encode(good), task.encode(text)]))


def test_the_oracle_refuses_ids_outside_the_vocabulary():
    with pytest.raises(WhatwhereError, match="expected token ids from 0 to 135, got 136"):
        NumberTask().solve(np.array([[0, 136]]))


def test_the_largest_sizes_are_allowed():
    assert LetterTask(parts=8).length == 8 + 8 * 9
    assert LetterTask(target=2**15 - 9).length == 2**15
    assert NumberTask(symbols=2**20 - 16).vocab_size == 2**20


def test_measurements_of_single_tokens_refuse_pointers_of_several():
    LetterTask().require_whole_pointers("geometry")
    with pytest.raises(WhatwhereError, match=r"pointers are one token each, got parts=2: geometry changes"):
        LetterTask(parts=2).require_whole_pointers("geometry")


def test_windows_hold_every_key_but_the_query():
    task = NumberTask(target=3, context=4)
    assert [position for window in task.windows.values() for position in window] == list(range(task.length - 1))
    assert {name: len(window) for name, window in task.windows.items()} == {"target": 3, "pre-target": 4}


@pytest.mark.parametrize("task", TASKS, ids=by_name)
def test_following_finds_the_paths_that_the_generator_drew(task):
    batch = task.sample(200, seed=1)
    paths, answered = task.follow(batch.tokens)
    assert answered.all()
    assert (paths == batch.paths[:, : paths.shape[1]]).all()


def test_following_tells_what_has_no_answer():
    task = NumberTask(distractors="any")
    paths, answered = task.follow(np.stack([task.encode("a b 9 1"), task.encode("a b 2 1")]))
    assert answered.tolist() == [False, True]
    assert paths[1].tolist() == [3, 2, 0]


@pytest.mark.parametrize("extra", [0, 7])
@pytest.mark.parametrize("task", TASKS[:6], ids=by_name)
def test_fillers_are_tokens_of_the_target_window_that_extra_tokens_could_be(task, extra):
    batch = task.sample(300, seed=2, extra_target=extra)
    fillers = task.fillers(batch)
    assert fillers.shape == (300, task.target + extra)
    assert not (fillers & (batch.tokens[:, : task.target + extra] == batch.answers[:, None])).any()
    if task.name == "letter":
        assert fillers[:, :extra].all()
        assert fillers.any(1).all()


@pytest.mark.parametrize("task", [*PAPER, LetterTask(generator="decoy")], ids=by_name)
def test_chains_have_their_hops_and_answers(task):
    for hops in range(1, task.most_hops + 1):
        batch = task.chains(60, hops, seed=3)
        paths, answered = task.follow(batch.tokens)
        assert answered.all()
        assert (batch.hops == hops).all()
        assert (paths == batch.paths).all()
        assert (task.solve(batch.tokens) == batch.answers).all()


def test_letters_run_out_and_decoys_with_them():
    task = LetterTask()
    assert (task.most_hops, NumberTask().most_hops) == (7, 9)
    assert [task.chain_chance(hops) for hops in range(4, 8)] == [1 / 3, 1 / 3, 1 / 2, 1]
    assert NumberTask().chain_chance(5) == 1 / 8


@pytest.mark.parametrize("task", [*PAPER, LetterTask(generator="decoy")], ids=by_name)
def test_by_default_sequences_are_of_seed_0_and_of_the_training_length(task):
    assert (task.sample(30).tokens == task.sample(30, None, 0, 0).tokens).all()
    assert (task.chains(30, 3).tokens == task.chains(30, 3, seed=0).tokens).all()


def test_by_default_data_sets_are_of_the_papers_size_and_of_seed_0(monkeypatch):
    monkeypatch.setattr("whatwhere.tasks.dataset.make_split", lambda task, *asked: (task, *asked))
    task = NumberTask()
    with unchecked():
        split, dataset = task.split("test"), task.dataset()
    assert split == (task, "test", 480_000, 0)
    assert [dataset.train, dataset.validation, dataset.test] == [
        (task, name, 480_000, 0) for name in ("train", "validation", "test")
    ]
    assert dataset.seed == 0


def test_sizes_are_given_by_name():
    for kind in (NumberTask, LetterTask):
        with pytest.raises(TypeError):
            kind(8)  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize("extra", [0, 100])
@pytest.mark.parametrize("task", PAPER, ids=by_name)
def test_memory_is_three_times_what_is_drawn_and_the_names(task, extra, monkeypatch):
    asked = []
    monkeypatch.setattr("whatwhere.machine.memory.require", lambda *words: asked.append(words))
    batch = task.sample(1000, extra_target=extra)
    paths = batch.paths.nbytes - batch.answers.nbytes  # the query's place takes none of it
    assert asked == [
        (3 * (batch.tokens.nbytes + paths) + 8 * task.vocab_size, f"1,000 sequences of {17 + extra} tokens")
    ]
    asked.clear()
    task.require_memory(1000)
    assert asked[0][1] == "1,000 sequences of 17 tokens"


@pytest.mark.parametrize("seed", [0, LARGEST_SEED])
def test_seeds_from_0_to_the_largest_are_taken(seed):
    assert len(NumberTask().sample(1, seed=seed)) == 1


@pytest.mark.parametrize(
    ("seed", "shown"),
    [(LARGEST_SEED + 1, r"9,223,372,036,854,775,808\."), ("x" * 100, f"'{'x' * 79}\\."), (0.5, "0.5"), (None, "None")],
)
def test_what_is_no_seed_is_refused_and_shown(seed, shown):
    with unchecked(), pytest.raises(WhatwhereError, match=f"expected a seed of 0 or more, .*, got {shown}"):
        NumberTask().sample(1, seed=seed)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: NumberTask(target=2.5), "expected target as a whole number, got 2.5"),  # pyright: ignore[reportArgumentType]
        (lambda: LetterTask(letters="8"), "expected letters as a whole number, got '8'"),  # pyright: ignore[reportArgumentType]
        (lambda: NumberTask().sample(2.0), "expected whole numbers n and extra_target, got 2.0 and 0"),  # pyright: ignore[reportArgumentType]
        (lambda: NumberTask().sample(2, extra_target=0.5), "got 2 and 0.5"),  # pyright: ignore[reportArgumentType]
        (lambda: NumberTask().chains(1, 0), "expected chains of 1 to 9 hops, which fit this task, got 0"),
        (lambda: NumberTask().chains(1, 10), "expected chains of 1 to 9 hops, which fit this task, got 10"),
        (lambda: NumberTask().sample(2, hops=[1, 0]), "expected hops from 1 to 4, got 0"),
        (lambda: NumberTask(max_hops=10), "10 hops visit 9 pre-target tokens, and there are 8"),
        (lambda: LetterTask(target=2**15 - 8), "at most 32,768 tokens in a sequence .* got 32,769"),
        (lambda: NumberTask(symbols=2**20 - 15), "at most 1,048,576 tokens in the vocabulary, got 1,048,577"),
    ],
)
def test_what_is_just_too_much_or_no_number_is_refused(call, message):
    with unchecked(), pytest.raises(WhatwhereError, match=message):
        call()


def test_the_largest_alphabet_of_two_characters_is_taken():
    assert LetterTask(letters=2704, parts=2).sample(2).tokens.shape == (2, 26)


def test_given_sequences_become_a_batch_with_their_answers():
    task = NumberTask()
    batch = task.batch_of(task.sample(20, seed=3).tokens.astype(np.int64))
    assert all((array == task.sample(20, seed=3).arrays()[name]).all() for name, array in batch.arrays().items())
    assert batch.tokens.dtype == np.int32
    with pytest.raises(WhatwhereError, match="sequence 1 has no answer"):
        task.batch_of(np.stack([task.encode("a b 1"), task.encode("a b 9")]))
