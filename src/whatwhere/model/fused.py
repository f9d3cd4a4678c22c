"""One block of :mod:`whatwhere.model.gptj` with its gradient written out: the training path on a CPU.

The plain block and this one compute the same numbers (a test holds them together). Written out, the gradient of
queries, keys, values and MLP lands in one buffer without the copies that splitting and joining cost, the rotation
happens in place, and each large matrix product is one call:

    y = norm(x)             z = y W_in^T = [q | k | v | m]      q, k <- R q, R k (in place)
    A = drop(softmax(scale q k^T + causal))                     u = [A v | gelu(m + b)]
    out = x + drop(u W_out^T + b_out)

The gradient runs the same lines backwards. A rotation is undone by its transpose, which is the turn by minus the angle;
for queries the tables also carry the gates of the planes, and the transpose carries them too.

The large products may be made in bfloat16, which some CPUs do more than twice as fast; their sums are kept in float32,
and so is everything else (attention, activation, normalisation, the residual stream).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_gelu = torch.ops.aten.gelu
_gelu_backward = torch.ops.aten.gelu_backward
_softmax_backward = torch.ops.aten._softmax_backward_data


def _turn_in_place(x: Tensor, by: Tensor, back: bool = False) -> None:
    """Rotates ``x`` [batch, head, seq, d_head] where it lies; ``back`` applies the transpose."""
    cos, sin = by  # [seq, plane]
    planes = cos.shape[-1]
    first, second = x[..., :planes], x[..., planes : 2 * planes]
    crossed = first * sin
    if back:
        first.mul_(cos).addcmul_(second, sin)
        second.mul_(cos).sub_(crossed)
    else:
        first.mul_(cos).addcmul_(second, sin, value=-1)
        second.mul_(cos).add_(crossed)


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
        shape: tuple[int, float, float],
        product: torch.dtype | None,
    ) -> Tensor:
        """The residual stream after the block; ``product`` is the precision of the large products (None: that of x)."""
        heads, scale, epsilon = shape
        product = product or x.dtype
        batch, seq, d = x.shape
        y, mean, inverse_std = torch.native_layer_norm(x, (d,), norm_weight, norm_bias, epsilon)
        y, into, back = y.view(-1, d).to(product), w_in.to(product), w_out.to(product)
        z = (y @ into.t()).to(x.dtype)  # [batch * seq, 3 d + d_mlp]
        q, k, v = _heads(z, batch, seq, d, heads)  # views into z, [batch, head, seq, d_head]
        _turn_in_place(q, query_turn)
        _turn_in_place(k, key_turn)
        hidden = z[:, 3 * d :].add_(b_mlp)
        causal = torch.full((seq, seq), -torch.inf, dtype=x.dtype).triu_(1)
        weights = torch.softmax((q @ k.mT).mul_(scale).add_(causal), -1)
        dropped = weights if attention_mask is None else weights * attention_mask
        u = torch.empty(batch * seq, w_out.shape[1], dtype=x.dtype)
        _heads(u, batch, seq, d, heads)[0].copy_(dropped @ v)
        _gelu.out(hidden, approximate="tanh", out=u[:, d:])
        u = u.to(product)
        out = (u @ back.t()).to(x.dtype).add_(b_out).view_as(x)
        if output_mask is not None:
            out.mul_(output_mask)
        ctx.save_for_backward(
            x, norm_weight, norm_bias, into, back, query_turn, key_turn, attention_mask, output_mask,
            y, mean, inverse_std, z, weights, dropped, u,
        )  # fmt: skip
        ctx.shape = shape
        return out.add_(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients, in the order of the arguments."""
        (
            x, norm_weight, norm_bias, into, back, query_turn, key_turn, attention_mask, output_mask,
            y, mean, inverse_std, z, weights, dropped, u,
        ) = ctx.saved_tensors  # fmt: skip
        heads, scale, _ = ctx.shape
        batch, seq, d = x.shape
        grad = grads[0].contiguous()
        grad_out = (grad if output_mask is None else grad * output_mask).view(-1, d)
        grad_b_out = grad_out.sum(0)
        grad_out = grad_out.to(u.dtype)
        grad_w_out = (grad_out.t() @ u).to(x.dtype)
        grad_u = (grad_out @ back).to(x.dtype)  # [batch * seq, d + d_mlp]

        grad_z = torch.empty_like(z)
        grad_hidden = grad_z[:, 3 * d :]
        _gelu_backward.grad_input(grad_u[:, d:], z[:, 3 * d :], approximate="tanh", grad_input=grad_hidden)
        q, k, v = _heads(z, batch, seq, d, heads)
        grad_q, grad_k, grad_v = _heads(grad_z, batch, seq, d, heads)
        grad_attended = _heads(grad_u, batch, seq, d, heads)[0]  # [batch, head, seq, d_head]
        grad_v.copy_(dropped.mT @ grad_attended)
        grad_weights = grad_attended @ v.mT
        if attention_mask is not None:
            grad_weights.mul_(attention_mask)
        grad_scores = _softmax_backward(grad_weights, weights, -1, weights.dtype).mul_(scale)
        grad_q.copy_(grad_scores @ k)
        grad_k.copy_(grad_scores.mT @ q)
        _turn_in_place(grad_q, query_turn, back=True)
        _turn_in_place(grad_k, key_turn, back=True)

        grad_b_mlp = grad_hidden.sum(0)
        grad_z = grad_z.to(y.dtype)
        grad_w_in = (grad_z.t() @ y).to(x.dtype)
        grad_y = (grad_z @ into).to(x.dtype).view_as(x)
        grad_x, grad_norm_weight, grad_norm_bias = torch.ops.aten.native_layer_norm_backward(
            grad_y, x, [d], mean, inverse_std, norm_weight, norm_bias, [True, True, True]
        )
        grad_x.add_(grad)
        parameters = (grad_norm_weight, grad_norm_bias, grad_w_in, grad_b_mlp, grad_w_out, grad_b_out)
        return (grad_x, *parameters, None, None, None, None, None, None)


def _heads(z: Tensor, batch: int, seq: int, d: int, heads: int) -> tuple[Tensor, ...]:
    """Views of the leading groups of ``d`` columns, each as [batch, head, seq, d_head]: q, k and v of ``z``."""
    groups = min(3, z.shape[1] // d)
    return tuple(z[:, i * d : (i + 1) * d].view(batch, seq, heads, d // heads).transpose(1, 2) for i in range(groups))
