from __future__ import annotations

import sys
from pathlib import Path

import pytest

from whatwhere.errors import MissingExtraError, WhatwhereError
from whatwhere.studies.chat.providers import CHAT_MODEL, Provider


@pytest.mark.parametrize(
    ("model", "url", "paid"),
    [
        ("openai/gpt-5.4", None, True),
        ("anthropic/claude", None, True),
        ("openai/gpt-5.4", "http://127.0.0.1:1/v1", False),
        ("openai-api/local/x", "http://localhost:8080/v1", False),
        ("openai-api/local/x", "http://[::1]:8080/v1", False),
        ("openai-api/local/x", "https://models.example/v1", True),
        ("openai-api/local/x", "http://127.0.0.1.evil.example/v1", True),
        ("hf/some/model", None, False),
        ("ollama/x", None, False),
        ("vllm/x", None, False),
        ("whatwhere/letter", None, False),
        ("reference/perfect", None, False),
        ("unheard-of/x", None, True),
    ],
)
def test_calls_cost_money_unless_the_model_is_known_to_run_here(model: str, url: str | None, paid: bool) -> None:
    assert Provider(model, url).paid is paid


def test_the_address_of_a_compatible_service_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Provider("openai-api/my-box/x").paid
    monkeypatch.setenv("MY_BOX_BASE_URL", "http://127.0.0.1:9/v1")
    assert not Provider("openai-api/my-box/x").paid


def test_reasoning_is_switched_off_where_inspect_can_and_as_chosen() -> None:
    assert Provider("openai/gpt-5.4").effort(None) == "none"
    assert Provider("anthropic/x").effort(None) == "none"
    assert Provider("hf/x").effort(None) is None
    assert Provider("openai/x").effort("default") is None
    assert Provider("hf/x").effort("low") == "low"


@pytest.mark.parametrize("name", ["gpt-5.4", "", "/x", "openai/"])
def test_a_name_without_a_provider_is_refused(name: str) -> None:
    with pytest.raises(WhatwhereError, match=r"expected a model as PROVIDER/NAME, such as openai/gpt-5\.4"):
        CHAT_MODEL.open(name)


def test_a_subject_is_a_name_or_the_paper_and_nothing_is_asked_yet() -> None:
    opened = CHAT_MODEL.open("hf/some/model:v1")
    assert (opened.item, opened.inputs) == ("hf/some/model:v1", {"model": "hf/some/model:v1"})
    assert opened.home == Path("chat-hf-some-model-v1")
    assert CHAT_MODEL.open(None).item == CHAT_MODEL.open("paper").item == "paper"


def test_a_model_of_ours_is_known_by_its_weights() -> None:
    number, letter = (CHAT_MODEL.open(f"whatwhere/{name}").inputs["weights"] for name in ("number", "letter"))
    assert number != letter
    with pytest.raises(WhatwhereError):
        CHAT_MODEL.open("whatwhere/no-such-run")


def test_a_step_is_refused_with_the_way_to_choose_one() -> None:
    with pytest.raises(WhatwhereError, match="expected no step for a chat model, got 3; use --model-args step=3"):
        CHAT_MODEL.open("whatwhere/letter", 3)


def test_a_key_as_an_argument_is_refused() -> None:
    with pytest.raises(WhatwhereError, match="expected model arguments without a key"):
        Provider("reference/perfect").open({"api_key": "sk-1234"})


def test_a_variable_is_used_by_its_value_and_kept_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_NOISE", "much")
    with pytest.raises(WhatwhereError, match="expected a noise of 0 or more, got 'much'"):
        Provider("reference/counter").open({"noise": "$SOME_NOISE"})
    model = Provider("mockllm/model").open({"default_headers": {"X-Api-Key": "$SOME_NOISE"}})
    assert model.model_args == {"default_headers": {"X-Api-Key": "$SOME_NOISE"}}


@pytest.mark.slow
@pytest.mark.parametrize("url", ["http://bob:password@127.0.0.1:1/v1", "http://127.0.0.1:1/v1?code=password"])
def test_an_address_of_the_environment_with_a_key_is_refused_like_any_other(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_BASE_URL", url)
    with pytest.raises(WhatwhereError, match="expected a base URL without a user, a password or a query") as raised:
        Provider("openai-api/local/test").open({})
    assert "bob" not in str(raised.value)


@pytest.mark.slow
def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(WhatwhereError, match=r"openai/gpt-5\.4 cannot be asked: .*OPENAI_API_KEY"):
        Provider("openai/gpt-5.4").open({})


def test_a_provider_that_does_not_exist_is_named() -> None:
    with pytest.raises(WhatwhereError, match="nonsense/x cannot be asked"):
        Provider("nonsense/x").open({})


def test_without_the_extra_its_installation_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai.model", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'whatwhere\[llm\]'"):
        Provider("reference/perfect").open({})
