"""Training speed: against transformers' own GPT-J, and against the rate of the bare matrix products.

The peer is the best of transformers' model run eagerly and under ``torch.compile``, in float32 and, where the processor
has instructions for it, in bfloat16. JAX is no peer here: it has no GPT-J of this shape, so the model would have to be
written anew, and it is not in this project's environment.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from benchmarks.measure import Row, seconds, show
from whatwhere.machine.device import fast_precision
from whatwhere.machine.threads import parallel_map
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


def their_step(batch: int, product: torch.dtype, *, compiled: bool):
    """The stock model with the paper's sizes; its loss shifts the labels, so the answer is the 18th token."""
    model = GPTJ(ModelConfig(VOCABULARY, dropout=RATE, attention_dropout=RATE)).to_hf().train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens = torch.randint(0, VOCABULARY, (batch, SEQ + 1))
    labels = torch.full_like(tokens, -100)
    labels[:, -1] = tokens[:, -1]
    run = torch.compile(model, dynamic=False) if compiled else model

    def step() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=product == torch.bfloat16):
            loss = run(input_ids=tokens, labels=labels, use_cache=False).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()

    return step


def matrix_products(batch: int, product: torch.dtype):
    """The products of one step and nothing else: forward, and two of the same size backward, in all layers.

    Each core has its share of the batch, as in training.

    Returns:
        A function that does them, in the shapes in which our model does, and the floating-point operations in it.
    """
    config, cores = ModelConfig(VOCABULARY), torch.get_num_threads()
    rows, d, inner = batch * SEQ // cores, config.d_model, 3 * config.d_model + config.d_mlp
    x, z, w_in = (torch.randn(*size).to(product) for size in ((rows, d), (rows, inner), (inner, d)))
    u, w_out = (torch.randn(*size).to(product) for size in ((rows, d + config.d_mlp), (d, d + config.d_mlp)))
    full = config.layers - 1  # the last layer computes little more than its keys and values
    operations = cores * 3 * 2 * rows * (w_in.numel() + w_out.numel()) * full

    def of_core(_: int) -> None:
        for _ in range(full):
            for left, right in ((x, w_in.t()), (z, w_in), (z.t(), x), (u, w_out.t()), (x, w_out), (x.t(), u)):
                torch.mm(left, right)

    return lambda: parallel_map(of_core, range(cores)), operations


def against_peers(batch: int, products: Sequence[torch.dtype], repeats: int) -> list[Row]:
    """Our fastest step against the fastest of theirs, on all cores."""
    kinds = [(product, compiled) for product in products for compiled in (False, True)]
    steps = [our_step(batch, product) for product in products]
    steps += [their_step(batch, product, compiled=compiled) for product, compiled in kinds]
    times = seconds(*steps, repeats=repeats)
    ours, theirs = times[: len(products)], times[len(products) :]
    here = f"batch {batch}, {torch.get_num_threads()} cores:"
    rows = [Row(f"{here} ours against the best of theirs", min(theirs) / min(ours), "x", ">= 3")]
    for product, time in zip(products, ours, strict=True):
        rows.append(Row(f"{here} (ours, {_name(product)}", batch / time, "/s)"))
    for (product, compiled), time in zip(kinds, theirs, strict=True):
        how = "torch.compile" if compiled else "eager"
        rows.append(Row(f"{here} (transformers' GPT-J, {how}, {_name(product)}", batch / time, "/s)"))
    return rows


def against_limit(batch: int, product: torch.dtype, repeats: int) -> list[Row]:
    """The share of the bare products' rate that a step reaches."""
    products, operations = matrix_products(batch, product)
    ours, bare = seconds(our_step(batch, product), products, repeats=repeats)
    cores = torch.get_num_threads()
    here = f"batch {batch}, {cores} core{'s' if cores > 1 else ''}, {_name(product)}:"
    return [
        Row(f"{here} share of the bare products' rate that a step reaches", bare / ours, "", ">= 0.75"),
        Row(f"{here} (the bare products", operations / bare / 1e9, "GFLOP/s)"),
    ]


def _name(product: torch.dtype) -> str:
    return str(product).removeprefix("torch.")


def main(batches: Sequence[int] = (64, 128), repeats: int = 15) -> None:
    """Prints sequences per second as ratios."""
    products = [torch.float32, *([torch.bfloat16] if fast_precision("cpu") == "bfloat16" else [])]
    rows: list[Row] = []
    for batch in batches:
        rows += against_peers(batch, products, repeats)
    most = torch.get_num_threads()
    for cores in sorted({1, most}):
        torch.set_num_threads(cores)
        for batch in batches:
            for product in products:
                rows += against_limit(batch, product, repeats)
    torch.set_num_threads(most)
    show("Training (12 layers, width 128, 17 tokens)", rows)
    if len(products) == 1:
        print("  (bfloat16 is left out: this processor has no instructions for it)")
