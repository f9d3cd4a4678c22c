"""What the page computes by itself equals what the package computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from page_browser import Open

from whatwhere.errors import WhatwhereError
from whatwhere.heads.scores import score
from whatwhere.model.gptj import GPTJ
from whatwhere.tasks import LetterTask, NumberTask, Task
from whatwhere.tasks.functions import index, retrieval
from whatwhere.theory import discrepancy as theory
from whatwhere.trace.traceable import trace
from whatwhere.zoo.load import load


def sequences(task: Task, seed: int) -> np.ndarray:
    """Good ones, ones with some tokens exchanged, and nothing but pointers: many of these have no answer."""
    rng, ids = np.random.default_rng(seed), np.arange(task.vocab_size)
    good, pointers = task.sample(120, seed=seed).tokens, ids[task.vocabulary.points(ids)]
    noise = np.where(rng.random(good.shape) < 0.7, rng.choice(pointers, good.shape), rng.choice(ids, good.shape))
    changed = np.where(rng.random(good.shape) < 0.2, noise, good)
    return np.concatenate([good, changed, rng.choice(pointers, (60, task.length))])


def solved(task: Task, tokens: np.ndarray) -> str | None:
    try:
        return task.decode(task.solve(tokens[None]))
    except WhatwhereError:
        return None


@pytest.mark.parametrize("task", [NumberTask(), LetterTask()], ids=["number", "letter"])
@pytest.mark.slow
def test_the_oracle_and_the_ideal_functions_are_those_of_the_package(
    reproduction: Path, visit: Open, task: Task
) -> None:
    tokens = sequences(task, seed=1)
    function = index if isinstance(task, NumberTask) else retrieval
    applied = function(tokens, task.vocabulary)  # type: ignore[arg-type]
    found = visit(reproduction).evaluate(
        """([name, sequences]) => {
            const { follow, apply } = whatwhere.oracle;
            const { task } = whatwhere.data.models[name];
            return sequences.map((tokens) => [follow(task, tokens).answer ?? null, apply(task, tokens)]);
        }""",
        [task.name, [task.decode(row).split() for row in tokens]],
    )
    answers = [solved(task, row) for row in tokens]
    assert None not in answers[:120]
    assert 10 < answers[120:240].count(None) < 100
    assert [answer for answer, _ in found] == answers
    assert [after for _, after in found] == [task.decode(row).split() for row in applied]


@pytest.mark.slow
def test_a_word_outside_the_vocabulary_is_no_token(reproduction: Path, visit: Open) -> None:
    found = visit(reproduction).evaluate(
        """() => ["0", "17", "dq", "A", "", "constructor", "a1"].map(
            (word) => whatwhere.oracle.read(whatwhere.data.models.number.task, word))"""
    )
    assert found == [None] * 7


@pytest.mark.slow
def test_discrepancies_and_bounds_are_those_of_the_package(reproduction: Path, visit: Open) -> None:
    rng = np.random.default_rng(0)
    cases = [
        (int(n), float(theta), int(letters))
        for n, theta, letters in zip(
            rng.integers(2, 400, 60), 10 ** rng.uniform(-4, 0, 60), rng.integers(2, 30, 60), strict=True
        )
    ]
    cases += [(2, 0.866, 8), (17, 0.866, 8), (100, 0.0027, 8), (146, 0.0027, 8), (147, 0.0027, 8)]
    found = visit(reproduction).evaluate(
        """(cases) => cases.map(([n, theta, letters]) => {
            const forms = whatwhere.forms;
            return [forms.indexSmallest(n, theta).at(-1), forms.indexBound(n, theta),
                forms.retrievalSmallest(n, theta, letters), forms.retrievalBound(n, theta, letters),
                forms.retrievalPrinted(n, theta, letters), forms.retrievalEnd(theta, letters)];
        })""",
        cases,
    )
    for (n, theta, letters), (smallest, bound, retrieved, corrected, printed, end) in zip(cases, found, strict=True):
        assert smallest == pytest.approx(theory.index_smallest(n, theta), rel=1e-9, abs=1e-15)
        assert bound == pytest.approx(theory.index_smallest_bound(n, theta), rel=1e-9)
        assert corrected == pytest.approx(theory.retrieval_smallest_bound(n, theta, letters), rel=1e-9, abs=1e-12)
        assert printed == pytest.approx(theory.retrieval_printed_bound(n, theta, letters), rel=1e-9, abs=1e-12)
        exact = theory.retrieval_smallest(n, theta, letters)
        if n <= end:  # the page shows the curve up to here
            assert retrieved == pytest.approx(exact, rel=1e-9, abs=1e-12)
        assert (n <= end) == (exact > 0)


@pytest.mark.slow
def test_swaps_and_scores_are_those_of_the_package(reproduction: Path, visit: Open) -> None:
    """From the rounded matrices on disk, hence the tolerance."""
    page, tau = visit(reproduction), 0.1
    for name in ("number", "letter"):
        model = load(name)
        examples = page.evaluate("(name) => whatwhere.extra(name, 'mechanism').examples.map((one) => one.tokens)", name)
        assert isinstance(model, GPTJ) and model.task
        tokens = np.stack([model.task.encode(" ".join(one)) for one in examples])
        with torch.no_grad():
            traced = trace(model, tokens)
        found = np.array(
            page.evaluate(
                """([name, tau]) => whatwhere.extra(name, "mechanism").examples.map((one) =>
                    one.content_by_position.map((heads) => heads.map((M) => {
                        const { positional, symbolic } = whatwhere.swaps.ofInput(M, tau);
                        return [positional, symbolic, ...whatwhere.swaps.attention(M)];
                    })))""",
                [name, tau],
            )
        )  # [input, layer, head, 2 + key]
        scores = score(traced, tau=tau)
        assert scores.each_positional is not None and scores.each_symbolic is not None
        each = np.stack([scores.each_positional[..., 0], scores.each_symbolic[..., 0]], -1)  # [layer, input, head, 2]
        assert np.allclose(found[..., :2], np.moveaxis(each, 0, 1), atol=0.01)
        attention = traced.attention()[..., 0, :].numpy()  # [layer, input, head, key]
        assert np.allclose(found[..., 2:], np.moveaxis(attention, 0, 1), atol=2e-3)
