"""A penalty on the positional score of chosen layers, so that training prefers symbolic heads.

The score is that of Section "Scores": two keys swap contents, and the cosine of attention before and after is averaged
over all swaps, each weighted by the attention that it moves. With ``d`` the logit difference of the two keys before the
swap and ``d'`` after it, and ``r = tanh(d / 2)``,

    c_sym = (1 - r r') / sqrt((1 + r^2)(1 + r'^2)) = cosh((d - d') / 2) / sqrt(cosh d cosh d').

What is penalised is the *centred* positional score, ``1 - c_sym``: 1 for a sharp positional head, 0 for a symbolic head
and for one that looks nowhere. The score itself is 1 for a flat head, too; as a penalty it drives untrained heads to
look sharply at anything, and the task is learned later or not at all (docs/preference.md).

Queries and keys follow from the residual stream before a layer, so the compiled blocks stay in use. Only some sequences
of each batch are scored, and only the queries that point. :mod:`whatwhere.heads` computes the same number from a trace,
for any model; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from whatwhere.model.gptj import GPTJ

TAU = 0.1
"""Temperature of the weights: the largest of the band over which scores are reported, whose gradient is smoothest."""
ROWS = 16
"""Sequences of a batch that are scored, at most."""
CELLS = 1 << 21
"""Entries of the largest temporary of one head; large models and long inputs are scored on fewer sequences."""


@dataclass(frozen=True)
class Penalty:
    """How much the centred positional score of some layers adds to the loss."""

    weight: float
    layers: tuple[int, ...]
    first_query: int
    """The first position that is scored: that of the first pointer."""

    def loss(
        self,
        model: GPTJ,
        streams: Sequence[Float[Tensor, "some seq d_model"]],
        batch: int,
        first_row: int,
        positions: Int[Tensor, "seq"] | None = None,
    ) -> Float[Tensor, ""]:
        """The share of some sequences in the penalty of their batch; the shares of all parts sum to the penalty.

        ``streams`` are their residual streams before each layer. ``first_row`` is their index in the ``batch``, of
        which the first ROWS sequences are scored. ``positions`` are those of the tokens, if not 0, 1, 2, ..
        """
        rows, queries = self.scored(batch, streams[0].shape[1], model.config.d_model)
        mine = max(0, min(rows - first_row, len(streams[0])))
        if not mine:
            return streams[0].new_zeros(())
        each = centred_scores(model, [stream[:mine] for stream in streams], self.layers, queries, positions)
        last = torch.tensor(self.layers) == len(streams) - 1
        means = torch.where(last[:, None].to(each.device), each[..., -1].mean(2), each.mean((2, 3)))  # [layer, n]
        return self.weight * means.sum() / (rows * len(self.layers))

    def scored(self, batch: int, seq: int, width: int) -> tuple[int, list[int]]:
        """How many sequences are scored, and at which positions, so that no temporary has more than CELLS entries.

        The width is that of all heads together: a query is rotated to every place.
        """
        of_query = len(self.layers) * seq * max(seq, width)
        queries = list(range(max(2, min(self.first_query, seq - 1)), seq))[-max(1, CELLS // of_query) :]
        return max(1, min(batch, ROWS, CELLS // (len(queries) * of_query))), queries


def centred_scores(
    model: GPTJ,
    streams: Sequence[Float[Tensor, "n seq d_model"]],
    layers: Sequence[int],
    queries: Sequence[int],
    positions: Int[Tensor, "seq"] | None = None,
    tau: float = TAU,
) -> Float[Tensor, "layer n head query"]:
    """The centred positional scores of the heads of some layers, differentiable in streams and weights.

    All ``layers`` are scored at once, because many small operations would be slower. ``queries`` are positions from 2
    on, since a swap needs two keys before the query.
    """
    both = [_queries_and_keys(model, layer, streams[layer], queries) for layer in layers]
    asked, keys = (torch.stack(each) for each in zip(*both, strict=True))  # [layer, n, head, query or key, d_head]
    seq, device = keys.shape[3], keys.device
    places, own = torch.arange(seq, device=device), torch.tensor(list(queries), device=device)[:, None]
    at = torch.arange(seq) if positions is None else positions.cpu()
    table = _content_by_place(model, layers, asked, keys, at[list(queries)][:, None] - at)
    logits = table.diagonal(dim1=-2, dim2=-1)  # [layer, n, head, query, key]
    r = ((logits[..., :, None] - logits[..., None, :]) / 2).tanh()  # [layer, n, head, query, place, place]
    s = ((table - table.mT) / 2).tanh()
    changed = 1 - (1 - r * s) * ((1 + r * r) * (1 + s * s)).rsqrt()
    attention = logits.masked_fill(places > own, -torch.inf).softmax(-1)
    moved = (attention[..., :, None] - attention[..., None, :]).abs() / tau
    before = places < own  # [query, key]
    swapped = before[:, :, None] & before[:, None, :] & (places[:, None] != places)
    weights = moved.masked_fill(~swapped, -torch.inf).flatten(-2).softmax(-1)
    return (weights * changed.flatten(-2)).sum(-1)


def _queries_and_keys(
    model: GPTJ, layer: int, x: Float[Tensor, "n seq d_model"], queries: Sequence[int]
) -> tuple[Float[Tensor, "n head query d_head"], Float[Tensor, "n head seq d_head"]]:
    """Before rotation; queries are scaled."""
    block = list(model.layers())[layer]
    w_query, w_key, *_ = block.w_in.split(block.sizes)
    y = block.norm(x)
    asked = functional.linear(y[:, list(queries)], w_query) * block.scale
    return block.split_heads(asked), block.split_heads(functional.linear(y, w_key))


def _content_by_place(
    model: GPTJ,
    layers: Sequence[int],
    asked: Float[Tensor, "layer n head query d_head"],
    keys: Float[Tensor, "layer n head key d_head"],
    away: Int[Tensor, "query place"],
) -> Float[Tensor, "layer n head query place content"]:
    """The logit of each content at each place: products of keys with the query rotated by the distance."""
    planes, width = model.rotation.planes, model.rotation.width
    frequencies = torch.stack([model.rotation_of(layer).frequencies.cpu() for layer in layers])
    angle = away.double()[..., None] * frequencies[:, None, None, None, None]  # [layer, 1, 1, query, place, plane]
    cos, sin = angle.cos().to(asked), angle.sin().to(asked)
    gates = model.gates[list(layers)][:, None, None, None, None]  # [layer, 1, 1, 1, 1, plane]
    one, other = ((part * gates) for part in planes(asked)[..., None, :, :].unbind(-1))
    turned = torch.cat(
        [one * cos - other * sin, other * cos + one * sin], -1
    )  # [layer, n, head, query, place, rotated]
    first, second = planes(keys).unbind(-1)
    products = turned @ torch.cat([first, second], -1).mT[..., None, :, :]
    still = asked[..., width:] @ keys[..., width:].mT  # coordinates that do not turn
    return products + still[..., None, :]
