from __future__ import annotations

import asyncio
import gzip
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile, is_zipfile

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.studies.chat.echoes import clean_replies, cleaned, recorder_without_keys, without_keys
from whatwhere.studies.chat.redaction import secrets

if TYPE_CHECKING:
    from conftest import FaultServer  # pyright: ignore[reportAttributeAccessIssue]

KEY = "sk-very-secret-0123456789"
PLAIN = 'a "quoted" välue\\of-one-word'.replace(" ", "_")


def texts_below(directory: Path) -> list[tuple[Path, str]]:
    """What every file holds, archives opened."""
    import inspect_ai.log  # noqa: F401 (teaches zipfile the compression of its logs)

    found = list[tuple[Path, str]]()
    for path in sorted(one for one in directory.rglob("*") if one.is_file()):
        raw = [path.read_bytes()]
        if is_zipfile(path):
            with ZipFile(path) as archive:
                raw += [archive.read(name) for name in archive.namelist()]
        elif path.suffix == ".gz":
            raw.append(gzip.decompress(raw[0]))
        found += [(path, one.decode("utf-8", errors="replace")) for one in raw]
    return found


def holding(directory: Path, *keys: str) -> list[Path]:
    """Files with a key or half of one, in any spelling, with the codes of colours and line ends taken out."""
    halves = [half for key in keys for half in (key[: len(key) // 2 + 2], key[len(key) // 2 - 2 :])]
    spelled = {spelling for half in halves for spelling in (half, json.dumps(half)[1:-1], repr(half)[1:-1])}
    codes = re.compile(r"\\u001b\[[0-9;]*m|\\n|[\s│]")
    return [path for path, text in texts_below(directory) if any(one in codes.sub("", text) for one in spelled)]


@pytest.mark.slow
@pytest.mark.parametrize("replies", [6, 24])
def test_no_file_holds_a_key_that_the_server_echoes_whenever_the_process_is_killed(
    tmp_path: Path, server: FaultServer, replies: int
) -> None:
    Reply = type(server.behaviour("", 0))
    echo = f"{'x' * 70} your keys are {KEY} and {PLAIN} {KEY}"
    faults = [
        Reply(text=echo),
        Reply(text="y" * 1010 + KEY),  # summaries are cut at 1,024 characters
        Reply(text=json.dumps({"key": KEY, "other": PLAIN})),
        Reply(headers={"x-request-id": KEY, "request-id": KEY, "Retry-After": KEY}),
        Reply(status=500, body=json.dumps({"error": {"message": echo}})),
        Reply(status=429, body=echo, headers={"Retry-After": "0", "x-request-id": KEY}),
        Reply(status=401, body=json.dumps({"error": {"message": echo, "code": KEY}})),
        Reply(status=400, body=echo),
        Reply(body=f'{{"{KEY}": '),
        Reply(body=json.dumps({"error": echo, "choices": None})),
    ]

    def behaviour(_: str, before: int) -> Any:
        reply = faults[len(server.asked) % len(faults)]
        return reply if before == 0 or reply.status in (400, 401) else Reply(text=echo)

    server.behaviour = behaviour
    headers = {"default_headers": {"X-Api-Key": "$MY_BOX"}, "default_query": {"k": "$PLAIN"}}
    script = (
        "from whatwhere.studies.measuring import study\n"
        f"study('chat', 'openai-api/local/test', out={str(tmp_path / 'out')!r}, base_url={server.url!r},"
        f" sizes=(12, 16), runs=(1,), examples=20, connections=4, max_retries=1, model_args={json.dumps(headers)!r})\n"
    )
    environment = {**os.environ, "LOCAL_API_KEY": KEY, "MY_BOX": f"Bearer {KEY}", "PLAIN": PLAIN}
    with (tmp_path / "printed").open("wb") as printed:
        killed = subprocess.Popen(
            [sys.executable, "-c", script], env={**environment, "TMPDIR": str(tmp_path)}, stdout=printed, stderr=printed
        )
    while len(server.replied) < replies:
        assert killed.poll() is None, (tmp_path / "printed").read_text()
        time.sleep(0.005)
    time.sleep(0.2)  # until replies are in their logs
    killed.kill()
    killed.wait()
    assert server.authorizations == {f"Bearer {KEY}"}
    assert list((tmp_path / "out").rglob("*.eval"))
    assert any("[key]" in text for _, text in texts_below(tmp_path / "out"))
    assert holding(tmp_path, KEY, PLAIN) == []


class Stubborn(Exception):
    """Shows its key whatever its fields are."""

    def __str__(self) -> str:
        return f"no {KEY}"


def test_an_error_stays_the_same_one_and_loses_its_keys_with_those_it_came_from() -> None:
    cause = ValueError(f"bad {KEY}")
    error = KeyError(f"worse {KEY}", 3)
    error.body, error.message = {"m": [KEY]}, KEY  # pyright: ignore[reportAttributeAccessIssue]
    error.__cause__ = cause
    error.__context__ = ExceptionGroup("g", [TypeError(KEY)])
    assert without_keys(error, [KEY]) is error
    assert (error.args, cause.args) == (("worse [key]", 3), ("bad [key]",))
    assert vars(error) == {"body": {"m": ["[key]"]}, "message": "[key]"}
    assert str(error.__context__.exceptions[0]) == "[key]"
    plain = ValueError("nothing")
    assert without_keys(plain, [KEY]) is plain


def test_an_error_that_cannot_be_changed_is_replaced() -> None:
    made = without_keys(Stubborn(), [KEY])
    assert type(made) is RuntimeError
    assert str(made) == "no [key]"


class Api:
    """A provider that returns or raises what it is told."""

    def __init__(self, result: Any) -> None:
        self.result = result

    async def generate(self, **_: Any) -> Any:
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


def reply(result: Any) -> Any:
    """What a model with such a provider gives once its replies are cleaned."""
    model: Any = SimpleNamespace(api=Api(result))
    clean_replies(model, [KEY])
    return asyncio.run(model.api.generate(input=[], tools=[], tool_choice="auto", config=None))


def test_replies_calls_and_errors_of_a_provider_lose_their_keys() -> None:
    from inspect_ai.model import ModelCall, ModelOutput

    output = ModelOutput.from_content("m", f"it is {KEY}")
    assert reply(output).completion == "it is [key]"
    clean = ModelOutput.from_content("m", "a1")
    assert reply(clean) is clean
    call = ModelCall.create({"header": KEY}, {"body": [KEY]})
    made, same = reply((output, call))
    assert (made.completion, same) == ("it is [key]", call)
    assert (call.request, call.response) == ({"header": "[key]"}, {"body": ["[key]"]})
    failed, _ = reply((ValueError(KEY), call))
    assert str(failed) == "[key]"
    with pytest.raises(ValueError, match=r"^\[key\]$"):
        reply(ValueError(KEY))
    with pytest.raises(RuntimeError, match=r"^no \[key\]$") as raised:
        reply(Stubborn())
    assert raised.value.__suppress_context__  # the original is not shown with it


def test_keys_are_removed_from_names_and_values_at_any_depth() -> None:
    assert cleaned({KEY: [{"a": f"x{KEY}"}, 3, None]}, [KEY]) == {"[key]": [{"a": "x[key]"}, 3, None]}


def test_the_recorder_writes_plain_tracebacks_without_keys_and_is_put_back() -> None:
    from inspect_ai.log._recorders import eval as found

    recorder: Any = found
    before = recorder.to_json_safe
    error = {"message": KEY, "traceback": f"at {KEY}", "traceback_ansi": f"at {KEY[:9]}\x1b[1m{KEY[9:]}"}
    with recorder_without_keys([KEY]):
        written = recorder.to_json_safe([{"error": error}], indent=None)
    assert json.loads(written) == [
        {"error": {"message": "[key]", "traceback": "at [key]", "traceback_ansi": "at [key]"}}
    ]
    assert recorder.to_json_safe is before


def test_an_inspect_ai_that_writes_logs_in_another_way_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from inspect_ai.log._recorders import eval as recorder

    monkeypatch.delattr(recorder, "to_json_safe")
    with (
        pytest.raises(WhatwhereError, match=r"expected an inspect-ai whose logs can be kept free of keys, got version"),
        recorder_without_keys([KEY]),
    ):
        pass


def test_a_key_is_known_in_each_of_its_spellings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", PLAIN)
    known = secrets()
    body = json.dumps({"key": PLAIN})
    for text in (PLAIN, body, json.dumps(body), repr({"k": PLAIN}), json.dumps(PLAIN, ensure_ascii=False)):
        assert any(key in text for key in known)
    assert "a_%22quoted%22_v%C3%A4lue%5Cof-one-word" in known
