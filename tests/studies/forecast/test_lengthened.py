from __future__ import annotations

import numpy as np
import pytest

from whatwhere.studies.answering import answers
from whatwhere.studies.forecast.forecasting import forecast
from whatwhere.studies.forecast.lengthened import _lenders, right_if_longer
from whatwhere.tasks import LetterTask, NumberTask
from whatwhere.trace.interventions import ClosePlanes, ScaleAngles, ScaleLogits

LETTER, NUMBER = LetterTask(), NumberTask(symbols=12)
CHANGES = {"none": [], "logits": [ScaleLogits(3.0)], "angles": [ScaleAngles(0.3), ClosePlanes((1, 2))]}


@pytest.mark.parametrize("task", [LETTER, NUMBER, LetterTask(generator="decoy")], ids=["letter", "number", "decoy"])
@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("heads", [1, 2])
def test_in_the_first_layer_it_is_what_the_longer_inputs_themselves_give(tiny, task, changes, heads: int) -> None:
    model, batch = tiny(task, layers=1, heads=heads), task.sample(64, seed=3)
    further = task.extra(np.random.default_rng(0), batch, 40)
    given = answers(model, np.hstack([further, batch.tokens]), changes)
    # A made-up model is hardly ever right, so its own answers are taken for the right ones.
    batch.answers[:] = given
    assert right_if_longer(model, task, batch, further, changes).all()
    batch.answers[::2] = (given[::2] + 1) % task.vocab_size
    assert right_if_longer(model, task, batch, further, changes).tolist() == [False, True] * 32


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES.keys())
def test_without_further_tokens_it_is_the_model_itself(tiny, changes) -> None:
    model, batch = tiny(LETTER, layers=3), LETTER.sample(20)
    batch.answers[:] = answers(model, batch.tokens, changes)
    assert right_if_longer(model, LETTER, batch, np.zeros((20, 0), np.int64), changes).all()


def test_a_token_is_lent_by_one_of_its_own_kind_and_by_any_if_there_is_none() -> None:
    window = np.array([[3, 5], [5, 7], [8, 8]])
    lent = _lenders(window, np.array([[5] * 40, [3] * 40, [9] * 40]), seed=0)
    assert set(lent[0]) == {1, 2}
    assert set(lent[1]) == {0}
    assert set(lent[2]) == {0, 1, 2, 3, 4, 5}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES.keys())
def test_no_forecast_ever_runs_an_input_longer_than_those_of_training(tiny, changes, monkeypatch) -> None:
    from whatwhere.model.gptj import GPTJ, Block

    seen: set[int] = set()
    check, block = GPTJ.check_tokens, Block.forward

    def checked(self, tokens):
        seen.add(tokens.shape[1])
        return check(self, tokens)

    def passed(self, x, *rest, **more):
        seen.add(x.shape[1])
        return block(self, x, *rest, **more)

    monkeypatch.setattr(GPTJ, "check_tokens", checked)
    monkeypatch.setattr(Block, "forward", passed)
    model = tiny(LETTER)
    rows = forecast(("letter", "x"), model, LETTER.sample(16), 60, changes, 0)
    assert len(rows) == 6
    assert seen == {17}
    answers(model, LETTER.sample(2, extra_target=3).tokens)
    assert seen == {17, 20}, "the watch itself sees longer inputs"
