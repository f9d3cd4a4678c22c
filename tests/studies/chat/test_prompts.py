from __future__ import annotations

import hashlib

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.studies.chat.one_hop import TASKS, follow, solve
from whatwhere.studies.chat.prompts import asked_sequence, prompt, sequences_in

WORDS = {"number": "6e244e01e2cc81e5", "letter": "8927435001afa94b"}
"""Checksums of the words of the paper's table, made from its source."""


@pytest.mark.parametrize("task", TASKS)
def test_the_papers_prompts_are_quoted_word_for_word(task: str) -> None:
    words = " ".join(prompt("one_hop", task, "{sequence}").split())
    assert hashlib.sha256(words.encode()).hexdigest()[:16] == WORDS[task]


@pytest.mark.parametrize("kind", ["one_hop", "multi_hop"])
@pytest.mark.parametrize("task", TASKS)
def test_every_worked_example_is_solved_right(kind: str, task: str) -> None:
    text = prompt(kind, task, "a b c 1" if task == "number" else "a1 b2 xa")
    lines = text.splitlines()
    examples = sequences_in(text)[:-1]
    assert len(examples) >= 2
    for example in examples:
        after = lines[lines.index(f'Input: "{example}"') + 1]
        assert after == f"Output: {solve(example)}"
        assert kind == "multi_hop" or len(follow(example)) == 2


def test_the_question_stands_at_the_end() -> None:
    text = prompt("one_hop", "letter", "a1 b2 xa")
    assert text.endswith('Task:\nInput: "a1 b2 xa"\nOutput:')
    assert asked_sequence(text) == "a1 b2 xa"
    assert not text.startswith("\n")


def test_a_prompt_without_a_sequence_is_refused() -> None:
    with pytest.raises(WhatwhereError, match='a line such as Input: "a b 2" was expected'):
        asked_sequence("What is the capital of France?")
