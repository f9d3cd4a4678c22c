"""Training speed: against transformers' own GPT-J, and against the rate of the bare matrix products."""

from __future__ import annotations

import torch

from benchmarks.measure import Row, seconds, show
from whatwhere.model.dropout import Dropout
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.tasks import make_task
from whatwhere.training.config import Schedule, TrainingConfig
from whatwhere.training.gradient import loss_and_gradients
from whatwhere.training.optimiser import Optimiser

VOCABULARY, SEQ = 136, 17
RATE = 0.1


def our_step(batch: int, product: torch.dtype):
    """A step as training makes it."""
    task = make_task("number")
    config = TrainingConfig(
        task, ModelConfig(VOCABULARY, dropout=RATE, attention_dropout=RATE), Schedule(peak=1e-4, warmup=1, steps=1)
    )
    model = GPTJ(config.model)
    model.multiply_in(product)
    optimiser = Optimiser(model, config)
    tokens = torch.randint(0, VOCABULARY, (batch, SEQ))
    answers = torch.randint(0, VOCABULARY, (batch,))

    def step() -> None:
        _, gradients = loss_and_gradients(model, tokens, answers, lambda row: Dropout(0, 0, row))
        optimiser.step(gradients, rate=1e-4)

    return step


def their_step(batch: int, product: torch.dtype = torch.float32):
    """The stock model with the paper's sizes; its loss shifts the labels, so the answer is the 18th token."""
    model = GPTJ(ModelConfig(VOCABULARY, dropout=RATE, attention_dropout=RATE)).to_hf().train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens = torch.randint(0, VOCABULARY, (batch, SEQ + 1))
    labels = torch.full_like(tokens, -100)
    labels[:, -1] = tokens[:, -1]

    def step() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=product == torch.bfloat16):
            loss = model(input_ids=tokens, labels=labels, use_cache=False).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()

    return step


def matrix_products(batch: int):
    """The products of one step and nothing else: forward, and two of the same size backward, in all layers.

    Returns:
        A function that does them, in the shapes in which our model does, and the floating-point operations in it.
    """
    config = ModelConfig(VOCABULARY)
    rows, d, inner = batch * SEQ, config.d_model, 3 * config.d_model + config.d_mlp
    x, z, w_in = torch.randn(rows, d), torch.randn(rows, inner), torch.randn(inner, d)
    u, w_out = torch.randn(rows, d + config.d_mlp), torch.randn(d, d + config.d_mlp)
    full = config.layers - 1  # the last layer computes little more than its keys and values
    operations = 3 * 2 * rows * (w_in.numel() + w_out.numel()) * full

    def products() -> None:
        for _ in range(full):
            for left, right in ((x, w_in.t()), (z, w_in), (z.t(), x), (u, w_out.t()), (x, w_out), (x.t(), u)):
                torch.mm(left, right)

    return products, operations


def main() -> None:
    """Prints sequences per second as ratios."""
    rows: list[Row] = []
    exact, low = torch.float32, torch.bfloat16
    for batch in (64, 128):
        products, operations = matrix_products(batch)
        ours, ours_low, theirs, theirs_low, bare = seconds(
            our_step(batch, exact), our_step(batch, low), their_step(batch, exact), their_step(batch, low), products,
            repeats=15,
        )  # fmt: skip
        here, best = f"batch {batch}:", min(theirs, theirs_low)
        rows += [
            Row(f"{here} float32, against transformers' GPT-J in float32", theirs / ours, "x", ">= 1.8"),
            Row(f"{here} bfloat16 products, against transformers under autocast to bfloat16", theirs_low / ours_low),
            Row(f"{here} the default (bfloat16), against the better of theirs", best / ours_low, "x", "1.8, aim 3"),
            Row(f"{here} share of the bare products' rate that a float32 step reaches", bare / ours, "", "0.7"),
            Row(f"{here} (sequences per second: float32", batch / ours, "/s)"),
            Row(f"{here} (sequences per second: bfloat16", batch / ours_low, "/s)"),
            Row(f"{here} (the bare products in float32", operations / bare / 1e9, "GFLOP/s)"),
        ]
    show("Training (12 layers, width 128, 17 tokens)", rows)
