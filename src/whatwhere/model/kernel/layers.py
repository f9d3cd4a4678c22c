"""Blocks with their gradient, matrix products included, in one call of compiled code (``layer.c``).

The same lines as :mod:`whatwhere.model.kernel.fused`, which makes its products with torch. Here a few sequences at a
time go through a whole block, so intermediate results stay in the cache. All blocks of a model go
through one call, because Python and autograd between two blocks would cost a tenth of a step. :func:`multiplies` says
where this is faster than torch: products in bfloat16 on processors with AVX512_BF16, and products in float32 on those
with AVX2.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import addressof, byref
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from whatwhere.model.kernel.build import Layer, Shape
from whatwhere.model.kernel.fused import LANES, Given, at, constants, given_to, loaded, parameters

if TYPE_CHECKING:
    from whatwhere.model.dropout import Dropout
    from whatwhere.model.gptj import Block

_PARAMETERS = ("norm_weight", "norm_bias", "w_in", "b_mlp", "w_out", "b_out")
_FREE: list[Tensor] = []
"""Buffers of earlier passes that can be used again."""
_LINE = 16
"""Arrays begin at multiples of so many words of four bytes: a line of the cache."""
_FEWEST_ROWS = 128
"""Rows of the residual stream below which packing the weights takes longer than it saves, without a gradient."""


def multiplies(block: Block, x: Tensor) -> bool:
    """Whether compiled code makes the products of a block itself, where it serves at all."""
    run, (d_model, *_, d_mlp) = loaded(), block.sizes
    enough = torch.is_grad_enabled() or x.shape[0] * x.shape[1] >= _FEWEST_ROWS
    fits = d_model % run.panel() == 0 and d_mlp % run.panel() == 0
    return enough and fits and bool(run.own_products(block.product == torch.bfloat16))


def through(
    blocks: Sequence[Block], x: Tensor, turns: Sequence[tuple[Tensor, Tensor]], dropout: Dropout | None, kept: int
) -> Tensor:
    """The residual stream after some blocks in a row, at the last ``kept`` positions (all or one)."""
    x, last = x.contiguous(), len(blocks) - 1
    beside = [
        given_to(block, x, turn, dropout, kept if i == last else x.shape[1])
        for i, (block, turn) in enumerate(zip(blocks, turns, strict=True))
    ]
    of_blocks = [parameter for block in blocks for parameter in parameters(block)]
    half = blocks[0].product == torch.bfloat16
    if torch.is_grad_enabled():
        out = FusedLayers.apply(x, beside, constants(blocks[0], kept), half, *of_blocks)
        assert isinstance(out, Tensor)
        return out
    forward = _Pass(x, beside, constants(blocks[0], kept), half, of_blocks, keep=False)
    out = forward.run(x)
    _FREE.extend(forward.buffers)
    return out


class _Pass:
    """A forward pass, and what it leaves for the gradient.

    Args:
        x: the residual stream before the first block; its shape counts.
        given: for each block.
        constants: of all blocks, as :func:`whatwhere.model.kernel.fused.constants` gives them.
        half: whether products are made in bfloat16.
        weights: six parameters for each block.
        keep: whether a gradient is asked for. Otherwise two buffers serve all blocks in turn, since a block reads what
            the last one wrote.
    """

    def __init__(
        self,
        x: Tensor,
        given: Sequence[Given],
        constants: tuple[int, int, float, float, bool],
        half: bool,
        weights: Sequence[Tensor],
        keep: bool,
    ) -> None:
        kept, heads, scale, epsilon, exact = constants
        (batch, seq, d), planes, inner = x.shape, given[0].query_turn.shape[-1], len(weights[3])
        self.shape, self.keep = Shape(batch, seq, kept, heads, d, inner, planes, half, exact, scale, epsilon), keep
        self.given = given  # kept alive: the layers hold their addresses
        between = batch if keep else loaded().sequences_together(byref(self.shape))
        arrays, size = _arrays(batch * seq, between * seq, seq, heads, d, inner, half)
        self.buffers = [_buffer(size) for _ in range(len(given) if keep else 2)]
        self.layers = (Layer * len(given))()
        for i, (layer, of_layer) in enumerate(zip(self.layers, given, strict=True)):
            for name, begin in arrays.items():
                setattr(layer, name, self.buffers[i % len(self.buffers)].data_ptr() + 4 * begin)
            for name, place in zip(_PARAMETERS, at(*weights[6 * i : 6 * i + 6]), strict=True):
                setattr(layer, name, place)
            layer.query_turn, layer.key_turn = at(of_layer.query_turn, of_layer.key_turn)
            layer.attention = of_layer.attention_mask and addressof(of_layer.attention_mask)
            layer.output = of_layer.output_mask and addressof(of_layer.output_mask)

    def run(self, x: Tensor) -> Tensor:
        """The residual stream after the last block; x must be contiguous."""
        run, about = loaded(), byref(self.shape)
        out, scratch = torch.empty(len(x), self.shape.kept, x.shape[-1]), torch.empty(run.layer_scratch(about))
        self.layers[-1].out = out.data_ptr()
        run.layers_forward(about, self.layers, len(self.layers), self.keep, *at(x, scratch))
        return out


class FusedLayers(torch.autograd.Function):
    """One block or several in a row as one differentiable operation."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        given: Sequence[Given],
        constants: tuple[int, int, float, float, bool],
        half: bool,
        *weights: Tensor,
    ) -> Tensor:
        """The residual stream after the last block; each block has six parameters."""
        ctx.forward_pass = _Pass(x, given, constants, half, weights, keep=True)
        out = ctx.forward_pass.run(x)
        ctx.save_for_backward(x, out, *weights)
        return out

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride] (torch's decorator hides the names)
        ctx: Any, *grads: Tensor
    ) -> tuple[Tensor | None, ...]:
        """The gradients, in the order of the arguments."""
        done: _Pass = ctx.forward_pass
        run, about, layers = loaded(), byref(done.shape), done.layers
        x, _, *weights = ctx.saved_tensors
        assert done.buffers, "a gradient is taken once: what the forward pass left is used up"
        grad_x, between = torch.empty_like(x), torch.empty(2, *x.shape)
        scratch = torch.empty(run.layer_scratch(about))
        sizes = [each.numel() for each in weights]
        found = torch.zeros(sum(sizes)).split(sizes)
        for i, gradient in enumerate(found):
            setattr(layers[i // 6], f"grad_{_PARAMETERS[i % 6]}", gradient.data_ptr())
        run.layers_backward(about, layers, len(layers), *at(x, grads[0].contiguous(), between, grad_x, scratch))
        _FREE.extend(done.buffers)
        done.buffers = []
        return (grad_x, None, None, None, *(g.view(p.shape) for g, p in zip(found, weights, strict=True)))


def _buffer(size: int) -> Tensor:
    """Memory for one block, maybe that of an earlier step: fetching it from the system again would take longer."""
    try:
        buffer = _FREE.pop()  # of whichever thread
    except IndexError:
        return torch.empty(size, dtype=torch.int32)
    return buffer if len(buffer) >= size else torch.empty(size, dtype=torch.int32)


@lru_cache(maxsize=8)
def _arrays(
    rows: int, between: int, seq: int, heads: int, d: int, inner: int, half: bool
) -> tuple[dict[str, int], int]:
    """Where each array of a block begins in its buffer, and the size of the buffer, in words of four bytes.

    ``between`` is the number of rows of y, u and z.
    """
    wide, numbers = 3 * d + inner, 2 if half else 1  # in a word
    into, back = wide * d // numbers, (d + inner) * d // numbers
    words = {
        "into": into, "into_t": into, "back": back, "back_t": back, "y": between * d // numbers,
        "u": between * (d + inner) // numbers, "z": between * wide // numbers, "mean": between, "inverse_std": between,
        "weights": between * heads * -(-seq // LANES) * LANES, "out": rows * d,
    }  # fmt: skip
    ends = list(accumulate(-(-size // _LINE) * _LINE for size in words.values()))
    return dict(zip(words, [0, *ends], strict=False)), ends[-1]
