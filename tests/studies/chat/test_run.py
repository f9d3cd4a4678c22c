from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.studies.chat.extraction import Verdict
from whatwhere.studies.chat.logs import Answer, read_logs
from whatwhere.studies.chat.one_hop import one_hop_examples, solve
from whatwhere.studies.chat.plan import Plan
from whatwhere.studies.chat.providers import Provider
from whatwhere.studies.chat.run import answered, model_directory, run_plan

if TYPE_CHECKING:
    from conftest import FaultServer

pytestmark = [  # of inspect-ai: an old name of tenacity's, and what its event loop leaves open
    pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.usefixtures("tidy"),
]


@pytest.fixture
def Reply(server: FaultServer) -> type:
    return type(server.behaviour("", 0))


def plan_for(server: FaultServer, **changes: object) -> Plan:
    settings = {"tasks": ("one_hop_letter",), "sizes": (12,), "runs": (1,), "examples": 12, **changes}
    return Plan(provider=Provider("openai-api/local/test", server.url), **settings)  # pyright: ignore[reportArgumentType]


def rows(directory: Path) -> list[Answer]:
    return [answer for logged in read_logs([directory]) for answer in sorted(logged.answers, key=lambda a: a.number)]


@pytest.mark.slow
def test_faults_of_the_server_lose_nothing_and_no_wrong_answer_counts_as_right(
    tmp_path: Path, server: FaultServer, Reply: type
) -> None:
    sequences = [example.sequence for example in one_hop_examples("letter", 12, 1, 14)]
    passing = [  # faults that pass: the question is asked again, and answered
        Reply(status=429, headers={"Retry-After": "1"}, body='{"error": {"message": "slow down"}}'),
        Reply(status=500, body="oops"),
        Reply(status=503, body='{"error": {"message": "overloaded"}}'),
        Reply(drop=True),
        Reply(delay=14.0),
        Reply(body='{"id": "x", "choices": [{"ind'),
        Reply(body="<html>bad gateway</html>", headers={"Content-Type": "text/html"}),
    ]
    lasting = [  # replies that arrive as they are
        Reply(text=""),
        Reply(text=solve(sequences[8]), finish="length"),
        Reply(text="I cannot help with that.", finish="content_filter"),
        Reply(text="I'm sorry, I can't do this."),
        Reply(text=f"{solve(sequences[11])}\n\nExplanation: it is the only token that begins so."),
        Reply(text="z0"),
        Reply(text="a1" if solve(sequences[13]) != "a1" else "b1"),
    ]
    faults = dict(zip(sequences, [*passing, *lasting], strict=True))
    server.behaviour = lambda sequence, before: (
        faults[sequence] if before == 0 or faults[sequence] in lasting else Reply()
    )
    outcome = run_plan(plan_for(server, examples=14), tmp_path, connections=14, timeout=10)
    assert outcome.complete, outcome
    right, wrong, none = Verdict.RIGHT, Verdict.WRONG, Verdict.NO_ANSWER
    read = [(answer.strict, answer.lenient) for answer in rows(tmp_path)]
    assert read[:7] == [(right, right)] * 7
    assert read[7:] == [(none, none)] * 4 + [(none, right), (none, none), (wrong, wrong)]
    counts = [sum(asked == sequence for _, asked in server.asked) for sequence in sequences]
    assert all(count in (2, 3) for count in counts[:7])  # again after a fault (a third time if this machine is slow)
    assert counts[7:] == [1] * 7  # never after a reply
    first, again, *_ = (at for at, asked in server.asked if asked == sequences[0])
    assert again - first >= 1.0  # as Retry-After says


@pytest.mark.slow
def test_a_question_that_fails_for_good_is_asked_again_by_the_next_call_and_it_alone(
    tmp_path: Path, server: FaultServer, Reply: type
) -> None:
    bad = one_hop_examples("letter", 12, 1, 12)[4].sequence
    server.behaviour = lambda sequence, _: Reply(status=400, body="no") if sequence == bad else Reply()
    outcome = run_plan(plan_for(server), tmp_path, connections=12)
    assert (outcome.wanted, outcome.answered, outcome.complete) == (12, 11, False)
    assert "400" in (outcome.error or "")
    asked = len(server.asked)
    server.behaviour = lambda _, __: Reply()
    assert run_plan(plan_for(server), tmp_path).complete
    assert [sequence for _, sequence in server.asked[asked:]] == [bad]
    assert run_plan(plan_for(server), tmp_path).complete
    assert len(server.asked) == asked + 1


@pytest.mark.slow
def test_after_kill_nothing_that_was_answered_is_asked_again(tmp_path: Path, server: FaultServer, Reply: type) -> None:
    server.behaviour = lambda _, __: Reply(delay=0.1)
    plan = plan_for(server, tasks=("one_hop_letter", "one_hop_number"), sizes=(12, 16), examples=20)
    script = (
        "from pathlib import Path\nfrom whatwhere.studies.chat.plan import Plan\nfrom whatwhere.studies.chat.providers import Provider\n"
        "from whatwhere.studies.chat.run import run_plan\n"
        f"plan = Plan(provider=Provider('openai-api/local/test', {server.url!r}), sizes=(12, 16), runs=(1,),"
        " examples=20, tasks=('one_hop_letter', 'one_hop_number'))\n"
        f"print(run_plan(plan, Path({str(tmp_path / 'out')!r}), connections=4).answered)"
    )
    command = [sys.executable, "-c", script]
    killed = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while len(server.replied) < 40:
        assert killed.poll() is None
        time.sleep(0.01)
    killed.kill()
    killed.wait()
    time.sleep(0.3)  # requests under way arrive at nobody
    before = len(server.asked)
    kept = sum(answered(tmp_path / "out").values())
    assert kept >= 20
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path / "another-home")}  # the directory alone is enough
    again = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert again.stdout == "80\n", again.stderr
    asked = [sequence for _, sequence in server.asked]
    repeated = len(asked) - len(set(asked))
    assert len(set(asked)) == 80
    assert repeated <= before - kept  # what is on disk is never asked again
    assert repeated <= 2 * 4  # two tasks at a time share four connections; their replies may be on their way to disk
    assert run_plan(plan, tmp_path / "out").complete
    assert len(server.asked) == len(asked)


@pytest.mark.slow
def test_keys_appear_nowhere_even_if_the_server_echoes_them(
    tmp_path: Path, server: FaultServer, Reply: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    from inspect_ai.log import list_eval_logs, read_eval_log

    key = "sk-very-secret-0123456789"
    monkeypatch.setenv("LOCAL_API_KEY", key)
    sequences = [example.sequence for example in one_hop_examples("letter", 12, 1, 3)]
    faults = {
        sequences[0]: Reply(text=f"your key is {key}"),
        sequences[1]: Reply(status=401, body=json.dumps({"error": {"message": f"bad key {key}"}})),
    }
    server.behaviour = lambda sequence, _: faults.get(sequence, Reply())
    outcome = run_plan(plan_for(server, examples=3), tmp_path / "run")
    assert server.authorizations == {f"Bearer {key}"}  # it was used
    assert "bad key [key]" in (outcome.error or "")
    assert rows(tmp_path / "run")[0].reply == "your key is [key]"
    texts = [read_eval_log(info).model_dump_json() for info in list_eval_logs(str(tmp_path / "run"))]
    assert texts
    assert not any(key in text for text in texts)
    for path in (tmp_path / "run").rglob("*"):
        assert path.is_dir() or key.encode() not in path.read_bytes()


def test_results_of_other_settings_are_not_mixed(tmp_path: Path, server: FaultServer) -> None:
    assert run_plan(plan_for(server, examples=2), tmp_path).complete
    with pytest.raises(WhatwhereError, match="holds results made with max_tokens 32, and 8 was asked for"):
        run_plan(plan_for(server, examples=2, max_tokens=8), tmp_path)
    assert run_plan(plan_for(server, examples=2, sizes=(12, 13)), tmp_path).answered == 4  # more sizes may join
    assert {cell.size for cell in answered(tmp_path)} == {12, 13}


def test_the_observer_counts_replies_from_those_that_are_there(tmp_path: Path) -> None:
    plan = Plan(provider=Provider("reference/perfect"), sizes=(12,), runs=(1,), examples=3)
    seen: list[tuple[int, int]] = []
    run_plan(plan, tmp_path, cells=plan.cells[:1], observer=lambda done, wanted: seen.append((done, wanted)))
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]
    seen.clear()
    run_plan(plan, tmp_path, observer=lambda done, wanted: seen.append((done, wanted)))
    assert seen == [(3, 6), (4, 6), (5, 6), (6, 6)]


def test_reasoning_is_asked_for_only_where_it_can_be_switched_off(tmp_path: Path, server: FaultServer) -> None:
    run_plan(plan_for(server, examples=1), tmp_path / "left")
    run_plan(plan_for(server, examples=1, reasoning="none"), tmp_path / "off")
    left, off = server.requests
    assert "reasoning_effort" not in left
    assert off["reasoning_effort"] == "none"
    assert (left["max_tokens"], left["temperature"]) == (32, 0)


def test_directories_are_named_after_models() -> None:
    assert model_directory(Path("out"), "hf/some/model:v1") == Path("out/llm/hf-some-model-v1")
    assert model_directory(Path("out"), "openai/gpt-5.4") == Path("out/llm/openai-gpt-5.4")
