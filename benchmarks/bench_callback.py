"""What watching heads costs: the share of the training time, in a plain loop with a small Llama.

The same training runs with and without a watch at its default setting. The watch's own account (the time between its
start and its end) is printed beside the difference of the two times, which a busy machine disturbs more.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

import whatwhere as ww
from benchmarks.measure import Row, show
from whatwhere.studies.watched.tables import EVERY

STEPS, BATCH, SEQ, VOCABULARY = 600, 8, 64, 256
INPUTS = 16
TURNS = 3


def train(out: Path | None = None, every: int = EVERY, steps: int = STEPS) -> tuple[float, ww.HeadWatch | None]:
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCABULARY, hidden_size=128, intermediate_size=256, num_hidden_layers=4, num_attention_heads=4,
            num_key_value_heads=4,
        )
    )  # fmt: skip
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
    watch = ww.HeadWatch(model, torch.randint(0, VOCABULARY, (INPUTS, SEQ)), out, every=every) if out else None
    start = time.perf_counter()
    for step in range(steps):
        if watch:
            watch(step)
        tokens = torch.randint(0, VOCABULARY, (BATCH, SEQ))
        model(input_ids=tokens, labels=tokens, use_cache=False).loss.backward()
        optimiser.step()
        optimiser.zero_grad()
    return time.perf_counter() - start, watch


def main() -> None:
    """Prints shares of the training time; the trainings take turns, and the best of each kind counts."""
    kinds = {"every 200 steps (default)": EVERY, "every 10 steps": 10}
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as scratch:
        train(steps=20)  # warm up
        alone, watched = [], {name: [] for name in kinds}
        for turn in range(TURNS):
            alone.append(train()[0])
            for name, every in kinds.items():
                watched[name].append(train(Path(scratch) / f"{name} {turn}", every))
        for name, runs in watched.items():
            total, watch = min(runs, key=lambda run: run[0])
            assert watch is not None
            rows += [
                Row(f"{name}: scoring, share of the training time", 100 * watch.share, "%", "< 5"),
                Row(f"{name}: whole training with a watch against without", total / min(alone), "x", "< 1.05"),
                Row(f"{name}: (times scored", float(len(watch.rows)), ")"),
            ]
    show(f"Watching {4 * 4} heads on {INPUTS} inputs of {SEQ} tokens in a training of {STEPS} steps", rows)
