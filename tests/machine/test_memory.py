import threading
import time
from pathlib import Path

import pytest
import torch

from whatwhere.errors import WhatwhereError
from whatwhere.machine import memory
from whatwhere.machine.memory import format_bytes, free_bytes, in_smaller_blocks, is_exhausted, require


def test_what_cannot_fit_is_refused_with_the_estimate_and_what_is_free():
    require(1, "a byte")
    with pytest.raises(WhatwhereError, match=r"all of it would take about 1.0 EB of memory, and .* are free\. Ask for"):
        require(10**18, "all of it")


def test_the_smallest_limit_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "memory.max").write_text("3000000\n")
    (tmp_path / "memory.current").write_text("2000000\n")
    (tmp_path / "memory.stat").write_text("inactive_file 500000\n")
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    assert free_bytes() == 1_500_000
    (tmp_path / "memory.max").write_text("max\n")
    found = free_bytes()
    assert found is not None
    assert found > 1_500_000


def test_threads_are_as_many_as_fit(monkeypatch: pytest.MonkeyPatch):
    for free, threads in ((None, 8), (1 << 40, 8), (3 << 27, 3), (1000, 1)):
        monkeypatch.setattr(memory, "free_bytes", lambda free=free: free)
        assert memory.threads_that_fit(8) == threads


def test_bytes_read_well():
    assert [format_bytes(count) for count in (1500, 2_000_000, 3_500_000_000, 12 * 10**14)] == [
        "1.5 kB",
        "2.0 MB",
        "3.5 GB",
        "1.2 PB",
    ]


def test_running_out_is_told_from_other_errors():
    assert is_exhausted(MemoryError())
    assert is_exhausted(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"))
    assert is_exhausted(torch.OutOfMemoryError("CUDA out of memory"))
    assert not is_exhausted(RuntimeError("shapes do not match"))
    assert not is_exhausted(ValueError("out of memory"))


def test_work_that_does_not_fit_is_done_in_smaller_blocks_with_the_same_result():
    sizes: list[int] = []

    def work(block: torch.Tensor) -> torch.Tensor:
        sizes.append(len(block))
        if len(block) > 3:
            raise MemoryError
        return block * 2

    inputs = torch.arange(11)
    assert torch.equal(in_smaller_blocks(work, inputs, lambda parts: torch.cat(list(parts))), inputs * 2)
    assert max(sizes) == 11
    assert sum(size for size in sizes if size <= 3) == 11


def test_threads_that_run_out_together_go_on_one_at_a_time():
    at_once, most = threading.Semaphore(1), []

    def work(block: torch.Tensor) -> torch.Tensor:
        if len(block) > 1:
            raise RuntimeError("[enforce fail] out of memory")
        alone = at_once.acquire(blocking=False)
        most.append(alone)
        time.sleep(0.001)  # long enough for another thread to come in
        if alone:
            at_once.release()
        return block

    threads = [
        threading.Thread(target=in_smaller_blocks, args=(work, torch.arange(8), lambda parts: torch.cat(list(parts))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [True] * 32


def test_other_errors_and_a_single_input_that_does_not_fit_end_the_work():
    def broken(_: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("shapes do not match")

    def full(_: torch.Tensor) -> torch.Tensor:
        raise MemoryError

    with pytest.raises(RuntimeError, match="shapes"):
        in_smaller_blocks(broken, torch.zeros(4), lambda parts: parts[0])
    with pytest.raises(WhatwhereError, match=r"memory ran out on a single input of shape \(7,\)"):
        in_smaller_blocks(full, torch.zeros(4, 7), lambda parts: parts[0])
