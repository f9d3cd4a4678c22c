import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from whatwhere.errors import MissingExtraError, WhatwhereError
from whatwhere.training.tracking import find_tracker


def test_a_module_shaped_like_wandb_gets_the_numbers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    calls: list[tuple[str, object]] = []
    fake = SimpleNamespace(
        init=lambda **given: calls.append(("init", given["name"])),
        log=lambda values, step: calls.append(("log", (values, step))),
        finish=lambda: calls.append(("finish", None)),
    )
    monkeypatch.setitem(sys.modules, "wandb_like", fake)
    tracker = find_tracker("wandb_like")(tmp_path / "run", {"seed": 0})
    tracker.log({"loss": 1.0}, 5)
    tracker.finish()
    assert calls == [("init", "run"), ("log", ({"loss": 1.0}, 5)), ("finish", None)]


def test_tensorboard_writes_its_events_into_the_run(tmp_path: Path):
    tracker = find_tracker("tensorboard")(tmp_path, {})
    tracker.log({"loss": 1.0}, 1)
    tracker.finish()
    assert list((tmp_path / "tensorboard").glob("events.*"))


def test_trackers_that_are_not_there_are_refused(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(WhatwhereError, match="no such module is installed"):
        find_tracker("no_such_tracker")
    with pytest.raises(WhatwhereError, match=r"'json' cannot track a run: it has no init\(\)"):
        find_tracker("json")
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(MissingExtraError, match=r"whatwhere\[track\]"):
        find_tracker("tensorboard")
