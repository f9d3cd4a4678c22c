from __future__ import annotations

import numpy as np
import pytest

from whatwhere.tasks import LetterTask
from whatwhere.tasks.functions import retrieval
from whatwhere.theory import decomposition
from whatwhere.theory.check import Check


@pytest.mark.parametrize("check", [decomposition.number_decomposition, decomposition.letter_decomposition])
def test_one_application_per_hop_solves_the_task_and_no_fewer_do(check) -> None:
    assert (check(400).inputs, check(400).errors) == (400, 0)


def test_a_function_that_hops_too_slowly_or_not_at_all_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decomposition, "index", lambda tokens, _: tokens)
    assert decomposition.number_decomposition(400).errors == 400


@pytest.mark.parametrize(
    ("check", "claim"),
    [
        (
            decomposition.number_decomposition,
            "Index once per hop, then Reflexive to layer 12, gives the answers of the number task",
        ),
        (
            decomposition.letter_decomposition,
            "Retrieval once per hop, then Reflexive to layer 12, gives the answers of the letter task",
        ),
    ],
)
def test_ten_thousand_inputs_are_tried_to_the_depth_of_the_papers_models(check, claim: str) -> None:
    assert check() == Check(claim, 10_000, 0, "one application fewer never does")


def test_a_function_that_hops_on_from_an_answer_or_answers_early_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    task = LetterTask()
    early = retrieval(task.sample(400, seed=0).tokens, task.whole)
    with monkeypatch.context() as patch:
        patch.setattr(decomposition, "retrieval", lambda tokens, known: retrieval(retrieval(tokens, known), known))
        assert decomposition.letter_decomposition(400).errors == 300  # all but those of one hop come too early
    assert (early[:, -1] == task.sample(400, seed=0).answers).sum() == 100
    monkeypatch.setattr(decomposition, "reflexive", lambda tokens: np.zeros_like(tokens))
    assert decomposition.letter_decomposition(400).errors == 400
