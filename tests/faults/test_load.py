"""Inputs at the memory limit: scoring continues in smaller blocks, with the same result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from harness import TASK, Zygote, copy

from whatwhere.heads import levels
from whatwhere.heads.levels import score_model
from whatwhere.heads.scores import score_weightings
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.trace.layer import Trace


@pytest.fixture
def model() -> GPTJ:
    return GPTJ(ModelConfig(TASK.vocab_size, layers=2, d_model=16, d_mlp=16), seed=1).requires_grad_(False)


def test_scores_are_the_same_when_memory_allows_few_inputs_at_a_time(model: GPTJ, monkeypatch: pytest.MonkeyPatch):
    tokens = TASK.sample(40, seed=0).tokens
    whole = score_model(model, tokens)
    sizes: list[int] = []

    def starved(trace: Trace, *settings: object, **more: object):
        size = len(trace.layers[0].keys)
        sizes.append(size)
        if size > 3:
            raise RuntimeError("[enforce fail at alloc_cpu.cpp] . DefaultCPUAllocator: can't allocate memory")
        return score_weightings(trace, *settings, **more)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(levels, "score_weightings", starved)
    again = score_model(model, tokens)
    assert max(sizes) == 40
    torch.testing.assert_close(again.each_positional, whole.each_positional, rtol=0, atol=1e-6)
    torch.testing.assert_close(again.each_symbolic, whole.each_symbolic, rtol=0, atol=1e-6)


@pytest.mark.slow
def test_a_process_with_little_memory_scores_as_one_with_much(finished: Path, zygote: Zygote, tmp_path: Path):
    """The limit of the address space is the kernel's, so allocations really fail."""
    status = Path(f"/proc/{zygote.process.pid}/status").read_text()
    now = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmSize:")) * 1024
    run = copy(finished, tmp_path / "run")

    def scored(name: str, **limits: Any) -> tuple[int, list[float]]:
        ended = zygote.run(("heads", str(run), "--inputs", "1000", "--json", "--out", str(tmp_path / name)), **limits)
        assert ended.is_clear, (name, ended.err)
        found = [] if ended.code else json.loads(ended.err)[str(run)]["tables"]["heads"]
        return ended.code, [head["positional"] for head in found]

    code, whole = scored("whole")
    assert code == 0 and whole
    codes = set()
    for spare in (400, 100, 60, 30):
        code, found = scored(str(spare), limits={"RLIMIT_AS": now + spare * 2**20})
        codes.add(code)
        assert code or found == pytest.approx(whole, abs=1e-6)
    assert codes == {0, 2}  # some limits allow it, the smallest does not, and says so
