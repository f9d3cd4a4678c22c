"""The gradient of one batch: each core computes the share of some sequences; the shares are added in a fixed order."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional

from whatwhere.machine.threads import parallel_map, split
from whatwhere.model.dropout import Dropout
from whatwhere.model.gptj import GPTJ
from whatwhere.training.penalty import Penalty

MICRO_BATCH = 64
"""Sequences in one forward pass on a core: more would take more memory and not be faster."""


def loss_and_gradients(
    model: GPTJ,
    tokens: Int[Tensor, "batch seq"],
    answers: Int[Tensor, "batch"],
    dropout: Callable[[int], Dropout | None],
    rows: range | None = None,
    autocast: bool = False,
    positions: Int[Tensor, "seq"] | None = None,
    penalty: Penalty | None = None,
) -> tuple[float, list[Tensor]]:
    """The share of some rows in the batch's mean cross entropy, and its gradient.

    Args:
        model: the model to train.
        tokens: the whole batch.
        answers: the correct next tokens.
        dropout: gives the masks of the sequences from a row on; None for no dropout.
        rows: the rows to compute; all by default.
        autocast: whether torch chooses where to compute in bfloat16.
        positions: positions of the tokens, if not 0, 1, 2, ..
        penalty: an additional term of the loss.
    """
    rows = range(len(tokens)) if rows is None else rows
    parameters, device = list(model.parameters()), tokens.device.type

    def of_share(share: range) -> tuple[float, list[Tensor]]:
        found: list[tuple[float, list[Tensor]]] = []
        together = MICRO_BATCH if device == "cpu" else max(1, len(share))
        for first in range(share.start, max(share.stop, share.start + 1), together):  # without sequences: zeros
            some = slice(first, min(first + together, share.stop))
            with torch.autocast(device, torch.bfloat16, enabled=autocast):
                if penalty is None:
                    streams, x = [], model.at_end(tokens[some], dropout(first), positions)
                else:
                    *streams, x = model.residuals(tokens[some], dropout(first), last_only=True, positions=positions)
                logits = model.read_out(x)
            loss = functional.cross_entropy(logits.float(), answers[some], reduction="sum") / len(tokens)
            if penalty is not None:
                loss = loss + penalty.loss(model, streams, len(tokens), first, positions)
            found = [_sum([*found, (loss.item(), list(torch.autograd.grad(loss, parameters)))])]
        return found[0]

    shares = min(torch.get_num_threads(), len(rows)) if device == "cpu" else 1
    return _sum(parallel_map(of_share, split(rows, max(1, shares))))


def _sum(found: list[tuple[float, list[Tensor]]]) -> tuple[float, list[Tensor]]:
    """Sums losses and gradients in place into the first, a part of the parameters on each core."""
    (_, total), *others = found

    def add(part: range) -> None:
        for _, more in others:
            for i in part:
                total[i].add_(more[i])

    if others:
        parallel_map(add, split(range(len(total)), torch.get_num_threads()))
    return sum(loss for loss, _ in found), total
