import pytest
import torch

from whatwhere.errors import WhatwhereError
from whatwhere.training.device import choose_device


def test_the_cpu_is_always_there():
    assert choose_device("cpu") == "cpu"


def test_auto_takes_the_fastest(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto") == "cuda"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert choose_device("auto") == "cpu"


def test_a_device_that_is_not_here_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for wanted in ("cuda", "abacus"):
        with pytest.raises(WhatwhereError, match=f"'{wanted}' was asked for, and this machine has"):
            choose_device(wanted)
