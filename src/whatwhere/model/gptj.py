"""The paper's transformer, on one page: GPT-J, trained on the last token only.

How it differs from the textbook decoder:

- attention and MLP are parallel: ``x + drop(attention(norm(x)) + mlp(norm(x)))``, one LayerNorm for both. So a
  block is two matrices: ``w_in`` makes queries, keys, values and the MLP's hidden layer at once, ``w_out`` takes the
  attended values and the activated hidden layer back;
- rotary positions on the whole head (64 planes for width 128), no other positions. Inside, a plane's two coordinates
  stand half a head apart; GPT-J's own pairs are adjacent. Export (:mod:`whatwhere.model.export`) permutes them,
  and the trace carries its layout, so plane k is the paper's frequency ID k + 1 everywhere;
- no bias in attention, bias in the MLP, exact GELU (GPT-J's own is the tanh form), untied output with bias, LayerNorm
  epsilon 1e-5;
- one head per layer by default: a layer is a head;
- the answer is read at the last position, so the last layer computes its query, its MLP and the output there only;
- dropout is given by the caller (:class:`~whatwhere.model.dropout.Dropout`), and one mask serves attention and MLP.

Axes: batch, seq, head, d_model, d_head, plane, vocab.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from whatwhere.errors import WhatwhereError
from whatwhere.machine import memory
from whatwhere.machine.threads import parallel_map
from whatwhere.model.dropout import Dropout
from whatwhere.model.kernel.fused import alone, serves
from whatwhere.model.kernel.layers import multiplies, through
from whatwhere.model.rope import Rotation, rope_frequencies
from whatwhere.model.shape import ModelConfig

if TYPE_CHECKING:
    from transformers import GPTJForCausalLM

    from whatwhere.tasks.task import Task

NORM_EPSILON = 1e-5
Tokens = np.ndarray | Tensor
"""Token ids ``[batch, seq]``, whole numbers."""
Edit = Callable[[Float[Tensor, "batch kept head d_head"]], Float[Tensor, "batch kept head d_head"]]
"""A change of what the heads of one layer attended to, before it is written to the residual stream."""
Written = Float[Tensor, "#batch positions head d_head"]
"""What the heads of one layer write instead of what they attend to; their attention is not computed."""
_CELLS_AT_ONCE = 1 << 20
"""Activations of one layer that prediction holds at a time on each core: about the size of its cache."""
_MODULE = 1 << 14
"""Memory of the objects of one layer beside its weights, in bytes."""


class Block(nn.Module):
    """One layer: attention and MLP in parallel on a shared LayerNorm.

    ``w_in`` holds the rows of queries, keys, values and MLP, in this order; ``w_out`` the columns of attention and MLP.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        d, inner = config.d_model, config.d_mlp
        self.heads = config.heads
        self.sizes = (d, d, d, inner)
        self.scale = 1 / math.sqrt(config.d_head)
        self.attention_rate, self.output_rate = config.attention_dropout, config.dropout
        self.approximate = "tanh" if config.activation == "gelu_tanh" else "none"  # GELU in torch's words
        self.product = torch.float32
        """Precision of the large products on a CPU."""
        self.norm = nn.LayerNorm(d, eps=NORM_EPSILON)
        self.w_in = nn.Parameter(torch.empty(3 * d + inner, d))
        self.b_mlp = nn.Parameter(torch.zeros(inner))
        self.w_out = nn.Parameter(torch.empty(d, d + inner))
        self.b_out = nn.Parameter(torch.zeros(d))

    def split_heads(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch head seq d_head"]:
        """Splits the width into heads."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(
        self,
        x: Float[Tensor, "batch seq d_model"],
        query_turn: Float[Tensor, "2 seq plane"],
        key_turn: Float[Tensor, "2 seq plane"],
        dropout: Dropout | None = None,
        last_only: bool = False,
        edit: Edit | Written | None = None,
    ) -> Float[Tensor, "batch kept d_model"]:
        """The residual stream after this layer, at every position or at the last only.

        Args:
            x: the residual stream before it.
            query_turn: cosines and sines by which queries turn, closed planes being 0.
            key_turn: the same for keys.
            dropout: where masks come from; None for none.
            last_only: compute the last position alone (the keys and values of all positions are still needed).
            edit: changes what the heads attended to, before it is written to the stream, or is what they write instead;
                None leaves it.
        """
        batch, seq, d = x.shape
        kept = 1 if last_only else seq
        at_queries = x[:, -kept:]
        if isinstance(edit, Tensor):
            return self.write(at_queries, edit[:, -kept:])
        if serves(x) and (edit is None or not torch.is_grad_enabled()):
            if edit is None and multiplies(self, x):
                return through([self], x, [(query_turn, key_turn)], dropout, kept)
            return alone(self, x, (query_turn, key_turn), dropout, kept, edit)
        attention_mask = dropout.mask(self.attention_rate, (batch, self.heads, kept, seq)) if dropout else None
        output_mask = dropout.mask(self.output_rate, (batch, kept, d)) if dropout else None
        w_query, w_key_value, _ = self.w_in.split((d, 2 * d, self.sizes[-1]))
        y = self.norm(x)
        y_at_queries = y[:, -kept:]
        queries = self.split_heads(functional.linear(y_at_queries, w_query))  # [batch, head, kept, d_head]
        keys, values = (self.split_heads(part) for part in functional.linear(y, w_key_value).chunk(2, -1))
        queries, keys = turn(queries, query_turn[:, -kept:]), turn(keys, key_turn)
        if attention_mask is None:
            attended = functional.scaled_dot_product_attention(
                queries, keys, values, is_causal=not last_only, scale=self.scale
            )
        else:  # torch's own dropout would take its masks from elsewhere
            scores = queries @ keys.mT * self.scale  # [batch, head, kept, seq]
            if not last_only:  # causal mask
                scores = scores + torch.full((seq, seq), -torch.inf, dtype=x.dtype, device=x.device).triu(1)
            attended = scores.softmax(-1) * attention_mask @ values
        attended = attended.transpose(1, 2)  # [batch, kept, head, d_head]
        return self.write(at_queries, attended if edit is None else edit(attended), output_mask, y_at_queries)

    def write(
        self,
        x: Float[Tensor, "batch kept d_model"],
        attended: Float[Tensor, "#batch kept head d_head"],
        output_mask: Tensor | None = None,
        normed: Float[Tensor, "batch kept d_model"] | None = None,
    ) -> Float[Tensor, "batch kept d_model"]:
        """The residual stream after this layer, at some positions, if its heads attended to this there.

        ``x`` is the stream before it, and ``normed`` the same behind the norm, where it is known.
        """
        w_mlp, (w_attended, w_hidden) = self.w_in[-self.sizes[-1] :], self.w_out.split((x.shape[-1], self.sizes[-1]), 1)
        y = self.norm(x) if normed is None else normed
        hidden = functional.gelu(functional.linear(y, w_mlp, self.b_mlp), approximate=self.approximate)
        output = functional.linear(attended.flatten(2), w_attended, self.b_out) + functional.linear(hidden, w_hidden)
        return x + (output if output_mask is None else output * output_mask)


def turn(x: Float[Tensor, "*any seq d_head"], by: Float[Tensor, "2 seq plane"]) -> Float[Tensor, "*any seq d_head"]:
    """Rotates vectors in half-split layout by the given cosines and sines; coordinates past the planes stay."""
    cos, sin = by
    planes = cos.shape[-1]
    first, second, rest = x[..., :planes], x[..., planes : 2 * planes], x[..., 2 * planes :]
    return torch.cat([first * cos - second * sin, second * cos + first * sin, rest], -1)


class GPTJ(nn.Module):
    """The whole model.

    Args:
        config: its shape.
        seed: of the initial weights, N(0, init_std^2) for every matrix; None for weights that will be replaced.
    """

    task: Task | None = None
    """The task it was trained on, where known."""

    def __init__(self, config: ModelConfig, seed: int | None = 0) -> None:
        super().__init__()
        memory.require(4 * config.parameters + _MODULE * config.layers, f"a model of {config.parameters:,} weights")
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.d_model, eps=NORM_EPSILON)
        self.head = nn.Linear(config.d_model, config.vocab_size)
        self.rotation = Rotation(rope_frequencies(config.rotated, config.rope_base), layout="half")
        gates = torch.ones(config.layers, config.rotated // 2)
        for layer, closed in enumerate(config.closed_planes):
            gates[layer, [plane - 1 for plane in closed]] = 0
        self.register_buffer("gates", gates, persistent=False)  # [layer, plane]
        self.gates: Tensor
        self._turns: Tensor | None = None
        if seed is None:
            return
        generator = torch.Generator().manual_seed(seed)
        for name, parameter in self.named_parameters():
            if name.endswith(("bias", "b_mlp", "b_out")):
                nn.init.zeros_(parameter)
            elif "norm" not in name:
                nn.init.normal_(parameter, std=config.init_std, generator=generator)

    def multiply_in(self, product: torch.dtype) -> None:
        """Sets the precision of the large matrix products on a CPU, float32 or bfloat16; all else is float32."""
        for block in self.layers():
            block.product = product

    def layers(self) -> Iterator[Block]:
        """The blocks, first to last."""
        for block in self.blocks:
            assert isinstance(block, Block)
            yield block

    def turns(self, seq: int) -> Float[Tensor, "2 seq plane"]:
        """Cosines and sines of every position and plane, kept for the longest input so far."""
        device = self.gates.device
        if self._turns is None or self._turns.shape[1] < seq or self._turns.device != device:
            angles = torch.arange(seq, dtype=torch.float64)[:, None] * self.rotation.frequencies  # [seq, plane]
            self._turns = torch.stack([angles.cos(), angles.sin()]).to(device, torch.float32)
        return self._turns[:, :seq]

    def turns_of(
        self, layer: int, seq: int, positions: Int[Tensor, "seq"] | None = None
    ) -> tuple[Float[Tensor, "2 seq plane"], Float[Tensor, "2 seq plane"]]:
        """By what the queries and the keys of a layer turn; closed planes are 0 for queries, and NoPE turns by 0.

        Tokens stand at 0, 1, 2, .. unless ``positions`` says otherwise.
        """
        keys = self.turns(seq) if positions is None else self.turns(int(positions.max()) + 1)[:, positions]
        if self._unrotated(layer):
            keys = torch.stack([torch.ones_like(keys[0]), torch.zeros_like(keys[1])])
        return keys * self.gates[layer], keys

    def rotation_of(self, layer: int) -> Rotation:
        """The rotation of a layer: frequencies of 0 where it has none."""
        if self._unrotated(layer):
            return Rotation(torch.zeros_like(self.rotation.frequencies), self.rotation.layout)
        return self.rotation

    def _unrotated(self, layer: int) -> bool:
        return self.config.nope_from is not None and layer >= self.config.nope_from

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        """The logits of the next token at every position."""
        *_, x = self.residuals(tokens)
        return self.head(self.norm(x))

    def answer_logits(
        self, tokens: Int[Tensor, "batch seq"], dropout: Dropout | None = None
    ) -> Float[Tensor, "batch vocab"]:
        """The logits at the last position: all that training and prediction need (paper, last-token prediction)."""
        return self.read_out(self.at_end(tokens, dropout))

    def at_end(
        self,
        tokens: Int[Tensor, "batch seq"],
        dropout: Dropout | None = None,
        positions: Int[Tensor, "seq"] | None = None,
    ) -> Float[Tensor, "batch 1 d_model"]:
        """The residual stream after the last layer at the last position, arguments as for :meth:`residuals`."""
        blocks, x = list(self.layers()), self.embed(tokens, dropout)
        if serves(x) and multiplies(blocks[0], x):
            turns = (self.turns_of(layer, tokens.shape[1], positions) for layer in range(len(blocks)))
            return through(blocks, x, list(turns), dropout, kept=1)
        return list(self.residuals(tokens, dropout, True, positions=positions, embedded=x))[-1]

    def embed(self, tokens: Int[Tensor, "batch seq"], dropout: Dropout | None) -> Float[Tensor, "batch seq d_model"]:
        """The residual stream before the first layer."""
        x = self.embedding(tokens)
        mask = None if dropout is None else dropout.mask(self.config.dropout, x.shape)
        return x if mask is None else x * mask

    def read_out(self, x: Float[Tensor, "batch kept d_model"]) -> Float[Tensor, "batch vocab"]:
        """The logits at the last position, from the residual stream after the last layer."""
        return self.head(self.norm(x[:, -1]))

    def residuals(
        self,
        tokens: Int[Tensor, "batch seq"],
        dropout: Dropout | None = None,
        last_only: bool = False,
        edits: Mapping[int, Edit | Written] | None = None,
        positions: Int[Tensor, "seq"] | None = None,
        embedded: Float[Tensor, "batch seq d_model"] | None = None,
    ) -> Iterator[Float[Tensor, "batch kept d_model"]]:
        """The residual stream before the first layer and after each; after the last layer maybe at the end only.

        Args:
            tokens: ids.
            dropout: where masks come from; None for none.
            last_only: leave out what only the other positions of the last layer need.
            edits: per layer, a change of what its heads attended to (ablation, patching).
            positions: where tokens stand, if not at 0, 1, 2, ..
            embedded: what :meth:`embed` gave, where it is known.
        """
        x = self.embed(tokens, dropout) if embedded is None else embedded  # [batch, seq, d_model]
        yield x
        for layer, block in enumerate(self.layers()):
            end_only = last_only and layer == len(self.blocks) - 1
            turns = self.turns_of(layer, tokens.shape[1], positions)
            x = block(x, *turns, dropout, end_only, (edits or {}).get(layer))
            yield x

    def predict(self, tokens: Tokens) -> Int[np.ndarray, "batch"]:
        """The answers: the likeliest token after each sequence, in batches that fit in memory.

        Raises:
            WhatwhereError: the tokens are not a table of ids of this vocabulary.
        """
        ids = self.check_tokens(tokens)
        seq = ids.shape[1]
        cells = seq * (3 * self.config.d_model + self.config.d_mlp + self.config.heads * seq)
        batches = ids.split(max(1, _CELLS_AT_ONCE // cells))

        @torch.no_grad()  # a setting of each thread
        def answer(batch: Tensor) -> Tensor:
            return self.answer_logits(batch).argmax(-1)

        each = parallel_map(answer, batches) if ids.device.type == "cpu" else [answer(batch) for batch in batches]
        return torch.cat(each).cpu().numpy()

    def check_tokens(self, tokens: Tokens) -> Int[Tensor, "batch seq"]:
        """Token ids as a tensor on the model's device.

        Raises:
            WhatwhereError: they are not a table of whole numbers within the vocabulary.
        """
        try:
            ids = torch.as_tensor(tokens, device=self.gates.device)
        except (TypeError, ValueError, RuntimeError, OverflowError) as error:
            if memory.is_exhausted(error):
                raise
            raise WhatwhereError(
                f"expected tokens as a table of ids [batch, seq], got a {type(tokens).__name__}: {error!s:.100}."
            ) from error
        if ids.ndim != 2 or ids.is_floating_point() or ids.is_complex() or ids.shape[1] == 0:
            raise WhatwhereError(
                f"expected tokens as a table of ids [batch, seq], got {ids.dtype} of shape {tuple(ids.shape)}."
            )
        if ids.numel() and not (int(ids.min()) >= 0 and int(ids.max()) < self.config.vocab_size):
            raise WhatwhereError(
                f"expected token ids in 0..{self.config.vocab_size - 1}, this model's vocabulary, "
                f"got {int(ids.min())}..{int(ids.max())}."
            )
        return ids.long()

    def to_hf(self) -> GPTJForCausalLM:
        """The same model as a ``transformers`` GPTJForCausalLM."""
        from whatwhere.model.export import to_hf

        return to_hf(self)

    @classmethod
    def from_hf(cls, model: GPTJForCausalLM) -> GPTJ:
        """One of ours from a ``transformers`` GPTJForCausalLM."""
        from whatwhere.model.export import from_hf

        return from_hf(model)
