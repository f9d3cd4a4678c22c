from __future__ import annotations

from math import nan

import pytest

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.chat import CHAT
from whatwhere.studies.chat.claims import CLAIMS
from whatwhere.studies.chat.tables import Cell, ChatSettings
from whatwhere.studies.claim import Claim, Finding
from whatwhere.studies.evidence import Evidence, NotTested
from whatwhere.studies.results import Results

SIZES = (12, 32, 100)
LETTER, NUMBER = (0.96, 0.99, 0.85), (0.98, 0.45, 0.08)
"""GPT 5.4 of the paper's table."""
ABOVE, FALLS, STAYS = CLAIMS


def evidence(
    letter: tuple[float, ...] = LETTER, number: tuple[float, ...] = NUMBER, model: str = "openai/x"
) -> Evidence:
    results = Results(CHAT, ChatSettings(), model)
    cells = [
        Cell(model, f"one_hop_{task}", size, 5, 1000, Estimate(value, value, value, 1000), 0.01, value, 0, 0, nan, 0, 0)
        for task, values in (("letter", letter), ("number", number))
        for size, value in zip(SIZES, values, strict=False)
    ]
    several = Cell(model, "multi_hop_number", 32, 5, 9, Estimate(1, 1, 1, 9), 0.0, 1, 0, 0, nan, 0, nan)
    results.write("cells", [*cells, several])
    return Evidence.of(results)


def met(claim: Claim, given: Evidence) -> bool:
    return claim.met(claim.measure(given).value)


def not_tested(claim: int, given: Evidence) -> str:
    with pytest.raises(NotTested) as raised:
        CLAIMS[claim].measure(given)
    return str(raised.value)


def test_one_size_at_which_numbers_win_is_not_consistently() -> None:
    found = ABOVE.measure(evidence())
    assert isinstance(found, Finding)
    assert (ABOVE.met(found.value), found.inputs) == (False, 1000)
    assert found.value == pytest.approx(2 / 3)
    assert "Not so: openai/x at 12." in found.why
    assert met(ABOVE, evidence(number=(0.9, 0.4, 0.0)))


def test_limits_are_kept_or_not() -> None:
    assert FALLS.measure(evidence()).value == pytest.approx(0.02)
    assert met(FALLS, evidence())
    assert met(STAYS, evidence())
    assert not met(STAYS, evidence(letter=(0.92, 0.88, 0.86))), "reached is not above"
    assert not met(FALLS, evidence(number=(0.9, 0.5, 0.0)))


@pytest.mark.parametrize("model", ["reference/x", "whatwhere/letter", "mockllm/model"])
def test_solvers_and_our_own_models_are_no_chat_models_and_the_papers_numbers_are_told(model: str) -> None:
    why = not_tested(0, evidence(model=model))
    assert why.startswith("no chat model was measured here. The paper's own numbers: Letter above number in 29 of 30")
    assert "Not so: GPT 5.4 at 12." in why
    assert "Claude Sonnet 3.7 0.88" in not_tested(2, evidence(model=model))


def test_without_results_the_papers_own_numbers_are_told() -> None:
    def nothing(study: str, model: str | None) -> Results:
        raise NotTested(f"no {study} {model}", missing=True)

    assert "letter at size 32: GPT 5.4 0.99" in not_tested(2, Evidence(nothing))


def test_one_task_or_other_sizes_are_not_judged() -> None:
    assert not_tested(0, evidence(letter=())) == "no model was measured on both tasks at one size."
    assert not_tested(1, evidence(number=(0.9,))) == "no model was measured on the number task at size 32."


def test_as_good_on_both_tasks_is_not_above() -> None:
    assert ABOVE.measure(evidence(letter=(0.9, 0.9, 0.9), number=(0.9, 0.8, 0.7))).value == pytest.approx(2 / 3)


def test_limits_are_told_by_model_and_judged_by_the_worst_and_the_fewest_replies() -> None:
    found = FALLS.measure(evidence())
    assert (found.value, found.interval, found.inputs) == (pytest.approx(0.02), None, 1000)
    assert found.why == "number at size 32: openai/x 0.45; number at size 100: openai/x 0.08."
    found = STAYS.measure(evidence())
    assert found.why == "letter at size 32: openai/x 0.99; letter at size 100: openai/x 0.85."
    assert found.value == pytest.approx(min(0.99 - 0.88, 0.85 - 0.65))
    found = ABOVE.measure(evidence(number=(0.9, 0.4, 0.0)))
    assert found.why == "Letter above number in 3 of 3 models and sizes."
