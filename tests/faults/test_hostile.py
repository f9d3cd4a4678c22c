"""Files and names that mean harm: nothing is run, no memory taken, nothing outside touched, no terminal steered."""

from __future__ import annotations

import io
import json
import pickle
import re
import struct
from pathlib import Path
from typing import Any

import pytest
from damage import write_vouched
from harness import command, copy, no_figures, reader

from whatwhere.store.documents import read_json
from whatwhere.store.tensors import load_tensors, save_tensors

ESTIMATE = re.compile(r"would take about .* of memory, and .* are free|expected at most .*; lower the sizes")


class _Bomb:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return Path.touch, (self.mark,)


def test_a_pickle_under_a_safe_name_is_never_run(tmp_path: Path):
    mark, model = tmp_path / "mark", tmp_path / "model.safetensors"
    model.write_bytes(pickle.dumps(_Bomb(mark)))
    ended = command("heads", str(model))
    assert ended.code == 2 and "not a whole safetensors file" in ended.err
    assert not mark.exists()


@pytest.mark.parametrize("claimed", [10**6, 2**40, 2**63 - 1])
def test_a_header_that_claims_huge_tensors_is_refused(claimed: int, tmp_path: Path):
    about = {"w": {"dtype": "F32", "shape": [claimed], "data_offsets": [0, 4 * claimed]}}
    header = json.dumps(about).encode()
    (tmp_path / "m.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"\0" * 8)
    ended = command("heads", str(tmp_path / "m.safetensors"))
    assert ended.is_clear and ended.code == 2, ended.err
    (tmp_path / "m.safetensors").write_bytes(struct.pack("<Q", claimed) + header)
    assert command("heads", str(tmp_path / "m.safetensors")).code == 2


def test_a_file_larger_than_memory_is_refused_before_it_is_read(tmp_path: Path):
    for name in ("m.safetensors", "config.json"):
        with (tmp_path / name).open("wb") as opened:
            opened.truncate(1 << 43)  # sparse: it takes no space
    ended = command("heads", str(tmp_path / "m.safetensors"))
    assert ended.code == 2 and "would take about 8.8 TB of memory, and" in ended.err
    (tmp_path / "config.json").rename(tmp_path / "manifest.json")
    ended = command("report", str(tmp_path))
    assert ended.code == 2 and "would take about 8.8 TB" in ended.err


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("model", {"layers": 10**9}),
        ("model", {"d_model": 10**9, "heads": 1}),
        ("model", {"d_mlp": 10**12}),
        (None, {"batch": 10**12}),
        (None, {"dataset_size": 10**12}),
        ("task", {"context": 10**11, "integers": 2 * 10**11, "target": 1}),
    ],
)
@pytest.mark.slow
def test_absurd_sizes_are_refused_with_the_estimate(
    part: str | None, change: dict[str, int], finished: Path, tmp_path: Path
):
    run = copy(finished, tmp_path / "run")
    content = read_json(run / "config.json", "it")
    (content["training"] if part is None else content["training"][part]).update(change)
    write_vouched(run / "config.json", json.dumps(content).encode())
    ended = command("train", "number", "--out", str(run), "--resume")
    assert ended.code == 2 and ended.is_clear, ended.err
    assert ESTIMATE.search(ended.err), ended.err


@pytest.mark.parametrize(
    "words",
    [
        ("data", "number", "--show", "1", "--symbols", "1000000000000"),
        ("data", "letter", "--show", "1", "--integers", "1000000000000"),
        ("data", "number", "--out", "DIR", "--size", "1000000000000"),
        ("heads", "number", "--inputs", "1000000000000"),
        ("train", "number", "--out", "DIR", "--preset", "smoke", "--layers", "1000000000"),
        ("train", "number", "--out", "DIR", "--preset", "smoke", "--batch", "1000000000000"),
    ],
)
def test_absurd_wishes_are_refused_with_the_estimate(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    ended = command(*(word.replace("DIR", str(tmp_path / "new")) for word in words))
    assert ended.code == 2 and ESTIMATE.search(ended.err), ended.err
    assert not (tmp_path / "new").exists()


def test_a_model_that_describes_more_than_it_holds_is_refused(finished: Path, tmp_path: Path):
    arrays, notes = load_tensors(max((finished / "checkpoints").iterdir()), "it")
    about = json.loads(notes["whatwhere"])
    about["model"]["layers"] = 10**9
    save_tensors(tmp_path / "m.safetensors", arrays, {"whatwhere": json.dumps(about)})
    ended = command("heads", str(tmp_path / "m.safetensors"))
    assert ended.code == 2 and "does not hold the weights that its configuration describes" in ended.err


def test_names_inside_files_lead_nowhere_outside(finished: Path, tmp_path: Path):
    run = copy(finished, tmp_path / "run")
    content = read_json(run / "config.json", "it")
    content["training"]["task"]["name"] = "../../escape"
    content["training"]["preset"] = "../../escape"
    write_vouched(run / "config.json", json.dumps(content).encode())
    ended = command(*reader("dynamics", run))
    assert ended.code == 2 and "expected a task of number, letter" in ended.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


@pytest.mark.parametrize(
    "name", ["\x1b]0;owned\x07\x1b[2J", "<img src=x onerror=alert(1)>", "[bold]x[/bold]", "\x9b31m", "\udcff"]
)
def test_names_cannot_steer_the_terminal(name: str, finished: Path, tmp_path: Path):
    run = copy(finished, tmp_path / name)
    for words in (
        ("dynamics", str(run), "--inputs", "16", "--readings", "2"),
        ("heads", str(run), "--inputs", "16"),
        ("heads", str(run / "no")),
    ):
        with no_figures():
            ended = command(*words)
        assert ended.is_clear, ended.err
        for told in (ended.out, ended.err):
            assert all(c.isprintable() or c in "\n\t" for c in told), repr(told)
            told.encode()
    with no_figures():
        told = command(*reader("dynamics", run)).out
    assert all(c.isprintable() or c == "\n" for c in told)
    assert json.loads(told)[str(run)]["directory"] == str(run / "dynamics")
    if "[bold]" in name:
        assert "[bold]" in command("heads", str(run / "no")).err


@pytest.mark.parametrize("name", ["\x1b[2J", "\udcff"])
def test_names_that_no_font_has_are_drawn_as_numbers(name: str, tmp_path: Path, recwarn: pytest.WarningsRecorder):
    import pandas as pd
    from matplotlib.figure import Figure

    from whatwhere.store.tables import write_csv
    from whatwhere.studies.style import save_figure

    figure = Figure()
    title = figure.suptitle(f"run {name}")
    assert all(path.stat().st_size for path in save_figure(figure, tmp_path / "figure"))
    assert title.get_text() == "run " + {"\x1b[2J": r"\x1b[2J", "\udcff": r"\xdcff"}[name]
    assert not recwarn.list
    assert pd.read_csv(io.BytesIO(write_csv(pd.DataFrame({"result": pd.Series([name], dtype=object)})))).shape == (1, 1)


def test_a_prompt_cannot_steer_the_terminal(finished: Path, tmp_path: Path):
    ended = command("mechanism", str(copy(finished, tmp_path / "run")), "--inputs", "40", "--input", "a \x1b[2J b 1")
    assert ended.code == 2
    assert "\x1b" not in ended.err + ended.out
