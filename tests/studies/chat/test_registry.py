from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from inspect_ai.model import ChatMessageAssistant, ContentReasoning, ContentText, ModelOutput, ModelUsage
from inspect_ai.scorer import Score, Target

from whatwhere.studies.chat.one_hop import asked_sequence, one_hop_examples, prompt, solve
from whatwhere.studies.chat.registry import TASKS, VERSION, reading


def scored(output: ModelOutput, answer: str = "k7") -> Score:
    score = reading("one_hop_letter", 32)
    made = asyncio.run(score(SimpleNamespace(output=output), Target(answer)))  # pyright: ignore[reportArgumentType]
    assert made is not None
    return made


def output(text: str, stop: str = "stop", tokens: int = 2, thought: int | None = 0) -> ModelOutput:
    made = ModelOutput.from_content("m", text, stop_reason=stop)  # pyright: ignore[reportArgumentType]
    made.usage = ModelUsage(input_tokens=9, output_tokens=tokens, total_tokens=9 + tokens, reasoning_tokens=thought)
    return made


def value(score: Score) -> dict[str, Any]:
    assert isinstance(score.value, dict)
    return dict(score.value)


@pytest.mark.parametrize("name", TASKS)
def test_a_task_holds_prompts_answers_distances_and_its_version(name: str) -> None:
    made = TASKS[name](size=20, seed=2, examples=8)
    assert made.version == VERSION
    assert len(made.dataset) == 8
    for sample in made.dataset:
        assert isinstance(sample.input, str)
        sequence = asked_sequence(sample.input)
        assert sample.input == prompt(name, sequence)
        assert len(sequence.split()) == 21
        assert solve(sequence) == sample.target
        assert sequence.split()[20 - (sample.metadata or {})["distance"]] == sample.target
    assert made.metadata is not None
    assert {"size": 20, "seed": 2, "examples": 8}.items() <= made.metadata.items()


def test_the_default_task_is_the_papers() -> None:
    made = TASKS["one_hop_letter"]()
    first = one_hop_examples("letter", 16, 1)[0]
    assert len(made.dataset) == 200
    assert (made.dataset[0].input, made.dataset[0].target) == (
        prompt("one_hop_letter", first.sequence),
        first.answer,
    )


def test_both_readings_and_the_cost_are_recorded() -> None:
    score = scored(output("The answer is k7.", tokens=6, thought=0))
    assert value(score) == {"strict": False, "lenient": True, "no_answer": True}
    assert score.answer == "k7"
    assert score.explanation == "The answer is k7."
    assert score.metadata == {
        "strict": "no answer", "lenient": "right", "single_token": False, "stop_reason": "stop", "input_tokens": 9,
        "output_tokens": 6, "reasoning_tokens": 0, "reasoned": False,
    }  # fmt: skip


def test_a_wrong_answer_is_not_no_answer() -> None:
    assert value(scored(output("k8"))) == {"strict": False, "lenient": False, "no_answer": False}


@pytest.mark.parametrize("stop", ["max_tokens", "model_length", "content_filter"])
def test_what_was_cut_off_is_no_answer(stop: str) -> None:
    assert value(scored(output("k7", stop=stop)))["no_answer"]


def test_a_long_reply_that_fills_its_room_counts_as_cut_off_even_if_the_provider_is_silent() -> None:
    assert not value(scored(output("well, the answer is k7", tokens=32)))["lenient"]
    assert value(scored(output("k7", tokens=32)))["strict"]  # a batch is as long as its longest reply


def test_reasoning_is_flagged_by_its_tokens_or_by_its_text() -> None:
    counted = scored(output("k7", thought=40)).metadata or {}
    assert (counted["reasoned"], counted["reasoning_tokens"]) == (True, 40)
    shown = output("k7", thought=None)
    shown.choices[0].message = ChatMessageAssistant(content=[ContentReasoning(reasoning="hm"), ContentText(text="k7")])
    notes = scored(shown).metadata or {}
    assert (notes["reasoned"], notes["reasoning_tokens"], notes["strict"]) == (True, None, "right")


def test_a_provider_that_reports_no_usage_leaves_it_open() -> None:
    made = output("k7")
    made.usage = None
    assert (scored(made).metadata or {})["output_tokens"] is None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning")  # inspect-ai and tenacity
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.usefixtures("tidy")
def test_inspect_finds_the_tasks_and_our_models_by_name(tmp_path: Path) -> None:
    from inspect_ai import eval as evaluate

    for name, model in (("one_hop_letter", "reference/perfect"), ("multi_hop_letter", "whatwhere/letter")):
        (log,) = evaluate(
            f"whatwhere/{name}", model=model, task_args={"size": 32, "seed": 1, "examples": 6}, display="none",
            log_dir=str(tmp_path), log_level="error", ctl_server=False,
        )  # fmt: skip
        assert log.status == "success", log.error
        assert log.results is not None
        assert {score.name: score.metrics["mean"].value for score in log.results.scores} == {
            "strict": 1.0, "lenient": 1.0, "no_answer": 0.0,
        }  # fmt: skip
