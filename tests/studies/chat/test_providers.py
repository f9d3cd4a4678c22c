from __future__ import annotations

import sys

import pytest

from whatwhere.errors import MissingExtraError, WhatwhereError
from whatwhere.studies.chat.providers import Provider, secrets, without


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


def test_reasoning_is_switched_off_where_inspect_can() -> None:
    assert Provider("openai/gpt-5.4").reasoning == "none"
    assert Provider("anthropic/x").reasoning == "none"
    assert Provider("hf/x").reasoning is None


@pytest.mark.parametrize(
    ("model", "url", "message"),
    [
        ("gpt-5.4", None, "a model is named PROVIDER/NAME"),
        ("openai/x", "127.0.0.1:80", "a base URL such as http://127.0.0.1:8080/v1 was expected"),
        ("openai/x", "https://me:secret@host/v1", "carries a user, a password or a query"),
        ("openai/x", "https://host/v1?key=secret", "carries a user, a password or a query"),
    ],
)
def test_names_and_addresses_are_checked_and_no_secret_is_repeated(model: str, url: str | None, message: str) -> None:
    with pytest.raises(WhatwhereError, match=message) as raised:
        Provider(model, url)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("argument", ["api_key", "token", "AWS_SECRET", "password", "key"])
def test_a_key_as_an_argument_is_refused(argument: str) -> None:
    with pytest.raises(WhatwhereError, match="looks like a key, and arguments are kept with the results") as raised:
        Provider("reference/perfect").open({argument: "sk-1234"})
    assert "sk-1234" not in str(raised.value)


def test_a_key_of_the_environment_is_refused_under_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-12345678")
    assert "sk-12345678" in secrets()
    with pytest.raises(WhatwhereError, match="'header' looks like a key"):
        Provider("reference/perfect").open({"header": "sk-12345678"})


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


def test_longer_keys_are_struck_out_before_their_parts() -> None:
    assert without("x abcdefgh1 abcdefgh y", ["abcdefgh1", "abcdefgh"]) == "x [key] [key] y"
