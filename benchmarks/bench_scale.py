"""The figures behind docs/scale.md: what a step, a score and a copy cost here, on one core.

Processor time, not time on the clock: the machine may be shared, and what is worked out from it is work.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable

import torch

from benchmarks.bench_training import our_step
from benchmarks.measure import Row, show
from whatwhere.heads.scores import score
from whatwhere.model.rope import Rotation, rope_frequencies
from whatwhere.trace.layer import LayerTrace, Trace

WIDTH = 128
"""Of a head, as in models of 7 and 70 billion parameters."""
TOKENS = (1024, 2048, 4096, 8192)
BATCH = 64


def layer(tokens: int) -> Trace:
    """One head that looks back from the last of ``tokens``."""
    position = torch.tensor([tokens - 1])
    queries, keys = torch.randn(1, 1, 1, WIDTH), torch.randn(1, 1, tokens, WIDTH)
    rotation = Rotation(rope_frequencies(WIDTH, 10000.0))
    visible = torch.ones(1, tokens, dtype=torch.bool)
    return Trace((LayerTrace(0, queries, keys, rotation, WIDTH**-0.5, position, visible),))


def work(function: Callable[[], object], repeats: int = 3) -> float:
    """Seconds of one core, the best of some."""
    function()
    times = []
    for _ in range(repeats):
        began = time.process_time()
        function()
        times.append(time.process_time() - began)
    return min(times)


def memory(tokens: int) -> float:
    """By how many MB the peak grows while one head is scored, in a process of its own."""
    grown = subprocess.run(
        [sys.executable, "-c", f"from benchmarks.bench_scale import grow; grow({tokens})"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(grown.stdout)


def grow(tokens: int) -> None:
    """Prints what :func:`memory` reads (Linux)."""

    def peak() -> float:
        with open("/proc/self/status") as status:  # noqa: PTH123 (no file of ours)
            found = re.search(r"VmHWM:\s+(\d+) kB", status.read())
        assert found is not None
        return int(found[1]) / 1000

    torch.set_num_threads(1)
    score(layer(64))
    big = layer(tokens)
    before = peak()
    score(big)
    print(peak() - before)


def main() -> None:
    torch.set_num_threads(1)
    step = work(our_step(BATCH, torch.float32), 5)
    rows = [Row(f"steps of the paper's model per second of one core, batch {BATCH}, float32", 1 / step, "/s")]
    for tokens in TOKENS:
        traced = layer(tokens)
        rows.append(Row(f"one head, one query, {tokens} tokens: seconds of one core", work(lambda: score(traced)), "s"))  # noqa: B023
    rows += [Row(f"one head, one query, {tokens} tokens: memory", memory(tokens), "MB") for tokens in TOKENS]
    show("Scale", rows)
