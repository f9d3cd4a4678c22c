"""Runs of a model with the observations that the tables of the mechanism need, and runs with changed states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from whatwhere.model.gptj import GPTJ, Edit, Written, turn
from whatwhere.studies.study import Progress, no_progress
from whatwhere.trace.traceable import trace

AT_ONCE = 256
"""Inputs per pass: their residual streams in all layers then take about 30 MB."""
Edits = Mapping[int, Edit | Written]
"""By layer, a change of what its heads write."""


@dataclass(frozen=True, eq=False)
class Observation:
    """What a model did on some inputs. Depth 0 is before the first layer; depth l + 1 is after layer l."""

    strongest: Int[np.ndarray, "layer n head seq"]
    """The key with the most attention of each query."""
    weight: Float[np.ndarray, "layer n head seq"]
    """Its attention."""
    readable: Int[np.ndarray, "depth n seq"]
    """The most likely token if the model's final norm and unembedding are applied to the residual stream there."""
    chance: Float[np.ndarray, "depth n seq"]
    """The probability that the unembedding gives it."""
    at_query: Float[np.ndarray, "depth n d_model"]
    """The residual stream at the last position."""

    @property
    def layers(self) -> int:
        """Layers of the model."""
        return len(self.strongest)


@torch.no_grad()
def observe(model: GPTJ, tokens: Int[np.ndarray, "n seq"], progress: Progress = no_progress) -> Observation:
    """Runs a model on some inputs."""
    parts = []
    for start in range(0, len(tokens), AT_ONCE):
        some = tokens[start : start + AT_ONCE]
        weight, strongest = trace(model, some, queries=range(tokens.shape[1])).attention().max(-1)
        residuals = torch.stack(list(model.residuals(model.check_tokens(some))))  # [depth, batch, seq, d_model]
        chance, readable = model.head(model.norm(residuals)).softmax(-1).max(-1)  # [depth, batch, seq]
        found = (strongest.short(), weight, readable.short(), chance, residuals[:, :, -1])
        parts.append([part.numpy(force=True) for part in found])
        progress("reading attention and answers", min(start + AT_ONCE, len(tokens)), len(tokens))
    return Observation(*(np.concatenate(of_kind, 1) for of_kind in zip(*parts, strict=True)))


@torch.no_grad()
def record(
    model: GPTJ, tokens: Int[np.ndarray, "n seq"], edits: Edits | None = None
) -> tuple[Float[Tensor, "depth n seq d_model"], Float[Tensor, "layer n seq head d_head"]]:
    """The residual stream before the first layer and after each, and the (changed) outputs of each layer's heads."""
    written: list[Tensor] = []

    def keep(layer: int, values: Tensor) -> Tensor:
        edit = None if edits is None else edits.get(layer)
        if edit is not None:
            values = edit.expand_as(values) if isinstance(edit, Tensor) else edit(values)
        written.append(values)
        return values

    every = {layer: partial(keep, layer) for layer in range(model.config.layers)}
    states = list(model.residuals(model.check_tokens(tokens), edits=every))
    return torch.stack(states), torch.stack(written)


@torch.no_grad()
def run_from(
    model: GPTJ, state: Float[Tensor, "n seq d_model"], start: int, edits: Edits | None = None, last: int | None = None
) -> Float[Tensor, "n vocab"]:
    """The logits of the answer, computed from the residual stream before a layer (or after the last).

    ``edits`` apply to every position, also in the last layer, unless ``last`` names the last layer that still attends;
    from there on only the last position is computed.
    """
    blocks, edits = list(model.layers()), edits or {}
    for layer in range(start, len(blocks)):
        state = state if last is None or layer <= last else state[:, -1:]
        at_end = layer == len(blocks) - 1 and layer not in edits if last is None else layer >= last
        state = blocks[layer](state, *model.turns_of(layer, state.shape[1]), last_only=at_end, edit=edits.get(layer))
    return model.head(model.norm(state[:, -1]))


def replaced(ours: Tensor, theirs: Tensor, at: Int[Tensor, "n"], heads: slice | int = slice(None)) -> Tensor:
    """``ours`` with one position of each input replaced by ``theirs``; of heads' outputs, optionally only one head."""
    changed, rows = ours.clone(), torch.arange(len(at))
    changed[rows, at, heads] = theirs[rows, at, heads]
    return changed


class LaterPositions:
    """Continues from states of a finished run that are changed at late positions only.

    Attention is causal: a change at some position affects only that position and later ones. The keys and values of all
    earlier positions are those of the finished run, in every layer. So only the later positions are computed again.
    ``states`` is the residual stream of the finished run, before the first layer and after each.
    """

    def __init__(self, model: GPTJ, states: Float[Tensor, "depth n seq d_model"]) -> None:
        self.model, self.states = model, states
        self.blocks = list(model.layers())
        self._before = cache(lambda layer: self._keys_and_values(layer, states[layer]))

    def _keys_and_values(
        self, layer: int, state: Float[Tensor, "n kept d_model"]
    ) -> tuple[Float[Tensor, "n head kept d_head"], Float[Tensor, "n head kept d_head"]]:
        """Rotated keys, and values, of the last positions."""
        block, seq = self.blocks[layer], self.states.shape[2]
        _, w_key_value, _ = block.w_in.split((block.sizes[0], 2 * block.sizes[0], block.sizes[-1]))
        both = functional.linear(block.norm(state), w_key_value).chunk(2, -1)
        keys, values = (block.split_heads(part) for part in both)
        return turn(keys, self.model.turns_of(layer, seq)[1][:, -state.shape[1] :]), values

    @torch.no_grad()
    def attend(
        self, layer: int, state: Float[Tensor, "n kept d_model"], asked: int | None = None
    ) -> Float[Tensor, "n asked head d_head"]:
        """The outputs of the heads of a layer at the last positions: ``asked`` of them, by default all given ones.

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
