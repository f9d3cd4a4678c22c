"""The figures behind docs/scale.md: what a step and a score cost on one core, and how time and memory grow.

Processor time, not time on the clock: the machine may be shared, and what is worked out from it is work. An exponent is
the slope of log(time) over log(size) between the two largest sizes.
"""

from __future__ import annotations

import math
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from benchmarks.bench_training import Shape, our_step
from benchmarks.measure import Row, show
from whatwhere.heads.scores import score
from whatwhere.model.gptj import GPTJ
from whatwhere.model.rope import Rotation, rope_frequencies
from whatwhere.trace.layer import LayerTrace, Trace

WIDTH = 128
"""Of a head, as in models of 7 and 70 billion parameters."""
TOKENS = (1024, 2048, 4096, 8192)
LENGTHS = (17, 128, 512, 2048)
SHARP, FLAT = 4.0, 0.1
"""Standard deviations of a head's logits: few keys have its attention, or all have about the same."""
Work = Callable[[], object]


def looking_back(tokens: int, logits: float = SHARP, heads: int = 1, inputs: int = 1) -> Work:
    """Scores random heads that look back from the last of ``tokens``, in one layer."""
    queries = torch.randn(inputs, heads, 1, WIDTH) * logits
    keys = torch.randn(inputs, heads, tokens, WIDTH)
    rotation = Rotation(rope_frequencies(WIDTH, 10000.0))
    visible = torch.ones(1, tokens, dtype=torch.bool)
    layer = LayerTrace(0, queries, keys, rotation, WIDTH**-0.5, torch.tensor([tokens - 1]), visible)
    return lambda: score(Trace((layer,)))


def passing(shape: Shape) -> Work:
    """A forward pass of the paper's model, without a gradient."""
    model, (tokens, _) = GPTJ(shape.config()), shape.data()

    @torch.no_grad()
    def run() -> None:
        model.answer_logits(tokens)

    return run


@dataclass(frozen=True)
class Growth:
    """How one kind of work grows with one size."""

    what: str
    of: str
    sizes: tuple[int, ...]
    make: Callable[[int], Work]
    expected: str


GROWTH = (
    Growth("score of a sharp head", "tokens", TOKENS, looking_back, "near 1"),
    Growth("score of a flat head", "tokens", TOKENS, lambda n: looking_back(n, FLAT), "2"),
    Growth("score of a layer", "heads", (2, 8, 32), lambda n: looking_back(256, heads=n), "1"),
    Growth("score of a head", "inputs", (4, 16, 64), lambda n: looking_back(256, inputs=n), "1"),
    Growth("forward pass", "tokens", LENGTHS, lambda n: passing(Shape(4, n)), "1 to 2"),
    Growth("forward pass", "width", (128, 256, 512), lambda n: passing(Shape(16, width=n)), "2"),
    Growth("forward pass", "heads", (1, 2, 4, 8), lambda n: passing(Shape(16, heads=n)), "near 0"),
    Growth("forward pass", "inputs", (16, 64, 256), lambda n: passing(Shape(n)), "1"),
    Growth("training step", "tokens", LENGTHS[:3], lambda n: our_step(Shape(4, n), torch.float32), "1 to 2"),
    Growth("training step", "width", (128, 256, 512), lambda n: our_step(Shape(16, width=n), torch.float32), "2"),
    Growth("training step", "inputs", (16, 64, 256), lambda n: our_step(Shape(n), torch.float32), "1"),
)
REMEMBERED = {
    "score of a sharp head": (TOKENS, "at most 1"),
    "score of a flat head": (TOKENS, "at most 1"),
    "forward pass": (LENGTHS, "1 to 2"),
    "training step": (LENGTHS[:3], "1 to 2"),
}
"""The work whose memory is measured against the number of tokens."""


def work(function: Work, repeats: int = 3) -> float:
    """Seconds of one core, the best of some."""
    function()
    times = []
    for _ in range(repeats):
        began = time.process_time()
        function()
        times.append(time.process_time() - began)
    return min(times)


def memory(what: str, tokens: int) -> float:
    """By how many MB the peak grows while some work is done, in a process of its own."""
    grown = subprocess.run(
        [sys.executable, "-c", f"from benchmarks.bench_scale import grow; grow({what!r}, {tokens})"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(grown.stdout)


def grow(what: str, tokens: int) -> None:
    """Prints what :func:`memory` reads (Linux)."""

    def peak() -> float:
        with open("/proc/self/status") as status:  # noqa: PTH123 (no file of ours)
            found = re.search(r"VmHWM:\s+(\d+) kB", status.read())
        assert found is not None
        return int(found[1]) / 1000

    torch.set_num_threads(1)
    make = next(growth.make for growth in GROWTH if (growth.what, growth.of) == (what, "tokens"))
    make(64)()  # what is loaded and kept, whatever the length
    run = make(tokens)
    before = peak()
    run()
    print(peak() - before)


def _rows(what: str, unit: str, sizes: tuple[int, ...], values: list[float], expected: str) -> list[Row]:
    rows = [Row(f"{what}: {size:,}", value, unit) for size, value in zip(sizes, values, strict=True)]
    exponent = math.log(values[-1] / values[-2]) / math.log(sizes[-1] / sizes[-2])
    return [*rows, Row(f"{what}: exponent (expected {expected})", exponent, "")]


def main() -> None:
    """Prints what things cost, and by which power they grow."""
    torch.set_num_threads(1)
    step = work(our_step(Shape(64), torch.float32), 5)
    rows = [Row("steps of the paper's model per second of one core, batch 64, float32", 1 / step, "/s")]
    for growth in GROWTH:
        times = [work(growth.make(size)) for size in growth.sizes]
        rows += _rows(f"{growth.what}, seconds by {growth.of}", "s", growth.sizes, times, growth.expected)
    for what, (sizes, expected) in REMEMBERED.items():
        grown = [memory(what, size) for size in sizes]
        rows += _rows(f"{what}, memory by tokens", "MB", sizes, grown, expected)
    show("Scale, one core", rows)
