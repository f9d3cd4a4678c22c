"""Scoring all heads, against one forward pass, and against swapping tokens and running the model again by hand.

Everything runs on one core, so that the ratios compare work and not schedulers. The model is the paper's, untrained:
what it costs does not depend on its weights.
"""

from __future__ import annotations

import math
import subprocess
import sys
from functools import partial

import numpy as np
import torch

from benchmarks.measure import Row, seconds, show
from whatwhere.heads.levels import TOKENS_AT_ONCE, score_model
from whatwhere.heads.scores import score
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.tasks import NumberTask
from whatwhere.theory.index_head import index_head
from whatwhere.trace.layer import trace

INPUTS = 512
"""What one checkpoint is scored on."""
LENGTHS = (17, 64, 256, 1024)
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
    """What scoring one checkpoint costs."""
    tokens = sequences(INPUTS)
    scored, once = seconds(partial(score_model, model, tokens), partial(forward, model, tokens))
    return [
        Row(f"trace and score of {INPUTS} inputs x 12 layers / one forward pass on them", scored / once, goal="<= 2"),
        Row("a run of 60 checkpoints (laptop), on one core of this machine", 60 * scored / 60, "min"),
        Row("a run of 500 checkpoints (the paper's 5 h of GPU and 8.5 h of CPU per model)", 500 * scored / 60, "min"),
    ]


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
