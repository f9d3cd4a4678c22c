"""Runs that differ from a finished one at late positions only.

Attention is causal: what is changed at some position reaches that position and later ones. The keys and values of all
earlier positions are those of the finished run, in every layer. So only the later positions are computed anew.
"""

from __future__ import annotations

from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from whatwhere.model.gptj import GPTJ, turn
from whatwhere.studies.mechanism.observation import Edits


class LaterPositions:
    """Goes on from changed states of a run.

    ``states`` is the residual stream of the finished run, before the first layer and after each.
    """

    def __init__(self, model: GPTJ, states: Float[Tensor, "depth n seq d_model"]) -> None:
        self.model, self.states = model, states
        self.blocks = list(model.layers())
        self._before = cache(lambda layer: self._keys_and_values(layer, states[layer]))

    def _keys_and_values(
        self, layer: int, state: Float[Tensor, "n kept d_model"]
    ) -> tuple[Float[Tensor, "n head kept d_head"], Float[Tensor, "n head kept d_head"]]:
        """Turned keys, and values, of the last positions."""
        block, seq = self.blocks[layer], self.states.shape[2]
        _, w_key_value, _ = block.w_in.split((block.sizes[0], 2 * block.sizes[0], block.sizes[-1]))
        both = functional.linear(block.norm(state), w_key_value).chunk(2, -1)
        keys, values = (block.split_heads(part) for part in both)
        return turn(keys, self.model.turns_of(layer, seq)[1][:, -state.shape[1] :]), values

    @torch.no_grad()
    def attend(
        self, layer: int, state: Float[Tensor, "n kept d_model"], asked: int | None = None
    ) -> Float[Tensor, "n asked head d_head"]:
        """What the heads of a layer write at the last positions: ``asked`` of them, by default all that are given.

        ``state`` is the residual stream before the layer, from the first changed position on.
        """
        block, seq, kept = self.blocks[layer], self.states.shape[2], state.shape[1]
        asked = kept if asked is None else asked
        pairs = zip(self._before(layer), self._keys_and_values(layer, state), strict=True)
        keys, values = (torch.cat([old[:, :, : seq - kept], new], 2) for old, new in pairs)
        queries = block.split_heads(functional.linear(block.norm(state[:, -asked:]), block.w_in[: block.sizes[0]]))
        queries = turn(queries, self.model.turns_of(layer, seq)[0][:, -asked:])
        visible = torch.ones(asked, seq, dtype=torch.bool, device=state.device).tril(seq - asked)
        attended = functional.scaled_dot_product_attention(queries, keys, values, visible, scale=block.scale)
        return attended.transpose(1, 2)

    @torch.no_grad()
    def logits(
        self, state: Float[Tensor, "n kept d_model"], start: int, edits: Edits | None = None
    ) -> Float[Tensor, "n vocab"]:
        """The logits of the answer, from the residual stream before a layer, from the first changed position on.

        The finished run had the same ``edits``.
        """
        for layer in range(start, len(self.blocks)):
            asked = 1 if layer == len(self.blocks) - 1 else state.shape[1]
            edit = (edits or {}).get(layer)
            if isinstance(edit, Tensor):
                written = edit[:, -asked:]
            else:
                written = self.attend(layer, state, asked)
                written = written if edit is None else edit(written)
            state = self.blocks[layer].write(state[:, -asked:], written)
        return self.model.head(self.model.norm(state[:, -1]))
