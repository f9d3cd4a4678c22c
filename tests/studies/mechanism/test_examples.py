from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from whatwhere.errors import WhatwhereError
from whatwhere.model.gptj import GPTJ
from whatwhere.studies.mechanism import MECHANISM
from whatwhere.studies.mechanism.examples import attention_of, choose_inputs, examples, page_data
from whatwhere.studies.mechanism.tables import Example, MechanismSettings
from whatwhere.studies.results import Results
from whatwhere.tasks import LetterTask, NumberTask, Task
from whatwhere.trace.traceable import trace

TASKS = [NumberTask(), LetterTask(), LetterTask(generator="decoy")]


def measured(model: GPTJ, settings: MechanismSettings) -> Results:
    assert model.task is not None
    results = Results(MECHANISM, settings)
    inputs = choose_inputs(model, model.task, settings)
    results.write("examples", examples(model, model.task, inputs))
    attention, contents = attention_of(model, inputs)
    results.write("attention", attention)
    results.write("contents", contents)
    return results


@pytest.mark.parametrize("task", TASKS, ids=["number", "paper", "decoy"])
@pytest.mark.slow
def test_examples_hold_what_the_model_did(task: Task, guesser_of: Callable[[Task], GPTJ]) -> None:
    model = guesser_of(task)
    results = measured(model, MechanismSettings(examples=2, seed=3))
    rows = results.rows("examples", Example)
    assert [row.hops for row in rows] == [4, 1, 2, 3, 4, 1, 2, 3, 4]
    tokens = np.stack([task.encode(row.tokens) for row in rows])
    names = task.vocabulary.names
    assert [names[answer] for answer in task.solve(tokens)] == [row.answer for row in rows]
    assert [names[answer] for answer in model.predict(tokens)] == [row.predicted for row in rows]
    with torch.no_grad():
        attention = trace(model, tokens, queries=range(task.length)).attention().numpy()  # [layer, batch, head, q, k]
    for row in rows:
        path = [int(position) for position in row.path.split()]
        assert row.tokens.split()[path[-1]] == row.answer
        assert (len(path), row.target) == (row.hops + 1, 8)
    frame = results["attention"]
    at = (frame["layer"], frame["example"], frame["head"], frame["query"], frame["key"])
    assert np.allclose(frame["attention"], attention[tuple(column.to_numpy() for column in at)], atol=6e-4)
    assert len(frame) == 2 * 9 * 2 * 17 * 18 // 2  # no query sees a later key


def test_a_swap_can_be_computed_from_the_matrix_that_the_page_gets(guesser_of: Callable[[Task], GPTJ]) -> None:
    """At layer 0 the swap of two keys is that of two tokens, so the model itself can be asked."""
    task = NumberTask()
    model = guesser_of(task)
    example = page_data(measured(model, MechanismSettings(examples=0)))["examples"][0]
    i, j = 2, 11
    tokens = list(example["tokens"])
    tokens[i], tokens[j] = tokens[j], tokens[i]
    with torch.no_grad():
        asked = trace(model, task.encode(" ".join(tokens))[None], layers=[0]).attention()[0, 0, :, 0].numpy()
    for head, matrix in enumerate(np.array(example["content_by_position"][0])):
        logits = matrix.diagonal().copy()
        logits[i], logits[j] = matrix[j, i], matrix[i, j]
        swapped = np.exp(logits - logits.max())
        assert np.allclose(swapped / swapped.sum(), asked[head], atol=2e-3)
    last = [rows[-1] for rows in example["attention"][1]]  # [head][key]
    assert [len(rows) for rows in example["attention"][0][0]] == list(range(1, 18))
    assert np.allclose(np.sum(last, 1), 1, atol=0.01)


def test_the_shown_input_is_the_users_or_one_that_the_model_solves(guesser: GPTJ) -> None:
    task = guesser.task
    assert task is not None

    def shown(**settings: object) -> Example:
        chosen = MechanismSettings(examples=0, **settings)  # pyright: ignore[reportArgumentType]
        (row,) = examples(guesser, task, choose_inputs(guesser, task, chosen))
        return row

    own = shown(input="a b b 3")
    assert (own.tokens, own.answer, own.path, own.target) == ("a b b 3", "a", "3 0", 3)
    drawn = shown(hops=1)
    assert (drawn.hops, drawn.predicted) == (1, drawn.answer)
    assert shown().hops == 2
    with pytest.raises(WhatwhereError, match="got 'b' at its end"):
        shown(input="a b")
    with pytest.raises(WhatwhereError, match="got 3"):
        shown(hops=3)
