from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.studies.chat.redaction import (
    check_arguments,
    check_kept,
    from_environment,
    is_secret,
    remove_keys,
    secrets,
    without,
)

KEY = "sk-very-secret-0123456789"
pytestmark = [  # of inspect-ai: an old name of tenacity's, and what its event loop leaves open
    pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "HF_TOKEN", "X-Api-Key", "authorization", "default_headers", "key", "accessKey", "api_keys",
     "DB_PASSWD", "GITHUB_PAT"],
)  # fmt: skip
def test_keys_are_known_by_their_names(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", ["max_tokens", "monkey", "keyboard", "model_path", "tokenizer", "PWD", "PATH"])
def test_other_names_hold_no_key(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize(
    "arguments",
    [
        {"api_key": "sk-1234"},
        {"token": "sk-1234"},
        {"AWS_SECRET": "sk-1234"},
        {"default_headers": {"X-Api-Key": "sk-1234"}},
        {"extra": {"Authorization": "Bearer sk-1234"}},
        {"extra": [{"x-api-key": "sk-1234"}]},
    ],
)
def test_a_key_as_an_argument_is_refused_and_not_repeated(arguments: dict[str, object]) -> None:
    with pytest.raises(WhatwhereError, match="expected model arguments without a key, because they are kept") as raised:
        check_arguments(arguments)
    assert "sk-1234" not in str(raised.value)


def test_a_key_of_the_environment_is_refused_under_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    assert KEY in secrets()
    with pytest.raises(WhatwhereError, match="expected model arguments without a key"):
        check_arguments({"greeting": f"hello {KEY}"})


def test_an_argument_may_name_a_variable_and_its_value_is_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_BOX", f"Bearer {KEY}")
    arguments = {"default_headers": {"Authorization": "$MY_BOX"}, "n": 3, "list": ["$MY_BOX"]}
    check_arguments(arguments)
    given = from_environment(arguments)
    assert given == {"default_headers": {"Authorization": f"Bearer {KEY}"}, "n": 3, "list": [f"Bearer {KEY}"]}
    assert KEY in secrets(given)


def test_what_an_argument_takes_from_the_environment_is_a_key_under_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAIN", KEY)
    assert KEY not in secrets()
    assert KEY in secrets({"default_query": {"k": "$PLAIN"}})


def test_a_password_in_an_address_of_the_environment_is_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://bob:{KEY}@127.0.0.1:1")
    monkeypatch.setenv("ODD", "http://[@")
    assert KEY in secrets()


def test_a_key_in_what_is_kept_is_refused_and_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    check_kept("openai/gpt", "http://127.0.0.1/v1")
    with pytest.raises(WhatwhereError, match="expected a model and an address without a key") as raised:
        check_kept("openai/gpt", f"http://127.0.0.1/{KEY}")
    assert KEY not in str(raised.value)


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(WhatwhereError, match=r"expected the environment variable NO_SUCH_VARIABLE, .*, got none"):
        from_environment({"a": "$NO_SUCH_VARIABLE"})


def test_longer_keys_are_struck_out_before_their_parts() -> None:
    assert without("x abcdefgh1 abcdefgh y", ["abcdefgh1", "abcdefgh"]) == "x [key] [key] y"


@pytest.mark.usefixtures("tidy")
@pytest.mark.slow
@pytest.mark.parametrize("form", ["eval", "json"])
def test_keys_in_the_arguments_of_logs_that_others_made_are_struck_out(
    tmp_path: Path, form: Literal["eval", "json"]
) -> None:
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.dataset import Sample
    from inspect_ai.log import read_eval_log
    from inspect_ai.model import get_model

    model = get_model("mockllm/model", default_headers={"X-Api-Key": KEY, "x": "short"}, temperature_scale=2)
    evaluate(Task(dataset=[Sample(input=f"I know {KEY}", target="x")]), model=model, log_dir=str(tmp_path / "de ep%20"),
             display="none", log_level="error", ctl_server=False, log_format=form)  # fmt: skip
    (path,) = (tmp_path / "de ep%20").glob(f"*.{form}")
    assert KEY in read_eval_log(str(path)).model_dump_json()
    assert remove_keys(tmp_path) == [path]
    log = read_eval_log(str(path))
    assert log.eval.model_args == {"default_headers": {"X-Api-Key": "[key]", "x": "[key]"}, "temperature_scale": 2}
    assert KEY not in log.model_dump_json()
    assert remove_keys(tmp_path) == []


def test_keys_are_struck_out_of_lists_of_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    (tmp_path / "logs.json").write_text(json.dumps({"error": f"bad {KEY}"}))
    assert remove_keys(tmp_path) == [tmp_path / "logs.json"]
    assert json.loads((tmp_path / "logs.json").read_text()) == {"error": "bad [key]"}
    assert remove_keys(tmp_path / "nothing") == []


def test_files_that_are_no_logs_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    mine, odd = tmp_path / "my-keys.json", tmp_path / "odd.json"
    mine.write_text(json.dumps({"mine": KEY}))
    odd.write_bytes(b"\xff")
    assert remove_keys(tmp_path) == []
    assert KEY in mine.read_text()


def test_a_damaged_log_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.eval").write_bytes(b"PK, but no archive")
    with pytest.raises(WhatwhereError, match=r"x\.eval cannot be read: .* Remove it, and run again"):
        remove_keys(tmp_path)
