from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.studies.chat import CHAT, one_hop, registry
from whatwhere.studies.chat.logs import Block
from whatwhere.studies.chat.plan import cost, make_plan, prompt_tokens
from whatwhere.studies.chat.tables import ChatSettings
from whatwhere.studies.results import Results

PERFECT = "reference/perfect"
KEY = "sk-very-secret-0123456789"


def estimated(model: str | Path, settings: ChatSettings) -> tuple[str, dict[str, float], bool]:
    found = cost(model, settings, Results(CHAT, settings, str(model)))
    return found.text, dict(found.numbers), found.paid


def test_the_full_table_of_three_models_is_66000_calls() -> None:
    assert 3 * len(make_plan(PERFECT, ChatSettings()).blocks) * ChatSettings().examples == 66_000
    assert estimated(PERFECT, ChatSettings(quick=True))[1]["calls"] == 240


def test_blocks_are_every_combination_once_and_whole_runs_come_first() -> None:
    blocks = make_plan(PERFECT, ChatSettings(sizes=(12, 16), runs=(1, 2))).blocks
    assert len(set(blocks)) == len(blocks) == 8
    assert [block.run for block in blocks] == [1] * 4 + [2] * 4


def test_several_hops_are_asked_only_where_the_window_has_room_for_them() -> None:
    tasks = "one_hop_letter,multi_hop_letter"
    plan = make_plan(PERFECT, ChatSettings(tasks=tasks, sizes=(12, 16), runs=(1,)))
    assert [(block.task, block.size) for block in plan.blocks] == [
        ("one_hop_letter", 12), ("one_hop_letter", 16), ("multi_hop_letter", 16),
    ]  # fmt: skip
    with pytest.raises(WhatwhereError, match="expected a size of 16 or more for multi_hop_letter, got 12"):
        make_plan(PERFECT, ChatSettings(tasks="multi_hop_letter", sizes=(12,)))


def test_a_model_of_ours_is_asked_its_own_task() -> None:
    assert make_plan("whatwhere/number", ChatSettings()).tasks == ("multi_hop_number",)


def test_screening_needs_one_run_of_the_base_size_and_the_shortest_long_one() -> None:
    assert set(make_plan(PERFECT, ChatSettings()).screening) == {
        Block("one_hop_letter", 16, 1), Block("one_hop_letter", 100, 1), Block("one_hop_number", 100, 1),
    }  # fmt: skip


def test_replies_of_other_settings_have_another_folder_but_more_sizes_the_same() -> None:
    settings = ChatSettings()
    folder = make_plan(PERFECT, settings).folder
    assert (
        make_plan(PERFECT, replace(settings, sizes=(12,), runs=(7,), tasks="one_hop_letter", timeout=1)).folder
        == folder
    )
    for change in ({"examples": 3}, {"max_tokens": 8}, {"temperature": 1.0}, {"model_args": "noise=1"},
                   {"reasoning": "low"}, {"base_url": "http://localhost:1/v1"}):  # fmt: skip
        assert make_plan(PERFECT, replace(settings, **change)).folder != folder  # pyright: ignore[reportArgumentType]
    assert make_plan("reference/guess", settings).folder != folder


def test_the_cost_is_calls_tokens_and_dollars_and_needs_no_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (one_hop, registry):  # sequences of this size would take minutes
        for maker in ("one_hop_examples", "multi_hop_examples"):
            monkeypatch.setattr(module, maker, lambda *_: pytest.fail("a sequence was made"))
    settings = ChatSettings(sizes=(12, 10_000), runs=(1,), examples=100_000, input_price=2.0, output_price=10.0)
    text, numbers, paid = estimated("openai/gpt-5.4", settings)
    assert paid
    assert numbers["calls"] == 400_000
    blocks = make_plan("openai/gpt-5.4", settings).blocks
    assert numbers["input_tokens"] == 100_000 * sum(prompt_tokens(block) for block in blocks)
    assert numbers["dollars"] == pytest.approx((2 * numbers["input_tokens"] + 10 * numbers["output_tokens"]) / 1e6)
    assert "400,000 calls" in text
    assert f"${numbers['dollars']:,.2f}" in text


def test_the_cost_says_what_to_add_and_when_reasoning_is_on() -> None:
    text, *_ = estimated("openai/gpt-5.4", ChatSettings(reasoning="low"))
    assert "--input-price and --output-price" in text
    assert "reasoning effort low: the paper measured with reasoning off" in text
    assert "price" not in estimated(PERFECT, ChatSettings())[0]


@pytest.mark.parametrize("subject", ["paper", Path("some/logs")])
def test_what_is_only_read_costs_nothing(subject: str | Path) -> None:
    text, numbers, paid = estimated(subject, ChatSettings())
    assert "nothing is asked" in text
    assert (numbers, paid) == ({"calls": 0}, False)


def test_longer_windows_cost_more_tokens() -> None:
    number, letter = (prompt_tokens(Block(f"one_hop_{task}", 300, 1)) for task in ("number", "letter"))
    assert number - prompt_tokens(Block("one_hop_number", 1, 1)) == 299
    assert letter - prompt_tokens(Block("one_hop_letter", 1, 1)) == 2 * 299  # a letter and a digit each


@pytest.mark.parametrize(
    "text",
    ["""x=1 y=z flag=false headers={"a":[1]} empty=""",
     """ {"x": 1, "y": "z", "flag": false, "headers": {"a": [1]}, "empty": ""}"""],
)  # fmt: skip
def test_model_arguments_are_words_or_one_json_object(text: str) -> None:
    arguments = make_plan(PERFECT, ChatSettings(model_args=text)).arguments
    assert arguments == {"x": 1, "y": "z", "flag": False, "headers": {"a": [1]}, "empty": ""}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("noise", "expected model arguments as KEY=VALUE, such as noise=0.1, got 'noise'"),
        ("=3", "expected model arguments as KEY=VALUE, such as noise=0.1, got '=3'"),
        ("{'a': 1}", "expected model arguments as KEY=VALUE words or one JSON object, got broken JSON"),
    ],
)
def test_what_is_no_model_argument_is_refused(text: str, message: str) -> None:
    with pytest.raises(WhatwhereError, match=message):
        make_plan(PERFECT, ChatSettings(model_args=text))


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        (f"openai-api/local/{KEY}", {}),
        ("openai-api/local/x", {"base_url": f"http://127.0.0.1/{KEY}/v1"}),
        ("openai-api/local/x", {"model_args": f"api_key={KEY}"}),
        ("openai-api/local/x", {"model_args": f"greeting={KEY}"}),
        ("openai-api/local/x", {"model_args": KEY}),
    ],
)
def test_a_plan_holds_no_key_since_it_is_kept(
    model: str, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_API_KEY", KEY)
    with pytest.raises(WhatwhereError, match="expected ") as raised:
        make_plan(model, ChatSettings(**changes))
    assert KEY not in str(raised.value)


def test_a_provider_that_nobody_knows_is_not_priced() -> None:
    with pytest.raises(WhatwhereError, match=r"expected a provider that inspect-ai knows \(anthropic, .*got 'nosuch'"):
        estimated("nosuch/model", ChatSettings())
