"""One block of :mod:`whatwhere.model.gptj` with its gradient written out: the path of short inputs on a CPU.

The plain block and this one compute the same numbers (tests hold them together). Between the matrix products, which are
torch's, each stretch of the block is one pass over its rows in compiled code (``block.c``):

    y = norm(x)             z = y W_in^T = [q | k | v | m]
    A = drop(softmax(scale (R q)(R k)^T, causal))               u = [A v | gelu(m + b)]
    out = x + drop(u W_out^T + b_out)

The gradient runs the same lines backwards. A rotation is undone by its transpose, which is the turn by minus the angle;
for queries the tables also carry the gates of the planes, and the transpose carries them too. Turned queries and keys
are not kept: turning them again is cheaper than fetching them. The slope of GELU is: it takes the place of m in z.

The large products may be made in bfloat16, which some CPUs do more than twice as fast; then y, z, u and their gradients
are kept as bfloat16, and all else, the sums of the products included, stays in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from ctypes import CDLL, byref
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from whatwhere.model.kernel.build import Shape, kernels

_LONGEST = 128
"""Tokens above which attention weighs more than the rest, and torch's own, which goes in tiles, is faster."""


def serves(x: Tensor) -> bool:
    """Whether the compiled path takes this input [batch, seq, d_model]."""
    plain = x.device.type != "cpu" or x.dtype != torch.float32 or torch.is_autocast_enabled("cpu")
    return not plain and x.shape[1] <= _LONGEST and kernels().library is not None


class FusedBlock(torch.autograd.Function):
    """The block as one differentiable operation; arguments as in :meth:`whatwhere.model.gptj.Block.forward`."""

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
        attention_mask: Tensor | None,
        output_mask: Tensor | None,
        constants: tuple[int, float, float, bool, bool],
        product: torch.dtype,
        edit: Callable[[Tensor], Tensor] | None,
    ) -> Tensor:
        """The residual stream after the block.

        ``constants`` are the heads, the scale of the logits, the epsilon of the norm, whether GELU is exact and whether
        a gradient is asked for; ``product`` is the precision of the large products; ``edit`` changes what the heads
        attended to, where no gradient is asked for.
        """
        heads, scale, epsilon, exact, learns = constants
        batch, seq, d = x.shape
        rows, inner, planes = batch * seq, len(b_mlp), query_turn.shape[-1]
        shape = Shape(batch, seq, heads, d, inner, planes, product == torch.bfloat16, exact, scale, epsilon)
        run, about = _library(), byref(shape)
        x, query_turn, key_turn = x.contiguous(), query_turn.contiguous(), key_turn.contiguous()
        into, back = w_in.to(product), w_out.to(product)
        scratch = torch.empty(3 * seq * d + d + 2 * inner + seq)

        y, mean, inverse_std = torch.empty(rows, d, dtype=product), torch.empty(rows), torch.empty(rows)
        run.norm_forward(about, *_at(x, norm_weight, norm_bias, y, mean, inverse_std, scratch))
        z = y @ into.t()  # [rows, 3 d + d_mlp]
        u, weights = torch.empty(rows, d + inner, dtype=product), torch.empty(batch, heads, seq, seq)
        places = (z, b_mlp, query_turn, key_turn, attention_mask, u, weights, scratch)
        run.mix_forward(about, learns, *_at(*places))
        if edit is not None:
            attended = u.view(batch, seq, d + inner)[..., :d]
            attended.copy_(edit(attended.unflatten(-1, (heads, -1)).clone()).flatten(2))
        written, out = u @ back.t(), torch.empty_like(x)  # [rows, d], [batch, seq, d]
        run.residual_forward(about, *_at(x, written, b_out, output_mask, out, scratch))

        ctx.save_for_backward(
            x, norm_weight, into, b_mlp, back, query_turn, key_turn, attention_mask, output_mask,
            y, mean, inverse_std, z, weights, u,
        )  # fmt: skip
        ctx.shape = shape
        return out

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride] (torch's decorator hides the names)
        ctx: Any, *grads: Tensor
    ) -> tuple[Tensor | None, ...]:
        """The gradients, in the order of the arguments."""
        (
            x, norm_weight, into, b_mlp, back, query_turn, key_turn, attention_mask, output_mask,
            y, mean, inverse_std, z, weights, u,
        ) = ctx.saved_tensors  # fmt: skip
        run, about = _library(), byref(ctx.shape)
        seq, d, inner = x.shape[1], x.shape[2], len(b_mlp)
        grad = grads[0].contiguous()
        scratch = torch.empty(7 * seq * d + 2 * inner + seq)

        grad_written, grad_b_out = torch.empty_like(y), torch.zeros(d)
        run.residual_backward(about, *_at(grad, output_mask, grad_written, grad_b_out, scratch))
        grad_w_out = (grad_written.t() @ u).float()
        grad_u = grad_written @ back  # [rows, d + d_mlp]

        grad_z, grad_b_mlp = torch.empty_like(z), torch.zeros(inner)
        places = (grad_u, z, query_turn, key_turn, attention_mask, weights, grad_z, grad_b_mlp, scratch)
        run.mix_backward(about, *_at(*places))
        grad_w_in = (grad_z.t() @ y).float()
        grad_y = grad_z @ into  # [rows, d]

        grad_x, grad_norm_weight, grad_norm_bias = torch.empty_like(x), torch.zeros(d), torch.zeros(d)
        places = (grad_y, x, mean, inverse_std, norm_weight, grad, grad_x, grad_norm_weight, grad_norm_bias, scratch)
        run.norm_backward(about, *_at(*places))
        parameters = (grad_norm_weight, grad_norm_bias, grad_w_in, grad_b_mlp, grad_w_out, grad_b_out)
        return (grad_x, *parameters, None, None, None, None, None, None, None)


def _library() -> CDLL:
    library = kernels().library
    assert library is not None, "serves() is asked first"
    return library


def _at(*tensors: Tensor | None) -> list[int | None]:
    """Where dense tensors lie in memory; compiled code believes what it is told, so this is the place to check."""
    kinds = (torch.float32, torch.bfloat16)
    assert all(tensor is None or (tensor.is_contiguous() and tensor.dtype in kinds) for tensor in tensors)
    return [None if tensor is None else tensor.data_ptr() for tensor in tensors]
