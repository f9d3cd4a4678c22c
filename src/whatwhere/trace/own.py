"""Our GPT-J as a traceable model.

Layers without changes keep the compiled path. So do changes of the rotation or the scale of whole layers: both go into
the tables of cosines and sines.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from whatwhere.errors import WhatwhereError
from whatwhere.model.gptj import GPTJ, Block
from whatwhere.trace.forward import AttentionCall, Inputs, Traceable, Visit
from whatwhere.trace.interventions import ClosePlanes, Intervention, ScaleAngles, ScaleLogits
from whatwhere.trace.layer import LayerTrace, Tokens


class OwnModel(Traceable):
    """Traces our GPT-J; the model itself is not changed.

    Args:
        model: the model.
        tabled: interventions that go into its tables of cosines and sines.
    """

    name = "GPT-J"

    def __init__(self, model: GPTJ, tabled: Sequence[Intervention] = ()) -> None:
        self.model, self.tabled = model, tabled
        self.depth, self.heads = model.config.layers, model.config.heads

    def run(
        self, tokens: Tokens | Mapping[str, Any], *, interventions: Sequence[Intervention] = (), last: int = 0
    ) -> Float[Tensor, "batch seq vocab"]:
        """See :class:`Traceable`."""
        if not interventions or not all(self._fits_tables(change) for change in interventions):
            return super().run(tokens, interventions=interventions, last=last)
        for change in interventions:
            change.check(self.depth, self.heads)
        return OwnModel(self.model, interventions).run(tokens, last=last)

    def _fits_tables(self, change: Intervention) -> bool:
        """Tables hold rotated coordinates only, and all heads share them."""
        if isinstance(change, ScaleLogits):
            return self.model.config.rotated == self.model.config.d_head
        return isinstance(change, ScaleAngles | ClosePlanes) and change.heads is None

    def _turns(self, index: int, seq: int) -> tuple[Float[Tensor, "2 seq plane"], Float[Tensor, "2 seq plane"]]:
        """The tables of cosines and sines for the queries and keys of a layer, with interventions."""
        changes = [change for change in self.tabled if change.changes(index)]
        if not changes:
            return self.model.turns_of(index, seq)
        one, start = torch.ones(1, 1, 1, self.model.config.d_head), torch.zeros(1, dtype=torch.long)
        layer = LayerTrace(
            index, one, one, self.model.rotation_of(index), 1.0, start, torch.ones(1, 1, dtype=torch.bool)
        )
        for change in changes:
            layer = change.attend(layer, start[0])
        gate = layer.rotation.planes(layer.queries)[0, 0, 0, :, 0] * layer.scale  # [plane]
        angles = torch.arange(seq, dtype=torch.float64)[:, None] * layer.rotation.frequencies  # [seq, plane]
        turns = torch.stack([angles.cos(), angles.sin()]).to(self.model.turns(seq))
        return turns * gate.to(turns) * self.model.gates[index], turns

    def inputs(self, tokens: Tokens | Mapping[str, Any]) -> Inputs:
        """See :class:`Traceable`; padding is not supported."""
        return Inputs.whole(self.model.check_tokens(plain_ids(tokens, self.name)))

    def forward(self, inputs: Inputs, visit: Visit, layers: Collection[int]) -> Float[Tensor, "batch seq vocab"]:
        """See :class:`Traceable`."""
        seq = inputs.ids.shape[1]
        x = self.model.embedding(inputs.ids)  # [batch, seq, d_model]
        for index, block in enumerate(self.model.layers()):
            edit = visit(self._call(index, block, x)) if index in layers else None
            last_only = inputs.last == 1 and index == self.depth - 1
            x = block(x, *self._turns(index, seq), last_only=last_only, edit=edit)
        return self.model.head(self.model.norm(x))

    def _call(self, index: int, block: Block, x: Float[Tensor, "batch seq d_model"]) -> AttentionCall:
        w_query, w_key, w_value, _ = block.w_in.split(block.sizes)

        def read(places: Int[Tensor, "query"]) -> LayerTrace:
            y = block.norm(x)
            gate = torch.ones(self.model.config.d_head, device=x.device)
            gate[: self.model.config.rotated] = self.model.gates[index].repeat(2)
            return LayerTrace(
                layer=index,
                queries=block.split_heads(functional.linear(y[:, places], w_query)) * gate.to(x),
                keys=block.split_heads(functional.linear(y, w_key)),
                rotation=self.model.rotation_of(index),
                scale=block.scale,
                query_positions=places,
                visible=torch.arange(x.shape[1], device=x.device) <= places[:, None],
            )

        return AttentionCall(index, read, lambda: block.split_heads(functional.linear(block.norm(x), w_value)))


def plain_ids(tokens: Tokens | Mapping[str, Any], name: str) -> Tokens:
    """Tokens for a model without padding; an attention mask is an error."""
    if isinstance(tokens, Mapping):
        raise WhatwhereError(
            f"expected a table of ids for a {name}, got tokens with an attention mask; only transformers models take "
            "one."
        )
    return tokens
