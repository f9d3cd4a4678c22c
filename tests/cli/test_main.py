import json
import logging
import re
import subprocess
import sys
import warnings

import pytest
from typer.testing import CliRunner

from whatwhere import __version__, cli
from whatwhere.cli import app, console
from whatwhere.cli.console import complain, print_json
from whatwhere.errors import WhatwhereWarning
from whatwhere.studies import STUDIES


def whatwhere(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "whatwhere", *words], capture_output=True, text=True, check=False)


def test_the_version_is_that_of_the_package():
    assert whatwhere("--version").stdout == f"whatwhere {__version__}\n"


def test_a_users_mistake_ends_with_one_message_and_code_two():
    result = whatwhere("data", "number", "--show", "1", "--seed", "-1")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("whatwhere: ")
    assert "expected a seed of 0 or more" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("words", [["--nonsense"], ["nonsense"], ["data", "number", "--show", "many"]])
def test_a_command_line_that_cannot_be_read_ends_with_code_two(words: list[str]):
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert result.stdout == ""


def test_a_mistyped_command_is_answered_with_those_that_are_near():
    assert "Did you mean heads?" in CliRunner().invoke(app, ["head", "letter"]).output


def test_the_help_lists_every_command_under_a_heading():
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "120"}).stdout
    assert "Language models" in shown and "Studies of your own" not in shown
    assert re.findall(r"^│ ([a-z]+) ", shown, re.MULTILINE) == cli._Commands().list_commands(None)  # pyright: ignore[reportPrivateUsage]


def test_paragraphs_of_the_help_are_wrapped_by_the_terminal():
    shown = CliRunner().invoke(app, ["train", "--help"], env={"COLUMNS": "300"}).stdout
    assert "Options that are not given are the preset's. On several devices" in shown


def test_the_help_gives_no_type_for_a_flag_and_arguments_in_capitals():
    shown = CliRunner().invoke(app, ["data", "--help"], env={"COLUMNS": "120"}).stdout
    assert "whatwhere data [OPTIONS] TASK " in shown and "<bool>" not in shown and "<path>" in shown
    assert "<bool>" not in CliRunner().invoke(app, ["--help"], env={"COLUMNS": "120"}).stdout


def test_the_usage_line_names_arguments_as_the_documentation_does():
    shown = CliRunner().invoke(app, ["rope", "--help"], env={"COLUMNS": "120"}).stdout
    assert "whatwhere rope [OPTIONS] MODEL [OTHER] " in shown


def test_no_command_shows_the_help():
    assert "Usage" in CliRunner().invoke(app, []).output


@pytest.mark.parametrize("command", ["data", "train", *STUDIES, "compare", "share", "reproduce", "report", "sweep"])
def test_every_command_explains_itself_with_an_example(command: str):
    help_text = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "120"}).stdout
    assert re.search(rf"Example.*whatwhere {command}", re.sub(r"\s+", " ", help_text)), help_text


def test_text_from_outside_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]):
    complain("a run named \x1b[2J[bold]x[/bold]\x07")
    assert capsys.readouterr().err == "whatwhere: a run named \\x1b[2J[bold]x[/bold]\\x07\n"


def test_json_has_no_undefined_numbers(capsys: pytest.CaptureFixture[str]):
    print_json({"a": [float("nan"), float("inf"), 1.5], "b": {"c": (None, "x")}})
    assert json.loads(capsys.readouterr().out) == {"a": [None, None, 1.5], "b": {"c": [None, "x"]}}


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(28, "No space left on device", "/full"), "/full: No space left on device."),
        (MemoryError(), "memory ran out. Ask for fewer inputs"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "memory ran out"),
    ],
)
def test_the_limits_of_the_machine_end_with_one_message(
    error: Exception, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def fail() -> None:
        raise error

    monkeypatch.setattr(cli, "app", fail)
    with warnings.catch_warnings(), pytest.raises(SystemExit, match="2"):
        cli.main()
    assert message in capsys.readouterr().err


def test_a_defect_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch):
    def fail() -> None:
        raise RuntimeError("shapes do not match")

    monkeypatch.setattr(cli, "app", fail)
    with warnings.catch_warnings(), pytest.raises(RuntimeError, match="shapes"):
        cli.main()


def test_warnings_of_ours_read_like_notes_and_others_as_python_writes_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def warn() -> None:
        warnings.warn("a model was damaged", WhatwhereWarning, stacklevel=1)
        warnings.warn("old", DeprecationWarning, stacklevel=1)

    monkeypatch.setattr(cli, "app", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        cli.main()
    first, *rest = capsys.readouterr().err.splitlines()
    assert first == "a model was damaged"
    assert "DeprecationWarning: old" in rest[0]


def test_what_the_package_logs_is_printed_once_as_a_note(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(cli, "app", lambda: logging.getLogger("whatwhere.trace.gguf").info("Converting %s.", "a.gguf"))
    with warnings.catch_warnings():
        cli.main()
        cli.main()
    assert capsys.readouterr().err.splitlines() == ["Converting a.gguf."] * 2


def test_progress_without_a_terminal_is_a_line_every_half_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    now = [0.0]
    monkeypatch.setattr("whatwhere.studies.progress_bar.time.monotonic", lambda: now[0])
    with console.Bar() as bar:
        task = bar.add_task("measuring", total=4)
        for done in range(4):
            now[0] += 20
            bar.update(task, completed=done, description=f"part {done}")
    assert [line[:10] for line in capsys.readouterr().err.splitlines()] == ["part 1 1/4", "part 3 3/4"]


def test_help_answers_without_the_heavy_libraries():
    heavy = "{'torch', 'matplotlib', 'pandas', 'scipy', 'transformers'}"
    ask = "from whatwhere.cli import app; app(['--help'], standalone_mode=False)"
    code = f"import sys; {ask}; print(set(sys.modules) & {heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
