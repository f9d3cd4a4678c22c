"""A task from the options of a command."""

import pytest

from whatwhere.tasks import LetterTask, NumberTask
from whatwhere.tasks.task_options import TaskOptions


def test_without_options_a_task_has_the_papers_sizes():
    assert TaskOptions().parameters == {}
    assert TaskOptions().make("number") == NumberTask()


def test_what_was_chosen_makes_the_task():
    options = TaskOptions(target=5, context=6, max_hops=3, parts=2, integers=9, letters=12, generator="decoy")
    assert options.make("letter") == LetterTask(
        target=5, context=6, max_hops=3, parts=2, integers=9, letters=12, generator="decoy"
    )
    assert TaskOptions(symbols=7, distractors="any").parameters == {"symbols": 7, "distractors": "any"}
    with pytest.raises(TypeError):
        TaskOptions(8)  # pyright: ignore[reportCallIssue]
