from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.store import locks
from whatwhere.studies.chat import CHAT
from whatwhere.studies.chat.logs import read_logs
from whatwhere.studies.chat.one_hop import one_hop_examples, solve
from whatwhere.studies.chat.providers import CHAT_MODEL
from whatwhere.studies.chat.tables import Cell, Sample, Screening
from whatwhere.studies.measuring import measure, study
from whatwhere.studies.results import Results

if TYPE_CHECKING:
    from conftest import FaultServer  # pyright: ignore[reportAttributeAccessIssue]

pytestmark = [  # of inspect-ai: an old name of tenacity's, and what its event loop leaves open
    pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.usefixtures("tidy"),
]


@pytest.fixture
def Reply(server: FaultServer) -> type:
    return type(server.behaviour("", 0))


def ask(server: FaultServer, out: Path | None = None, **changes: object) -> Results:
    settings = {"tasks": "one_hop_letter", "sizes": (12,), "runs": (1,), "examples": 12, **changes}
    return study("chat", "openai-api/local/test", out=out, base_url=server.url, **settings)


def rows(results: Results) -> list[Sample]:
    return results.rows("samples", Sample)


def answered(out: Path) -> int:
    return sum(len(log.samples) for log in read_logs([out]))


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
    results = ask(server, tmp_path, examples=14, connections=14, timeout=10)
    right, wrong, none = "right", "wrong", "no answer"
    read = [(sample.strict, sample.lenient) for sample in rows(results)]
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
    with pytest.raises(
        WhatwhereError, match=r"expected 12 replies of .*, got 1 less: .*400.* asks for the missing ones"
    ):
        ask(server, tmp_path, connections=12)
    assert len(rows(Results.open(CHAT, tmp_path / "chat"))) == 11  # what came is in the tables
    asked = len(server.asked)
    server.behaviour = lambda _, __: Reply()
    assert len(rows(ask(server, tmp_path))) == 12
    assert [sequence for _, sequence in server.asked[asked:]] == [bad]
    ask(server, tmp_path)
    assert len(server.asked) == asked + 1


@pytest.mark.slow
def test_after_kill_nothing_that_was_answered_is_asked_again(tmp_path: Path, server: FaultServer, Reply: type) -> None:
    server.behaviour = lambda _, __: Reply(delay=0.1)
    script = (
        "from whatwhere.studies.measuring import study\n"
        f"results = study('chat', 'openai-api/local/test', out={str(tmp_path / 'out')!r}, base_url={server.url!r},"
        " sizes=(12, 16), runs=(1,), examples=20, connections=4)\n"
        "print(len(results['samples']))"
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
    kept = answered(tmp_path / "out")
    assert kept >= 20
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path / "another-home")}  # the directory alone is enough
    again = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert again.stdout == "80\n", again.stderr
    asked = [sequence for _, sequence in server.asked]
    repeated = len(asked) - len(set(asked))
    assert len(set(asked)) == 80
    assert repeated <= before - kept  # what is on disk is never asked again
    assert repeated <= 2 * 4  # two tasks at a time share four connections; their replies may be on their way to disk
    ask(server, tmp_path / "out", tasks=None, sizes=(12, 16), examples=20)
    assert len(server.asked) == len(asked)


@pytest.mark.slow
def test_keys_appear_nowhere_even_if_the_server_echoes_them(
    tmp_path: Path, server: FaultServer, Reply: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-very-secret-0123456789"
    monkeypatch.setenv("LOCAL_API_KEY", key)
    sequences = [example.sequence for example in one_hop_examples("letter", 12, 1, 3)]
    faults = {
        sequences[0]: Reply(text=f"your key is {key}"),
        sequences[1]: Reply(status=401, body=json.dumps({"error": {"message": f"bad key {key}"}})),
    }
    server.behaviour = lambda sequence, _: faults.get(sequence, Reply())
    with pytest.raises(WhatwhereError, match=r"got 1 less: .*bad key \[key\]"):
        ask(server, tmp_path / "run", examples=3)
    assert server.authorizations == {f"Bearer {key}"}  # it was used
    assert rows(Results.open(CHAT, tmp_path / "run/chat"))[0].reply == "your key is [key]"
    assert_nowhere(key, tmp_path / "run")


def test_a_key_that_is_refused_is_not_written_first(tmp_path: Path, server: FaultServer) -> None:
    with pytest.raises(WhatwhereError, match="expected model arguments without a key"):
        ask(server, tmp_path, model_args="api_key=sk-very-secret-0123456789")
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".lock"]


@pytest.mark.slow
def test_what_an_argument_takes_from_the_environment_is_struck_out_under_any_name(
    tmp_path: Path, server: FaultServer, Reply: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAIN", "a-value-to-hide")
    server.behaviour = lambda _, __: Reply(text="a-value-to-hide")
    results = ask(server, tmp_path, examples=1, model_args="""default_query={"k":"$PLAIN"}""")
    assert {row.reply for row in rows(results)} == {"[key]"}
    assert_nowhere("a-value-to-hide", tmp_path)


def assert_nowhere(key: str, directory: Path) -> None:
    from inspect_ai.log import list_eval_logs, read_eval_log

    texts = [read_eval_log(info).model_dump_json() for info in list_eval_logs(str(directory))]
    assert texts
    assert not any(key in text for text in texts)
    for path in directory.rglob("*"):
        assert path.is_dir() or key.encode() not in path.read_bytes()


@pytest.mark.slow
def test_keys_that_an_earlier_version_left_are_struck_out_by_the_next_run_and_no_reply_is_lost(
    tmp_path: Path, server: FaultServer, Reply: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-very-secret-0123456789"
    monkeypatch.setenv("LOCAL_API_KEY", "sk-another-0123456789")
    monkeypatch.setenv("MY_BOX", key)
    server.behaviour = lambda _, __: Reply(text=f"key {key}")
    headers = """default_headers={"X-Api-Key":"$MY_BOX"}"""
    with monkeypatch.context() as patch:  # as before keys were removed from replies, and killed
        patch.setattr("whatwhere.studies.chat.measure.remove_keys", lambda *_: [])
        patch.setattr("whatwhere.studies.chat.measure.recorder_without_keys", lambda _: nullcontext())
        patch.setattr("whatwhere.studies.chat.providers.clean_replies", lambda *_: None)
        patch.setattr("whatwhere.studies.chat.measure.read_logs", stops_at(2))
        with pytest.raises(KeyboardInterrupt):
            ask(server, tmp_path, examples=4, model_args=headers)
    assert len(server.asked) == 4
    assert set(server.own_keys) == {key}  # the header was sent
    with pytest.raises(AssertionError):
        assert_nowhere(key, tmp_path)
    results = ask(server, tmp_path, examples=4, model_args=headers)
    assert len(server.asked) == 4
    assert {row.reply for row in rows(results)} == {"key [key]"}
    assert_nowhere(key, tmp_path)
    assert "$MY_BOX" in (tmp_path / "chat" / "manifest.json").read_text()


def stops_at(call: int) -> object:
    """``read_logs``, interrupted at one of its calls."""
    calls = iter(range(1, 99))

    def read(directories: list[Path]) -> list[object]:
        if next(calls) == call:
            raise KeyboardInterrupt
        return list(read_logs(directories))

    return read


@pytest.mark.slow
def test_results_of_other_settings_are_not_mixed_and_more_sizes_pay_only_for_themselves(
    tmp_path: Path, server: FaultServer
) -> None:
    ask(server, tmp_path, examples=2)
    with pytest.raises(WhatwhereError, match="holds other results: expected max_tokens 8, got 32"):
        ask(server, tmp_path, examples=2, max_tokens=8)
    settings = CHAT.with_settings(tasks="one_hop_letter", sizes=(12, 13), runs=(1,), examples=2, base_url=server.url)
    opened = CHAT_MODEL.open("openai-api/local/test")
    more = measure(CHAT, opened, settings, tmp_path / "chat", existing="replace")
    assert [(cell.size, cell.accuracy.n) for cell in more.rows("cells", Cell)] == [(12, 2), (13, 2)]
    assert len(server.asked) == 4


@pytest.mark.slow
def test_progress_counts_replies_from_those_that_are_there(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    opened = CHAT_MODEL.open("reference/perfect")
    for tasks in ("one_hop_letter", "one_hop_letter,one_hop_number"):
        settings = CHAT.with_settings(tasks=tasks, sizes=(12,), runs=(1,), examples=3)
        measure(
            CHAT,
            opened,
            settings,
            tmp_path,
            existing="replace",
            progress=lambda _, done, total: seen.append((done, total)),
        )
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3), (3, 6), (4, 6), (5, 6), (6, 6)]


@pytest.mark.slow
def test_reasoning_is_asked_for_only_where_it_can_be_switched_off(server: FaultServer) -> None:
    ask(server, examples=1)
    ask(server, examples=1, reasoning="none")
    left, off = server.requests
    assert "reasoning_effort" not in left
    assert off["reasoning_effort"] == "none"
    assert (left["max_tokens"], left["temperature"]) == (32, 0)


@pytest.mark.slow
def test_the_screening_comes_first_and_stops_a_model_that_fails() -> None:
    results = study("chat", "reference/guess", sizes=(12, 16, 100), runs=(1, 2), examples=3, screen=True)
    assert len(rows(results)) == 9  # of 36
    (row,) = results.rows("screening", Screening)
    assert row.status == "screened out"
    assert "below 0.85" in row.why


def test_the_paper_is_quoted_and_nothing_is_asked() -> None:
    results = study("chat", "paper")
    assert len(results["quoted"]) == 60
    assert len(results["cells"]) == 0


@pytest.mark.slow
def test_logs_of_several_models_make_one_table(tmp_path: Path) -> None:
    for name in ("perfect", "guess"):
        study("chat", f"reference/{name}", out=tmp_path / name, sizes=(16,), runs=(1, 2), examples=3)
    results = study("chat", tmp_path, out=tmp_path / "all")
    cells = results.rows("cells", Cell)
    assert [(cell.model, cell.task, cell.runs, cell.accuracy.n) for cell in cells] == [
        (f"reference/{name}", f"one_hop_{task}", 2, 6) for name in ("guess", "perfect") for task in ("letter", "number")
    ]
    assert [cell.accuracy.value for cell in cells[2:]] == [1.0, 1.0]
    again = study("chat", tmp_path, out=tmp_path / "all")
    assert again["cells"]["accuracy_n"].tolist() == [6] * 4


def test_a_directory_without_replies_is_refused(tmp_path: Path) -> None:
    from whatwhere.studies.chat.measure import measure as tabulate

    settings = CHAT.with_settings()
    with pytest.raises(WhatwhereError, match=r"expected logs with replies to the benchmark below .*, got none"):
        tabulate(tmp_path, settings, Results(CHAT, settings), lambda *_: None)


def test_replies_that_cost_money_are_not_kept_in_memory_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    with pytest.raises(WhatwhereError, match=r"expected a directory for the replies of openai/x, .*; give out=DIR"):
        study("chat", "openai/x")


@pytest.mark.slow
def test_two_runs_on_one_directory_do_not_ask_twice(
    tmp_path: Path, server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "PATIENCE", 0.05)
    with locks.hold(tmp_path / "chat", "chat"), pytest.raises(WhatwhereError, match="is in use"):
        ask(server, tmp_path, examples=1)
    assert not server.asked
