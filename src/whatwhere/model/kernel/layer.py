"""One block with its gradient, its products included, in compiled code (``layer.c``): training in bfloat16.

The same lines as :mod:`whatwhere.model.kernel.fused` in one call. That module makes its products with torch; here a few
sequences at a time go through the whole block, so what lies between two products never leaves the cache, and the
products themselves take less time than torch's on processors with AVX512_BF16. On others :func:`multiplies` says no.
"""

from __future__ import annotations

from ctypes import byref
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from whatwhere.model.kernel.build import Mask, Shape
from whatwhere.model.kernel.fused import at, loaded, room_for_weights


def multiplies(d_model: int, d_mlp: int) -> bool:
    """Whether compiled code makes the products of a block of these widths itself."""
    panel = loaded().own_products()
    return panel > 0 and d_model % panel == 0 and d_mlp % panel == 0


class FusedLayer(torch.autograd.Function):
    """The block as one differentiable operation; arguments as in :class:`whatwhere.model.kernel.fused.FusedBlock`."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        norm_weight: Tensor,
        norm_bias: Tensor,
        w_in: Tensor,
        b_mlp: Tensor,
        w_out: Tensor,
        b_out: Tensor,
        query_turn: Tensor,
        key_turn: Tensor,
        attention_mask: Mask | None,
        output_mask: Mask | None,
        constants: tuple[int, int, float, float, bool],
    ) -> Tensor:
        """The residual stream after the block."""
        kept, heads, scale, epsilon, exact = constants
        batch, seq, d = x.shape
        rows, inner = batch * seq, len(b_mlp)
        shape = Shape(batch, seq, kept, heads, d, inner, query_turn.shape[-1], 1, exact, scale, epsilon)
        run, about = loaded(), byref(shape)
        x, query_turn, key_turn = x.contiguous(), query_turn.contiguous(), key_turn.contiguous()
        scratch = torch.empty(run.layer_scratch(about))
        words = torch.empty(2 * (w_in.numel() + w_out.numel()) // 2, dtype=torch.int32)
        into, into_t, back, back_t = words.split([w.numel() // 2 for w in (w_in, w_in, w_out, w_out)])
        run.pack_weights(w_in.data_ptr(), *w_in.shape, *at(into_t, into, scratch))
        run.pack_weights(w_out.data_ptr(), *w_out.shape, *at(back_t, back, scratch))

        y = torch.empty((rows + 1) // 2, d, dtype=torch.int32)
        u = torch.empty((batch * kept + 1) // 2, d + inner, dtype=torch.int32)
        z = torch.empty(rows, 3 * d + inner, dtype=torch.bfloat16)
        mean, inverse_std, weights = torch.empty(rows), torch.empty(rows), room_for_weights(shape)
        out = torch.empty(batch, kept, d)
        places = (
            x,
            norm_weight,
            norm_bias,
            into,
            b_mlp,
            back,
            b_out,
            query_turn,
            key_turn,
            attention_mask,
            output_mask,
        )
        run.layer_forward(about, *at(*places, y, mean, inverse_std, z, weights, u, out, scratch))
        ctx.save_for_backward(x, norm_weight, into_t, back_t, query_turn, key_turn, y, mean, inverse_std, z, weights, u)
        ctx.shape, ctx.masks = shape, (attention_mask, output_mask)
        return out

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride] (torch's decorator hides the names)
        ctx: Any, *grads: Tensor
    ) -> tuple[Tensor | None, ...]:
        """The gradients, in the order of the arguments."""
        x, norm_weight, into_t, back_t, query_turn, key_turn, *kept = ctx.saved_tensors
        run, about = loaded(), byref(ctx.shape)
        d, inner, grad = ctx.shape.width, ctx.shape.inner, grads[0].contiguous()
        grad_x = torch.empty_like(x)
        sizes = ((d,), (d,), (3 * d + inner, d), (inner,), (d, d + inner), (d,))
        parameters = [torch.zeros(size) for size in sizes]
        scratch = torch.empty(run.layer_scratch(about))
        places = (grad, x, norm_weight, into_t, back_t, query_turn, key_turn, *ctx.masks, *kept)
        run.layer_backward(about, *at(*places, grad_x, *parameters, scratch))
        return (grad_x, *parameters, *[None] * 5)
