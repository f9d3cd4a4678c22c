"""Tasks whose pointers several tokens spell, against oracles that read their text by hand."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from whatwhere.errors import WhatwhereError
from whatwhere.tasks import LetterTask, NumberTask, make_task, task_from_dict
from whatwhere.tasks.dataset import load_dataset
from whatwhere.tasks.functions import follow_pointers, index, retrieval
from whatwhere.tasks.generators import GENERATORS
from whatwhere.tasks.picture import draw
from whatwhere.tasks.shortcuts import shortcuts
from whatwhere.tasks.spelled import SpelledLetters, SpelledNumbers
from whatwhere.tasks.task import Task
from whatwhere.tasks.vocabulary import LetterVocabulary, NumberVocabulary, letter_names, smallest_base

TASKS = [
    NumberTask(parts=2, integers=10, target=6, context=5),
    NumberTask(parts=3, integers=3, target=4, context=5, max_hops=3, symbols=7),
    NumberTask(parts=2, integers=6, target=4, context=4, distractors="any"),
    *(LetterTask(parts=2, generator=generator) for generator in GENERATORS),
    LetterTask(parts=2, letters=64, integers=3, max_hops=6, generator="decoy"),
    LetterTask(parts=4, letters=60, target=5, context=6, generator="decoy"),
    LetterTask(parts=6, letters=20, target=5, context=6),
]


def by_name(task: Task) -> str:
    return "-".join(str(value) for value in task.to_dict().values())


def path_by_hand(task: NumberTask | LetterTask, words: list[str], target: int) -> list[int]:
    """The path of one sequence, read off its text with nothing but its sizes: positions of last tokens."""
    ends = {target + task.parts * (pointer + 1) - 1: pointer for pointer in range(task.context + 1)}
    spelled = {end: words[end + 1 - task.parts : end + 1] for end in ends}
    path = [len(words) - 1]
    while path[-1] in spelled:
        parts = spelled[path[-1]]
        if task.name == "number":
            back = 0
            for digit in parts:
                back = task.integers * back + int(digit)
            path.append(path[-1] - back)
            assert path[-1] in {*range(target), *ends}, "it points inside a pointer"
        else:
            half = task.parts // 2
            wanted = "".join(parts[half:])
            left = {end: "".join(each[:half]) for end, each in spelled.items()}
            left |= {place: word.rstrip("0123456789") for place, word in enumerate(words[:target])}
            (there,) = [place for place, letter in left.items() if letter == wanted and place < path[-1]]
            path.append(there)
    return path


@pytest.mark.parametrize("extra", [0, 40])
@pytest.mark.parametrize("task", TASKS, ids=by_name)
def test_answers_hops_and_paths_are_those_read_off_the_text_by_hand(task: NumberTask | LetterTask, extra: int) -> None:
    batch = task.sample(40, seed=3, extra_target=extra)
    assert batch.tokens.shape == (40, task.target + extra + task.parts * (task.context + 1))
    for row, tokens in enumerate(batch.tokens):
        words = task.decode(tokens).split()
        path = path_by_hand(task, words, task.target + extra)
        assert [p for p in batch.paths[row] if p >= 0] == path
        assert batch.hops[row] == len(path) - 1
        assert task.decode(batch.answers[row]) == words[path[-1]]
    assert (task.solve(batch.tokens) == batch.answers).all()
    paths, answered = task.follow(batch.tokens)
    assert answered.all()
    assert (paths == batch.paths[:, : paths.shape[1]]).all()


@settings(max_examples=60)
@given(
    name=st.sampled_from(["number", *GENERATORS]),
    parts=st.integers(2, 6),
    target=st.integers(1, 8),
    context=st.integers(1, 8),
    max_hops=st.integers(1, 6),
    alphabet=st.integers(1, 70),
    integers=st.integers(1, 30),
    extra=st.integers(0, 5),
    seed=st.integers(0, 2**32),
)
def test_every_possible_size_gives_valid_sequences(
    name, parts, target, context, max_hops, alphabet, integers, extra, seed
):
    sizes = {"target": target, "context": context, "max_hops": max_hops, "integers": integers, "parts": parts}
    try:
        if name == "number":
            task = NumberTask(symbols=alphabet, **sizes)
        else:
            task = LetterTask(letters=alphabet, generator=name, **sizes)
    except WhatwhereError:
        assume(False)
        raise
    batch = task.sample(20, seed=seed, extra_target=extra)
    assert batch.tokens.shape == (20, task.length + extra)
    assert batch.tokens.dtype == batch.answers.dtype == batch.paths.dtype == np.int32
    assert (task.solve(batch.tokens) == batch.answers).all()
    points = task.vocabulary.points(batch.tokens)
    assert not points[:, : target + extra].any()
    assert points[:, target + extra :].all()
    items = task.vocabulary.read(batch.tokens)
    ends = np.r_[np.arange(extra), extra + task.ends]
    assert (items[:, ends] >= 0).all()
    assert (np.delete(items, ends, 1) == -1).all()
    assert (task.vocabulary.spell(items[:, ends]) == batch.tokens).all()


@pytest.mark.parametrize("task", TASKS, ids=by_name)
def test_goals_are_those_of_each_pointer_followed_alone(task: Task) -> None:
    tokens = task.sample(60, seed=5).tokens
    goals = task.vocabulary.goals(tokens)
    pointers = task.ends[task.target :]
    for position in pointers:
        there, fits = task.step(tokens, np.full(60, position))
        assert (goals[fits == 1, position] == there[fits == 1]).all()
        assert (goals[fits == 0, position] == -1).all()
    assert (np.delete(goals, pointers, 1) == -1).all()


@pytest.mark.parametrize("task", [TASKS[0], *TASKS[3:]], ids=by_name)
def test_ideal_functions_work_on_what_is_read(task: NumberTask | LetterTask) -> None:
    batch = task.sample(200, seed=1)
    items = task.vocabulary.read(batch.tokens)
    function: Callable[..., np.ndarray] = index if task.name == "number" else retrieval
    wanted = task.vocabulary.read(batch.answers[:, None])[:, 0]
    for hops in range(1, task.max_hops + 1):
        assert not (items[:, -1] == wanted)[batch.hops >= hops].any()
        items = function(items, task.whole)
        assert (items[:, -1] == wanted)[batch.hops <= hops].all()
    with pytest.raises(WhatwhereError, match="expected pointers of one token, got spelled ones"):
        follow_pointers(batch.tokens, task.vocabulary)


@pytest.mark.parametrize(("spelled", "atomic"), [
    (LetterTask(parts=2, generator="decoy"), LetterTask(generator="decoy")),
    (LetterTask(parts=4), LetterTask()),
])  # fmt: skip
def test_spelling_changes_how_a_sequence_is_written_and_nothing_else(spelled: LetterTask, atomic: LetterTask) -> None:
    """The same seed draws the same items, so what data leak is the same, too."""
    one, other = (task.sample(400, seed=2) for task in (spelled, atomic))
    assert (spelled.vocabulary.read(one.tokens)[:, spelled.ends] == other.tokens).all()
    assert shortcuts(spelled, one).equals(shortcuts(atomic, other))


def test_a_distance_counts_tokens_and_paths_stay_equally_likely() -> None:
    task = NumberTask(parts=2, integers=8, target=4, context=4, max_hops=3)
    for hops in (1, 2, 3):
        paths, counts = np.unique(task.sample(9600, hops=hops, seed=hops).paths, axis=0, return_counts=True)
        assert len(paths) == comb(4, hops - 1) * 4
        assert abs(counts - 9600 / len(paths)).max() < 6 * (9600 / len(paths)) ** 0.5
    batch = task.sample(500, seed=1)
    read = task.vocabulary.read(batch.tokens)
    rows = np.arange(500)
    assert (task.whole.value(read[:, -1]) == batch.paths[:, 0] - batch.paths[rows, 1]).all()


def test_integers_off_the_path_point_at_items_unless_asked_otherwise() -> None:
    task, anywhere = (
        NumberTask(parts=2, integers=8, target=4, context=6, distractors=kind) for kind in ("in-range", "any")
    )
    ends = task.ends[task.target :]
    assert (task.vocabulary.goals(task.sample(2000, seed=1).tokens)[:, ends] >= 0).all()
    goals = anywhere.vocabulary.goals(anywhere.sample(2000, seed=1).tokens)[:, ends]
    assert 0.3 < (goals < 0).mean() < 0.9


def test_numbers_and_letters_are_named_as_people_write_them() -> None:
    numbers, letters = SpelledNumbers(3, 10, 2), SpelledLetters(60, 2, 4)
    assert numbers.names == ("a", "b", "c", *"0123456789")
    assert numbers.whole.names[numbers.read(numbers.encode("a b 1 4 0 7")[None])[0, 3]] == "14"
    assert letters.base == 8
    assert letters.names[:3] == ("aa1", "aa2", "ab1")
    assert letters.names[-8:] == tuple("abcdefgh")
    read = letters.read(letters.encode("hc2 b f a h")[None])[0]
    assert read.tolist()[1:4] == [-1] * 3
    assert [letters.whole.names[read[at]] for at in (0, 4)] == ["hc2", "bfah"]
    assert letters.describe_hop("bfah") == "to ah"
    assert (numbers.pointer, letters.pointer) == ("a number", "a pair of letters")
    assert numbers.request_names[:2] == ["1", "2"]


@pytest.mark.parametrize("vocabulary", [SpelledNumbers(5, 3, 3), SpelledLetters(10, 3, 4), SpelledLetters(60, 2, 2)])
def test_every_token_has_its_name_and_every_pointer_is_read_as_it_was_spelled(vocabulary) -> None:
    ids = np.arange(len(vocabulary))
    assert len(set(vocabulary.names)) == len(vocabulary)
    assert (vocabulary.encode(vocabulary.decode(ids)) == ids).all()
    whole = np.arange(len(vocabulary.whole))[:, None]
    for kind in (whole[vocabulary.whole.points(whole[:, 0])], whole[~vocabulary.whole.points(whole[:, 0])]):
        spelled = vocabulary.spell(kind)
        assert spelled.shape[1] in (1, vocabulary.parts)
        assert (vocabulary.read(spelled)[:, -1:] == kind).all()


def test_digits_that_mean_nothing_point_at_nothing() -> None:
    numbers = NumberTask(parts=2, integers=5, target=2, context=1, max_hops=1)
    for text in ("a b 0 0", "a b 4 4", "a b 1", "a b 0 1 0 1"):
        _, answered = numbers.follow(numbers.encode(text)[None])
        assert not answered[0], text
    letters = LetterTask(parts=4, letters=10, target=1, context=1, max_hops=1)
    _, answered = letters.follow(letters.encode("aa1 a a d d")[None])  # dd would be the sixteenth of ten letters
    assert not answered[0]
    with pytest.raises(WhatwhereError, match="'0' at position 3 points at nothing before it"):
        numbers.solve(numbers.encode("a b 0 0")[None])


def test_names_of_letters_have_equal_lengths_at_any_size() -> None:
    for letters, syllables in product((1, 8, 52, 53, 64, 2704), (1, 2, 3)):
        names = letter_names(letters, syllables)
        assert len(set(names)) == len(names) == letters
        assert len({len(name) for name in names}) == 1
    assert letter_names(64)[:2] == ["aa", "ab"]
    assert LetterVocabulary(64, 2).describe_hop("aabf") == "to bf"


@given(numbers=st.integers(1, 10**6), digits=st.integers(1, 8))
def test_the_smallest_base_is_enough_and_no_smaller_one_is(numbers: int, digits: int) -> None:
    base = smallest_base(numbers, digits)
    assert base**digits >= numbers
    assert base == 1 or (base - 1) ** digits < numbers


def test_splits_survive_the_disk(tmp_path) -> None:
    made = TASKS[5].dataset(1600, seed=4)
    made.save(tmp_path)
    assert load_dataset(tmp_path).manifest() == made.manifest()
    assert load_dataset(tmp_path).task == TASKS[5]


def test_a_task_survives_its_description_which_names_parts_where_there_are_several() -> None:
    for task in TASKS:
        assert task_from_dict(task.to_dict()) == task
        assert task.to_dict()["parts"] == task.parts
    assert "parts" not in NumberTask().to_dict()
    assert make_task("number", parts=1) == NumberTask()


@pytest.mark.parametrize("task", TASKS, ids=by_name)
def test_windows_fillers_chains_and_same_meanings_count_items_at_their_last_tokens(task: NumberTask | LetterTask):
    assert [len(window) for window in task.windows.values()] == [task.target, task.parts * task.context]
    batch = task.sample(100, seed=2, extra_target=3)
    fillers = task.fillers(batch)
    assert fillers.shape == (100, task.target + 3)
    assert not (fillers & (batch.tokens[:, : task.target + 3] == batch.answers[:, None])).any()
    chains = task.chains(20, min(task.most_hops, 5), seed=1)
    assert (task.solve(chains.tokens) == chains.answers).all()
    same = task.vocabulary.same_meaning(batch.tokens, batch.paths[:, 1])
    assert same[np.arange(100), batch.paths[:, 1]].all()
    asked = task.vocabulary.request_for(batch.tokens, batch.paths[:, 0], batch.paths[:, 1])
    read = task.whole.requests(task.vocabulary.read(batch.tokens)[:, -1])
    assert (asked == read).all()


def test_a_picture_shows_whole_pointers_under_their_last_tokens() -> None:
    task = NumberTask(parts=2, integers=10, target=5, context=4, max_hops=2)
    batch = task.sample(1, hops=2, seed=0)
    lines = draw(task, batch, 0).plain.split("\n")
    words = task.decode(batch.tokens[0]).split()
    query, visited, answer = (int(position) for position in batch.paths[0])
    assert lines[1].replace("─", "").split() == [
        "├",
        "target",
        "window",
        "┤",
        "├",
        "pre-target",
        "window",
        "┤",
        "query",
    ]
    assert lines[4].endswith(f"{int(words[query - 1] + words[query])} back")
    assert lines[5].endswith(f"{int(words[visited - 1] + words[visited])} back")
    assert lines[2][lines[5].index("◀")] in words[answer]


def test_a_larger_alphabet_or_a_longer_input_leaves_the_other_sizes_alone() -> None:
    """What the paper's tasks do not allow: one of the three sizes at a time."""
    short, long = (NumberTask(parts=2, integers=8, target=size, context=size) for size in (4, 12))
    assert short.vocab_size == long.vocab_size == 128
    small, large = (LetterTask(parts=2, letters=letters, max_hops=4) for letters in (8, 64))
    assert (small.length, large.length) == (26, 26)
    assert (small.vocab_size, large.vocab_size) == (72, 576)  # atomic pairs would be 128 and 4,608


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: NumberTask(parts=0), "expected parts of 1 or more, got 0"),
        (lambda: NumberTask(parts=9), "at most 8 parts of a pointer, got 9; lower the sizes"),
        (lambda: NumberTask(parts=2, integers=5), r"25 positions back .*integers end at 24. Raise integers to 6"),
        (
            lambda: NumberTask(parts=4, integers=64),
            r"numbers of at most 1,048,576, got 16,777,215 \(integers \*\* parts",
        ),
        (lambda: LetterTask(parts=3), "expected parts of 1 or an even number, .* got 3"),
        (lambda: make_task("both", parts=2), "expected parts of 1 in the both task, .* got 2"),
        (lambda: make_task("both", letters=53), "expected at most 52 letters in the both task, got 53"),
        (lambda: TASKS[0].vocabulary.requests(np.array([121])), "got 1 tokens of pointers that 2 spell"),
        (lambda: TASKS[0].vocabulary.alternatives(np.array([121, 122])), "got 2 tokens of pointers that 2 spell"),
        (
            lambda: TASKS[0].require_whole_pointers("geometry"),
            "pointers are one token each, got parts=2: geometry changes or compares single tokens",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(call, message: str) -> None:
    with pytest.raises(WhatwhereError, match=message):
        call()


def test_whole_vocabularies_are_themselves() -> None:
    known = NumberVocabulary(3, 4)
    tokens = known.encode("a b 2")[None]
    assert known.whole is known
    assert known.read(tokens) is tokens
    assert known.spell(tokens) is tokens
    NumberTask().require_whole_pointers("geometry")


def test_a_pointer_to_a_token_inside_another_points_nowhere() -> None:
    known = SpelledNumbers(2, 10, 2)
    tokens = known.encode("a b 0 1 0 3 0 5")[None]
    assert known.goals(tokens)[0].tolist() == [-1, -1, -1, -1, -1, -1, -1, -1]
    tokens = known.encode("a b 0 3 0 2 0 6")[None]
    assert known.goals(tokens)[0].tolist() == [-1, -1, -1, 0, -1, 3, -1, 1]
    assert known.goals(known.encode("1")[None]).tolist() == [[-1]]


def test_labels_of_letters_are_those_of_pairs_and_digits_have_none() -> None:
    known = SpelledLetters(10, 3, 4)
    labels = known.labels(known.encode("aa1 ac2 a b"))
    assert labels.tolist() == [0, 2, -1, -1]
    assert known.label_names == list(LetterVocabulary(10, 3, 2).request_names)
    assert (known.label, SpelledNumbers(2, 10, 2).label) == ("left letter", "symbol")


def test_the_number_of_a_pair_of_letters_does_not_overflow_small_types() -> None:
    known = SpelledLetters(2704, 1, 2)
    ids = known.whole.pair(np.array([2703], np.int32), np.array([2703], np.int32))
    assert known.number(ids).tolist() == [2703 * known.base + 2703]
    assert known.number(ids).dtype == np.int64
