"""Training speed: against transformers' own GPT-J, and against the rate of the bare matrix products."""

from __future__ import annotations

import torch
from torch.nn import functional

from benchmarks.measure import Row, seconds, show
from whatwhere.model.config import ModelConfig
from whatwhere.model.dropout import Dropout
from whatwhere.model.gptj import GPTJ

VOCABULARY, SEQ = 136, 17
RATE = 0.1


def our_step(batch: int, product: torch.dtype):
    model = GPTJ(ModelConfig(VOCABULARY, dropout=RATE, attention_dropout=RATE))
    model.multiply_in(product)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    dropout = Dropout(torch.Generator().manual_seed(0))
    tokens = torch.randint(0, VOCABULARY, (batch, SEQ))
    answers = torch.randint(0, VOCABULARY, (batch,))

    def step() -> None:
        for part, wanted in zip(tokens.split(64), answers.split(64), strict=True):
            loss = functional.cross_entropy(model.answer_logits(part, dropout), wanted, reduction="sum") / batch
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()

    return step


def their_step(batch: int):
    """The stock model with the paper's sizes; its loss shifts the labels, so the answer is the 18th token."""
    model = GPTJ(ModelConfig(VOCABULARY, dropout=RATE, attention_dropout=RATE)).to_hf().train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens = torch.randint(0, VOCABULARY, (batch, SEQ + 1))
    labels = torch.full_like(tokens, -100)
    labels[:, -1] = tokens[:, -1]

    def step() -> None:
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
    for batch in (64, 128):
        products, operations = matrix_products(batch)
        exact, low, theirs, bare = seconds(
            our_step(batch, torch.float32),
            our_step(batch, torch.bfloat16),
            their_step(batch),
            products,
            repeats=7,
        )
        here = f"batch {batch}:"
        rows += [
            Row(f"{here} a step in float32 (laptop) against transformers' GPT-J", theirs / exact, "x", ">= 1.8"),
            Row(f"{here} a step with bfloat16 products (quick) against the same", theirs / low, "x", ">= 1.8, aim 3"),
            Row(f"{here} share of the bare matrix products in float32, of a float32 step", bare / exact, "", "0.7"),
            Row(f"{here} (sequences per second: float32", batch / exact, "/s)"),
            Row(f"{here} (sequences per second: bfloat16", batch / low, "/s)"),
            Row(f"{here} (the bare products in float32", operations / bare / 1e9, "GFLOP/s)"),
        ]
    show("Training (12 layers, width 128, 17 tokens)", rows)
