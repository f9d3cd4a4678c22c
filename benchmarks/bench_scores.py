"""Scoring all heads, against one forward pass, against all swaps, and against running the model again for each swap.

Everything runs on one core, so that the ratios compare work and not schedulers. The model is the paper's, untrained:
what it costs at 17 tokens does not depend on its weights. On long inputs it does, so heads of known sharpness are used.
"""

from __future__ import annotations

import math
import subprocess
import sys
from functools import partial

import numpy as np
import torch

from benchmarks.measure import Row, seconds, show
from whatwhere.heads import long_swaps
from whatwhere.heads.head_scores import HeadScores
from whatwhere.heads.levels import TOKENS_AT_ONCE, score_model, score_model_weightings
from whatwhere.heads.scores import score
from whatwhere.heads.weighting import band
from whatwhere.model.gptj import GPTJ
from whatwhere.model.rope import Rotation, rope_frequencies
from whatwhere.model.shape import ModelConfig
from whatwhere.tasks import NumberTask
from whatwhere.theory.index_head import index_head
from whatwhere.trace.layer import LayerTrace, Trace
from whatwhere.trace.traceable import trace

INPUTS = 1200
"""What one checkpoint is scored on; the authors' number."""
LENGTHS = (17, 64, 256, 1024)
LONG = (256, 1024, 4096, 8192)
MEMORY = """
import re, resource, sys, torch
from pathlib import Path
from whatwhere.heads.scores import score
from whatwhere.model.rope import Rotation, rope_frequencies
from whatwhere.trace.layer import LayerTrace, Trace

torch.set_num_threads(1)
tokens, heads, width = 2048, 9, 64
def layer(seq):
    position = torch.tensor([seq - 1])
    return Trace((LayerTrace(0, torch.randn(1, heads, 1, width), torch.randn(1, heads, seq, width),
        Rotation(rope_frequencies(width, 10000.0)), width**-0.5, position, torch.ones(1, seq, dtype=torch.bool)),))
def peak():  # in MB; on Linux ru_maxrss would begin at the parent's own peak, VmHWM does not
    if sys.platform == "linux":
        return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
score(layer(17))
big = layer(tokens)
before = peak()
score(big)
print(peak() - before)
"""


def sequences(count: int, length: int = 17) -> np.ndarray:
    return NumberTask().sample(count, seed=0, extra_target=length - 17).tokens


@torch.no_grad()
def forward(model: GPTJ, tokens: np.ndarray) -> None:
    """One forward pass on the inputs, in the batches in which scoring takes them."""
    for part in torch.from_numpy(tokens).long().split(max(1, TOKENS_AT_ONCE // tokens.shape[1])):
        model.answer_logits(part)


@torch.no_grad()
def one_swap_by_hand(model: GPTJ, tokens: np.ndarray) -> None:
    """Two tokens change places and the model runs again, its attention kept."""
    trace(model, tokens[:, np.r_[1, 0, 2 : tokens.shape[1]]]).attention()


@torch.no_grad()
def score_again(model: GPTJ, tokens: np.ndarray) -> None:
    score(trace(model, tokens))


def checkpoint_rows(model: GPTJ) -> list[Row]:
    """What scoring one checkpoint costs, its trace included, for the last query and for all three readings."""
    tokens = sequences(INPUTS)
    last, readings, once = seconds(
        partial(score_model, model, tokens),
        partial(score_model_weightings, model, tokens, band(), queries=range(17)),
        partial(forward, model, tokens),
        repeats=3,
    )
    return [
        Row(f"{INPUTS} inputs x 12 layers, last query, one tau / one forward pass", last / once, goal="<= 2"),
        Row("the same, all queries (three readings), four tau / one forward pass", readings / once, goal="<= 2"),
        Row("500 checkpoints, three readings, four tau, on one core of this machine", 500 * readings / 60, "min"),
    ]


def long_layer(seq: int, heads: int = 9, width: int = 64) -> Trace:
    """Heads whose logits have a standard deviation of 4: a key or two get most of the attention. 8 queries at 256."""
    generator = torch.Generator().manual_seed(seq)
    places = torch.arange(seq)[-max(1, 2048 // seq) :]
    asked, keys = (2 * torch.randn(1, heads, n, width, generator=generator) for n in (len(places), seq))
    visible = torch.arange(seq) <= places[:, None]
    return Trace(
        (LayerTrace(0, asked, keys, Rotation(rope_frequencies(width, 10000.0)), width**-0.5, places, visible),)
    )


def all_swaps(trace: Trace) -> HeadScores:
    """The same scores from every swap."""
    chosen = long_swaps.important_keys
    long_swaps.important_keys = lambda weighting, epsilon=0.0: long_swaps.swappable_keys(weighting)  # noqa: ARG005
    try:
        return score(trace)
    finally:
        long_swaps.important_keys = chosen


def long_rows() -> list[Row]:
    """Few swaps against all of them at tau 1e-4, and how the time of few swaps grows with length."""
    rows, times = [], []
    for seq in LONG:  # one head of the longest: all swaps of nine would take minutes
        trace = long_layer(seq, heads=9 if seq < 4096 else 1)
        (few,) = seconds(partial(score, trace), repeats=3)
        (full,) = seconds(partial(all_swaps, trace), repeats=1)
        error = float((score(trace).each_positional - all_swaps(trace).each_positional).abs().max())
        goal = {256: ">= 10", 8192: ">= 100"}.get(seq, "")
        rows.append(Row(f"{seq} tokens, tau 1e-4: all swaps / the swaps that matter", full / few, goal=goal))
        rows.append(Row(f"{seq} tokens: largest difference between the two", error, "", "<= 1e-9"))
        times.append(few)
    growth = math.log(times[-1] / times[-2]) / math.log(LONG[-1] / LONG[-2])
    return [*rows, Row(f"growth of time from {LONG[-2]} to {LONG[-1]} tokens: exponent", growth, "", "near 1")]


def by_hand_rows(model: GPTJ) -> list[Row]:
    """The ratio to doing it by hand; at 17 tokens all swaps are made, at other lengths one swap is timed."""
    few = sequences(32)
    by_hand, scored = seconds(
        partial(score_model, model, few, level="tokens"), partial(score_model, model, few), repeats=2
    )
    rows = [
        Row("17 tokens: 120 token swaps, each run again and made a score / scoring", by_hand / scored, goal=">= 60")
    ]
    for length in LENGTHS:
        tokens = sequences(max(1, 512 // length), length)
        swap, scored = seconds(partial(one_swap_by_hand, model, tokens), partial(score_again, model, tokens), repeats=3)
        swaps = 1 + math.comb(length - 1, 2)
        rows.append(
            Row(f"{length} tokens: {swaps:,} forward passes, estimated from one / scoring", swaps * swap / scored)
        )
    return rows


def main() -> None:
    cores = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        model = GPTJ(ModelConfig(vocab_size=NumberTask().vocab_size))
        head, tokens = index_head(1.0, 18.1), sequences(32)
        keys, swapped = score_model(head, tokens), score_model(head, tokens, level="tokens")
        error = float((keys.each_symbolic - swapped.each_symbolic).abs().max())
        show("Scoring heads", checkpoint_rows(model) + by_hand_rows(model))
        show("Scoring heads on long inputs", long_rows())
    finally:
        torch.set_num_threads(cores)
    grown = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    show(
        "Scoring heads: memory and error",
        [
            Row("peak memory of scoring 2,048 tokens x 9 heads", float(grown.stdout), "MB", "< 1000"),
            Row("largest difference from swapping tokens and running again (index head, float64)", error, "", "< 1e-6"),
        ],
    )


if __name__ == "__main__":
    main()
