"""Training speed: against transformers' own GPT-J, and against the rate of the bare matrix products.

The peer is the best of transformers' model run eagerly and under ``torch.compile`` and of the same model in JAX, in
float32 and, where the processor has instructions for it, in bfloat16.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from benchmarks import jax_gptj
from benchmarks.measure import Row, seconds, show
from whatwhere.machine.device import fast_precision
from whatwhere.machine.threads import keep_memory, parallel_map
from whatwhere.model.dropout import Dropout
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.tasks import make_task
from whatwhere.training.config import Schedule, TrainingConfig
from whatwhere.training.gradient import loss_and_gradients
from whatwhere.training.optimiser import Optimiser

VOCABULARY = 136
RATE = 0.1
Step = Callable[[], None]


@dataclass(frozen=True)
class Shape:
    """What a step is made of; by default the paper's model."""

    batch: int
    seq: int = 17
    heads: int = 1
    width: int = 128

    def config(self) -> ModelConfig:
        """The model."""
        d, rate = self.width, RATE
        return ModelConfig(
            VOCABULARY, heads=self.heads, d_model=d, d_mlp=4 * d, dropout=rate, attention_dropout=rate
        )  # fmt: skip

    def data(self, more: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
        """Tokens ``[batch, seq + more]`` and answers ``[batch]``."""
        tokens = torch.randint(0, VOCABULARY, (self.batch, self.seq + more))
        return tokens, torch.randint(0, VOCABULARY, (self.batch,))

    def __str__(self) -> str:
        unusual = f", {self.seq} tokens, {self.heads} heads" if (self.seq, self.heads) != (17, 1) else ""
        cores = torch.get_num_threads()
        return f"batch {self.batch}{unusual}, {cores} core{'s' if cores > 1 else ''}"


def our_step(shape: Shape, product: torch.dtype) -> Step:
    """A step as training makes it."""
    config = TrainingConfig(make_task("number"), shape.config(), Schedule(peak=1e-4, warmup=1, steps=1))
    model = GPTJ(config.model)
    model.multiply_in(product)
    optimiser = Optimiser(model, config)
    tokens, answers = shape.data()

    def step() -> None:
        _, gradients = loss_and_gradients(model, tokens, answers, lambda row: Dropout(0, 0, row))
        optimiser.step(gradients, rate=1e-4)

    return step


def their_step(shape: Shape, product: torch.dtype, *, compiled: bool) -> Step:
    """The stock model with the paper's sizes; its loss shifts the labels, so the answer is one token more."""
    model = GPTJ(shape.config()).to_hf().train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens, _ = shape.data(more=1)
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


def jax_step(shape: Shape, product: torch.dtype) -> Step:
    """The same model in JAX, compiled by XLA."""
    tokens, answers = shape.data()
    return jax_gptj.training_step(GPTJ(shape.config()), tokens.numpy(), answers.numpy(), product)


PEERS: dict[str, Callable[[Shape, torch.dtype], Step]] = {
    "transformers' GPT-J, eager": partial(their_step, compiled=False),
    "transformers' GPT-J, torch.compile": partial(their_step, compiled=True),
    "JAX": jax_step,
}


def matrix_products(batch: int, product: torch.dtype):
    """The products of one step and nothing else: forward, and two of the same size backward, in all layers.

    Each core has its share of the batch, as in training.

    Returns:
        A function that does them, in the shapes in which our model does, and the floating-point operations in it.
    """
    config, cores = ModelConfig(VOCABULARY), torch.get_num_threads()
    rows, d, inner = batch * Shape(batch).seq // cores, config.d_model, 3 * config.d_model + config.d_mlp
    x, z, w_in = (torch.randn(*size).to(product) for size in ((rows, d), (rows, inner), (inner, d)))
    u, w_out = (torch.randn(*size).to(product) for size in ((rows, d + config.d_mlp), (d, d + config.d_mlp)))
    full = config.layers - 1  # the last layer computes little more than its keys and values
    operations = cores * 3 * 2 * rows * (w_in.numel() + w_out.numel()) * full

    def of_core(_: int) -> None:
        for _ in range(full):
            for left, right in ((x, w_in.t()), (z, w_in), (z.t(), x), (u, w_out.t()), (x, w_out), (x.t(), u)):
                torch.mm(left, right)

    return lambda: parallel_map(of_core, range(cores)), operations


def against_peers(shape: Shape, products: Sequence[torch.dtype], goal: str, repeats: int) -> list[Row]:
    """Our fastest step against the fastest of theirs, on all cores."""
    makers = {"ours": our_step, **PEERS}
    kinds = [(who, product) for who in makers for product in products]
    steps = [makers[who](shape, product) for who, product in kinds]
    times = dict(zip(kinds, seconds(*steps, repeats=repeats), strict=True))
    best = {who: min(times[who, product] for product in products) for who in makers}
    ours = best.pop("ours")
    return [
        Row(f"{shape}: ours against the best of theirs", min(best.values()) / ours, "x", goal),
        *(
            Row(f"{shape}: ({who}, {_name(product)}", shape.batch / time, "/s)")
            for (who, product), time in times.items()
        ),
    ]


def against_limit(batch: int, product: torch.dtype, repeats: int) -> list[Row]:
    """The share of the bare products' rate that a step reaches."""
    products, operations = matrix_products(batch, product)
    ours, bare = seconds(our_step(Shape(batch), product), products, repeats=repeats)
    here = f"{Shape(batch)}, {_name(product)}:"
    return [
        Row(f"{here} share of the bare products' rate that a step reaches", bare / ours, "", ">= 0.75"),
        Row(f"{here} (the bare products", operations / bare / 1e9, "GFLOP/s)"),
    ]


def _name(product: torch.dtype) -> str:
    return str(product).removeprefix("torch.")


def main(batches: Sequence[int] = (64, 128), repeats: int = 15) -> None:
    """Prints sequences per second as ratios."""
    keep_memory()  # as a training does; the peers gain by it, too
    products = [torch.float32, *([torch.bfloat16] if fast_precision("cpu") == "bfloat16" else [])]
    for batch in batches:
        show(f"Training (12 layers, width 128), batch {batch}", against_peers(Shape(batch), products, ">= 3", repeats))
    longer = Shape(16, seq=128, heads=8)
    show("Training, longer inputs", against_peers(longer, products, ">= 1.3", repeats))
    most = torch.get_num_threads()
    for cores in sorted({1, most}):
        torch.set_num_threads(cores)
        rows = [row for batch in batches for product in products for row in against_limit(batch, product, repeats)]
        show(f"A step against its bare products, cores: {cores}", rows)
    torch.set_num_threads(most)
    if len(products) == 1:
        print("  (bfloat16 is left out: this processor has no instructions for it)")
