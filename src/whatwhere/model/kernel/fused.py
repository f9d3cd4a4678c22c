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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from whatwhere.model.kernel.build import Mask, Shape, kernels

if TYPE_CHECKING:
    from whatwhere.model.dropout import Dropout
    from whatwhere.model.gptj import Block

LANES = 16
"""Rows of attention weights are padded to a multiple of this; ``LANES`` of ``numbers.h``."""
_LONGEST = 512
"""Tokens above which torch's attention is as fast in a forward pass, and does not keep a map of tokens by tokens."""


def serves(x: Tensor) -> bool:
    """Whether the compiled path takes this input [batch, seq, d_model]."""
    plain = x.device.type != "cpu" or x.dtype != torch.float32 or torch.is_autocast_enabled("cpu")
    return not plain and x.shape[1] <= _LONGEST and kernels().library is not None


def alone(
    block: Block,
    x: Tensor,
    turns: tuple[Tensor, Tensor],
    dropout: Dropout | None,
    kept: int,
    edit: Callable[[Tensor], Tensor] | None,
) -> Tensor:
    """The residual stream after one block, at the last ``kept`` positions (all or one); products are torch's.

    ``edit`` changes what the heads attended to, where no gradient is asked for.
    """
    beside, learns = given_to(block, x, turns, dropout, kept), torch.is_grad_enabled()
    out = FusedBlock.apply(x, beside, constants(block, kept), learns, block.product, edit, *parameters(block))
    assert isinstance(out, Tensor)
    return out


def parameters(block: Block) -> tuple[Tensor, ...]:
    """The parameters of a block, in the order in which compiled code takes them."""
    return block.norm.weight, block.norm.bias, block.w_in, block.b_mlp, block.w_out, block.b_out


def constants(block: Block, kept: int) -> tuple[int, int, float, float, bool]:
    """The kept positions, the heads, the scale of the logits, the epsilon of the norm, whether GELU is exact."""
    return kept, block.heads, block.scale, block.norm.eps, block.approximate == "none"


@dataclass(frozen=True)
class Given:
    """What a block has beside its parameters."""

    query_turn: Tensor
    key_turn: Tensor
    attention_mask: Mask | None = None
    output_mask: Mask | None = None


def given_to(block: Block, x: Tensor, turns: tuple[Tensor, Tensor], dropout: Dropout | None, kept: int) -> Given:
    """By what a block turns, and what is dropped of its attention weights and of its output."""
    query_turn, key_turn = (turn.contiguous() for turn in turns)
    if dropout is None:
        return Given(query_turn, key_turn)
    batch, seq, d = x.shape
    attention = dropout.draw(block.attention_rate, (batch, block.heads, kept, seq))
    return Given(query_turn, key_turn, attention, dropout.draw(block.output_rate, (batch, kept, d)))


class FusedBlock(torch.autograd.Function):
    """The block as one differentiable operation; for :func:`alone`."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        given: Given,
        constants: tuple[int, int, float, float, bool],
        learns: bool,
        product: torch.dtype,
        edit: Callable[[Tensor], Tensor] | None,
        *weights: Tensor,
    ) -> Tensor:
        """The residual stream after the block.

        ``learns`` says whether a gradient is asked for; ``product`` is the precision of the large products; the rest is
        explained in :func:`alone`.
        """
        norm_weight, norm_bias, w_in, b_mlp, w_out, b_out = weights
        kept, heads, scale, epsilon, exact = constants
        batch, seq, d = x.shape
        rows, inner, planes = batch * seq, len(b_mlp), given.query_turn.shape[-1]
        shape = Shape(batch, seq, kept, heads, d, inner, planes, product == torch.bfloat16, exact, scale, epsilon)
        run, about = loaded(), byref(shape)
        x, into, back = x.contiguous(), w_in.to(product), w_out.to(product)
        scratch = torch.empty(run.scratch_size(about))

        y, mean, inverse_std = torch.empty(rows, d, dtype=product), torch.empty(rows), torch.empty(rows)
        run.norm_forward(about, *at(x, norm_weight, norm_bias, y, mean, inverse_std, scratch))
        z = _into_z(y, into, shape)  # [rows, 3 d + d_mlp]
        u = torch.empty(batch * kept, d + inner, dtype=product)
        attention = torch.empty(batch, heads, kept, -(-seq // LANES) * LANES)  # [batch, head, kept, seq padded]
        places = (z, b_mlp, given.query_turn, given.key_turn, given.attention_mask, u, attention, scratch)
        run.mix_forward(about, learns, *at(*places))
        if edit is not None:
            attended = u.view(batch, kept, d + inner)[..., :d]
            attended.copy_(edit(attended.unflatten(-1, (heads, -1)).clone()).flatten(2))
        written, out = u @ back.t(), torch.empty(batch, kept, d)  # [batch * kept, d]
        run.residual_forward(about, *at(x, written, b_out, given.output_mask, out, scratch))

        ctx.save_for_backward(x, norm_weight, into, b_mlp, back, y, mean, inverse_std, z, attention, u)
        ctx.shape, ctx.given = shape, given
        return out

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride] (torch's decorator hides the names)
        ctx: Any, *grads: Tensor
    ) -> tuple[Tensor | None, ...]:
        """The gradients, in the order of the arguments."""
        x, norm_weight, into, b_mlp, back, y, mean, inverse_std, z, attention, u = ctx.saved_tensors
        run, about, given = loaded(), byref(ctx.shape), ctx.given
        d, inner, grad = x.shape[2], len(b_mlp), grads[0].contiguous()
        scratch = torch.empty(run.scratch_size(about))

        grad_written, grad_b_out = u.new_empty(len(u), d), torch.zeros(d)
        run.residual_backward(about, *at(grad, given.output_mask, grad_written, grad_b_out, scratch))
        grad_w_out = (grad_written.t() @ u).float()
        grad_u = grad_written @ back  # [batch * kept, d + d_mlp]

        grad_z, grad_b_mlp = torch.empty_like(z), torch.zeros(inner)
        turns = given.query_turn, given.key_turn
        run.mix_backward(about, *at(grad_u, z, *turns, given.attention_mask, attention, grad_z, grad_b_mlp, scratch))
        grad_w_in, grad_y = _out_of_z(grad_z, y, into, ctx.shape)  # [3 d + d_mlp, d], [rows, d]

        grad_x, grad_norm_weight, grad_norm_bias = torch.empty_like(x), torch.zeros(d), torch.zeros(d)
        places = (grad_y, x, mean, inverse_std, norm_weight, grad, grad_x, grad_norm_weight, grad_norm_bias, scratch)
        run.norm_backward(about, *at(*places))
        parameters = (grad_norm_weight, grad_norm_bias, grad_w_in, grad_b_mlp, grad_w_out, grad_b_out)
        return (grad_x, *[None] * 5, *parameters)


def loaded() -> CDLL:
    """The compiled code; :func:`serves` is asked first."""
    library = kernels().library
    assert library is not None, "serves() is asked first"
    return library


def _into_z(y: Tensor, into: Tensor, shape: Shape) -> Tensor:
    """The product of each row with ``w_in``; of positions that are not kept, the keys and values only."""
    if shape.kept == shape.seq:
        return y @ into.t()
    d, z = shape.width, y.new_empty(len(y), len(into))
    torch.mm(y, into[d : 3 * d].t(), out=z[:, d : 3 * d])
    z[shape.seq - 1 :: shape.seq] = y[shape.seq - 1 :: shape.seq] @ into.t()
    return z


def _out_of_z(grad_z: Tensor, y: Tensor, into: Tensor, shape: Shape) -> tuple[Tensor, Tensor]:
    """The gradients of ``w_in`` and y; of positions that are not kept, ``grad_z`` has keys and values only."""
    if shape.kept == shape.seq:
        return (grad_z.t() @ y).float(), grad_z @ into
    d, ends = shape.width, slice(shape.seq - 1, None, shape.seq)
    of_keys, of_ends = grad_z[:, d : 3 * d], grad_z[ends]
    grad_w_in = (of_ends.t() @ y[ends]).float()
    grad_w_in[d : 3 * d] = of_keys.t() @ y
    grad_y = of_keys @ into[d : 3 * d]
    grad_y[ends] = of_ends @ into
    return grad_w_in, grad_y


def at(*values: Tensor | Mask | None) -> list[Any]:
    """The addresses of dense tensors; compiled code cannot check them, so this does."""
    return [_place(value) if isinstance(value, Tensor) else value and byref(value) for value in values]


def _place(tensor: Tensor) -> int:
    assert tensor.is_contiguous()
    assert tensor.dtype in (torch.float32, torch.bfloat16, torch.int32)
    return tensor.data_ptr()
