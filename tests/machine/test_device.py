from pathlib import Path

import pytest
import torch

from whatwhere.errors import WhatwhereError
from whatwhere.machine import device
from whatwhere.machine.device import choose_device, fast_precision


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
        with pytest.raises(WhatwhereError, match=rf"device of this machine \(cpu\), got '{wanted}'"):
            choose_device(wanted)


@pytest.mark.parametrize(
    ("flags", "precision"), [("avx2 avx512_bf16", "bfloat16"), ("amx_bf16", "bfloat16"), ("avx2 avx512f", "float32")]
)
def test_a_cpu_multiplies_in_what_it_has_instructions_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: str, precision: str
):
    (tmp_path / "cpuinfo").write_text(f"flags : fpu {flags} sse\n")
    monkeypatch.setattr(device, "_CPU_FLAGS", tmp_path / "cpuinfo")
    assert fast_precision("cpu") == precision
    monkeypatch.setattr(device, "_CPU_FLAGS", tmp_path / "nowhere")
    assert fast_precision("cpu") == "float32"
