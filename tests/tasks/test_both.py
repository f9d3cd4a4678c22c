"""The both task against oracles that read its text by hand, one cue at a time."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.tasks import BothTask, make_task, task_from_dict
from whatwhere.tasks.batch import Batch
from whatwhere.tasks.both import WHERE
from whatwhere.tasks.functions import follow_pointers
from whatwhere.tasks.shortcuts import View, shortcuts
from whatwhere.tasks.vocabulary import ONE_CHARACTER

TASKS = [
    BothTask(),
    BothTask(letters=8, max_hops=4),
    BothTask(letters=6, integers=4, target=4, context=4),
    BothTask(letters=30, integers=3, target=9, context=7, max_hops=3),
]


def by_name(task: BothTask) -> str:
    return "-".join(str(value) for value in task.to_dict().values())


def path_by_hand(words: list[str], cue: str) -> list[int]:
    """The path of one sequence, read off its text by one cue."""
    path = [len(words) - 1]
    while words[path[-1]][1].isalpha():
        here, word = path[-1], words[path[-1]]
        if cue == "distance":
            path.append(here - int(word[2:]))
        else:
            (there,) = [at for at in range(here) if words[at][0] == word[1]]
            path.append(there)
        assert path[-1] >= 0
    return path


@pytest.mark.parametrize("extra", [0, 60])
@pytest.mark.parametrize("task", TASKS, ids=by_name)
def test_both_cues_lead_to_the_answer_by_the_path_that_was_drawn(task: BothTask, extra: int) -> None:
    batch = task.sample(80, seed=3, extra_target=extra)
    for row, tokens in enumerate(batch.tokens):
        words = task.decode(tokens).split()
        drawn = [p for p in batch.paths[row] if p >= 0]
        assert drawn == path_by_hand(words, "letter") == path_by_hand(words, "distance")
        assert words[drawn[-1]] == task.decode(batch.answers[row])
        assert len(drawn) == 1 + batch.hops[row]
    assert (task.solve(batch.tokens) == batch.answers).all()


@pytest.mark.parametrize("task", TASKS, ids=by_name)
def test_every_pointer_points_at_one_place_by_letter_and_by_distance(task: BothTask) -> None:
    tokens = task.sample(500, seed=1).tokens
    by_letter = View(task.by_letter, task.vocabulary.letter_tokens(tokens)).goals
    by_distance = View(task.by_distance, task.vocabulary.number_tokens(tokens)).goals
    assert (by_letter == by_distance).all()
    assert (by_letter[:, task.target :] >= 0).all()


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("extra", [0, 60])
@pytest.mark.parametrize("task", TASKS, ids=by_name)
def test_on_conflict_inputs_each_cue_has_its_own_path_and_answer(task: BothTask, extra: int, where: str) -> None:
    inputs = task.conflicts(80, seed=4, extra_target=extra, where=where)
    batch = inputs.batch
    for row, tokens in enumerate(batch.tokens):
        words, hops = task.decode(tokens).split(), batch.hops[row]
        symbolic, positional = path_by_hand(words, "letter"), path_by_hand(words, "distance")
        assert symbolic == [p for p in batch.paths[row] if p >= 0]
        assert positional == [p for p in inputs.positional_paths[row] if p >= 0]
        assert len(symbolic) == len(positional) == hops + 1
        assert words[symbolic[-1]] == task.decode(batch.answers[row])
        assert words[positional[-1]] == task.decode(inputs.positional[row])
        assert extra <= positional[-1] < extra + task.target
        shared = set(symbolic) & set(positional)
        assert shared == ({symbolic[0]} if where == "every" else set(symbolic[:-1]))
        if where == "every":  # whoever follows a letter first and a distance then is led elsewhere, too
            assert all(here - int(words[here][2:]) != there for here, there in pairwise(symbolic))
    assert (batch.answers != inputs.positional).all()
    assert (task.solve_symbolic(batch.tokens) == batch.answers).all()
    assert (task.solve_positional(batch.tokens) == inputs.positional).all()
    with pytest.raises(WhatwhereError, match="points at different tokens"):
        task.solve(batch.tokens)


@pytest.mark.parametrize("where", WHERE)
def test_a_conflict_changes_distances_on_the_paths_and_nothing_else(where: str) -> None:
    task = BothTask(letters=8, max_hops=4)
    batch, inputs = task.sample(300, seed=4), task.conflicts(300, seed=4, where=where)
    known = task.vocabulary
    assert (known.letter_tokens(batch.tokens) == known.letter_tokens(inputs.batch.tokens)).all()
    for row in range(300):
        changed = set(np.flatnonzero(batch.tokens[row] != inputs.batch.tokens[row]))
        assert changed <= {*batch.paths[row], *inputs.positional_paths[row]}


def test_the_rival_looks_like_the_answer_and_stands_anywhere() -> None:
    task = BothTask()
    inputs = task.conflicts(4000, seed=0)
    left = task.vocabulary.left(inputs.batch.tokens[:, : task.target])
    rival = task.vocabulary.left(inputs.positional)
    assert ((left == rival[:, None]).sum(1) == 1).all()
    places = inputs.positional_paths[np.arange(4000), inputs.batch.hops]
    assert np.bincount(places, minlength=8).min() > 4000 / 8 * 0.8


def test_longer_inputs_of_a_seed_end_in_the_same_tokens() -> None:
    task = BothTask()
    short, long = (task.conflicts(50, seed=7, extra_target=extra) for extra in (0, 200))
    assert (long.batch.tokens[:, 200:] == short.batch.tokens).all()
    assert (long.positional == short.positional).all()


def test_no_rule_without_hops_beats_one_half_and_neither_cue_leaks_more() -> None:
    task = BothTask()
    batch, known = task.sample(20_000, seed=1), task.vocabulary
    assert (shortcuts(task, batch).query("not hopping").accuracy < 0.5).all()
    letters = Batch(known.letter_tokens(batch.tokens), known.letter_tokens(batch.answers), batch.hops, batch.paths)
    numbers = Batch(known.number_tokens(batch.tokens), batch.answers, batch.hops, batch.paths)
    by_cue = []
    for view, seen in ((task.by_letter, letters), (task.by_distance, numbers)):
        found = shortcuts(view, seen)
        by_cue.append(found[~found.rule.str.contains("alone|frequent")].accuracy.tolist())  # these are not of pointers
    assert len(by_cue[0]) == 26
    assert by_cue[0] == by_cue[1]


def test_the_distance_of_a_pointer_tells_little_about_whether_it_leads_to_the_answer() -> None:
    task = BothTask()
    batch = task.sample(60_000, hops=2, seed=2)
    back = task.vocabulary.distance(batch.tokens[:, task.target : -1])
    goal = np.arange(task.target, task.length - 1) - back
    to_target, to_answer = goal < task.target, goal == batch.paths[:, 2][:, None]
    shares = [to_answer[to_target & (back == distance)].mean() for distance in range(1, 16)]
    assert 0.25 < min(shares) < max(shares) < 0.5  # one of three look-alikes; docs/preference.md says why not 1/3


def test_decode_undoes_encode_and_parts_make_the_token() -> None:
    known = BothTask().vocabulary
    ids = np.arange(len(known))
    assert len(set(known.names)) == len(known) == 624
    assert (known.encode(known.decode(ids)) == ids).all()
    pointers = ids[known.points(ids)]
    parts = known.left(pointers), known.right(pointers), known.distance(pointers)
    assert (known.triple(*parts) == pointers).all()
    assert (known.distance(ids[: known.pairs]) == 0).all() and (known.right(ids[: known.pairs]) == -1).all()
    assert known.decode(pointers[[0, -1]]) == "aa1 ff16"
    assert known.names[known.pairs - 1] == "f8"


def test_its_letters_alone_are_followed_by_retrieval() -> None:
    task = BothTask()
    batch = task.sample(200, seed=1)
    tokens = batch.tokens
    for _ in range(task.max_hops):
        tokens = follow_pointers(tokens, task.vocabulary)
    assert (tokens[:, -1] == batch.answers).all()


def test_alternatives_are_all_pointers_with_the_same_left_letter() -> None:
    known = BothTask().vocabulary
    token = known.encode("cb7")
    names = {known.names[i] for i in known.alternatives(token)[:, 0]}
    assert names == {f"c{right}{back}" for right in "abcdef" for back in range(1, 17)}
    assert known.describe_hop("cb7") == "to b, 7 back"
    assert (
        known.request_names[known.request_for(known.encode("a1 b2 cb7")[None], np.array([2]), np.array([1]))[0]] == "b"
    )


def test_a_task_survives_its_description_and_draws_chains() -> None:
    task = BothTask(letters=9)
    assert task_from_dict(task.to_dict()) == task
    assert task.most_hops == 5
    chains = task.chains(40, 5, seed=1)
    assert (chains.hops == 5).all()
    assert (task.for_chains(5).solve(chains.tokens) == chains.answers).all()
    assert task.chain_chance(5) == pytest.approx(1 / 3)
    assert task.fillers(chains[:3]).shape == (3, 8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: BothTask(letters=5), "2 hops need 6 letters in the decoy generator.*there are 5"),
        (lambda: BothTask(letters=52, context=1000), "at most 1,048,576 tokens in the vocabulary"),
        (lambda: BothTask(target=2), "decoy generator needs 3 target tokens"),
        (lambda: make_task("both", generator="paper"), "expected parameters of the both task .* got 'generator'"),
        (lambda: BothTask().conflicts(4, where="first"), "expected a conflict on the hops last or every, got 'first'"),
        (
            lambda: BothTask(letters=9, max_hops=5, context=5).conflicts(5),
            "two paths need 8 pre-target tokens, and there are 5. Raise context",
        ),
        (lambda: BothTask().conflicts(4, hops=3), "expected hops from 1 to 2, got 3"),
        (lambda: BothTask().solve_positional(np.array([[624]])), "expected token ids from 0 to 623, got 624"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(call, message: str) -> None:
    with pytest.raises(WhatwhereError, match=message):
        call()


def test_a_conflict_on_the_last_hop_needs_no_second_path() -> None:
    task = BothTask(letters=9, max_hops=5, context=5)
    inputs = task.conflicts(50, where="last")
    assert (task.solve_positional(inputs.batch.tokens) == inputs.positional).all()


def test_pointers_are_not_spelled_and_letters_are_of_one_character():
    with pytest.raises(WhatwhereError, match=r"expected parts of 1 in the both task, .* not spelled, got 2"):
        BothTask(parts=2)
    assert BothTask(letters=ONE_CHARACTER).letters == ONE_CHARACTER
    with pytest.raises(WhatwhereError, match=f"expected at most {ONE_CHARACTER} letters in the both task"):
        BothTask(letters=ONE_CHARACTER + 1)


def test_the_number_task_inside_can_point_from_the_query_to_the_first_token_and_no_farther():
    task = BothTask()
    assert task.by_distance.integers == task.length - 1


def test_a_token_that_only_the_letters_visit_points_to_any_other_earlier_token_of_its_window():
    task = BothTask()
    batch, inputs = task.sample(2000, hops=2, seed=0), task.conflicts(2000, hops=2, seed=0)
    rows, at = np.arange(2000), batch.paths[:, 1]
    before, after = (task.vocabulary.distance(one.tokens[rows, at]) for one in (batch, inputs.batch))
    for place in np.unique(at):
        moved = (after - before)[at == place] % place
        assert set(moved.tolist()) == set(range(1, place))


@pytest.mark.parametrize(("where", "drawn"), [("last", "1bf2a9b3ed4d"), ("every", "e7cf11f09b48")])
def test_the_conflicts_of_a_seed_stay_what_they_were(digest, where: str, drawn: str) -> None:
    inputs = BothTask(letters=8, max_hops=4).conflicts(60, seed=7, extra_target=3, where=where)
    assert digest(inputs.batch.tokens, inputs.positional, inputs.positional_paths) == drawn


def test_conflicts_are_by_default_of_every_hop_from_seed_0_and_not_longer() -> None:
    task = BothTask()
    plain, told = task.conflicts(30), task.conflicts(30, None, 0, 0, "every")
    assert (plain.batch.tokens == told.batch.tokens).all()
    assert plain != told, "told apart by what they are, not by what they hold"


def test_just_enough_pre_target_tokens_for_two_paths_are_enough() -> None:
    task = BothTask(letters=8, max_hops=4, context=6)
    inputs = task.conflicts(40, hops=4, seed=2)
    assert (task.solve_positional(inputs.batch.tokens) == inputs.positional).all()
    with pytest.raises(WhatwhereError, match="two paths need 6 pre-target tokens, and there are 5"):
        BothTask(letters=8, max_hops=4, context=5).conflicts(40, hops=4)


def test_sizes_are_given_by_name_and_the_smallest_are_taken() -> None:
    with pytest.raises(TypeError):
        BothTask(8)  # pyright: ignore[reportCallIssue]
    assert BothTask(target=3).sample(4).tokens.shape == (4, 12)
    assert (BothTask().letters, BothTask().integers, BothTask().max_hops) == (6, 8, 2)
