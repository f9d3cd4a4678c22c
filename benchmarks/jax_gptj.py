"""The paper's model in JAX, compiled by XLA: a peer of the training benchmark, written as its users would.

Half-split rotary planes as in :mod:`whatwhere.model.gptj`, whose weights it takes; the last layer and the output are
computed at the last position only, as ours. JAX comes with the extra ``bench``.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

from whatwhere.model.gptj import GPTJ, NORM_EPSILON

Weights = dict[str, Any]
BETAS, EPSILON, DECAY, CLIP = (0.95, 0.999), 1e-8, 1e-4, 1.0


def weights_of(model: GPTJ) -> Weights:
    """Our weights; those of all layers stacked, so that one compiled block serves all of them."""
    named = {name: parameter.detach().numpy() for name, parameter in model.named_parameters()}
    ends = {name: jnp.asarray(value) for name, value in named.items() if not name.startswith("blocks.")}
    parts = [name.removeprefix("blocks.0.") for name in named if name.startswith("blocks.0.")]
    stacked = {part: np.stack([named[f"blocks.{at}.{part}"] for at in range(model.config.layers)]) for part in parts}
    return ends | {"blocks": {part: jnp.asarray(value) for part, value in stacked.items()}}


def logits_of(model: GPTJ, product: torch.dtype) -> Any:
    """The answer's logits as a function of weights, tokens ``[batch, seq]`` and a key of dropout."""
    config = model.config
    kind = jnp.bfloat16 if product == torch.bfloat16 else jnp.float32
    planes = config.rotated // 2
    frequencies = jnp.asarray(model.rotation.frequencies.numpy(), jnp.float32)

    def times(x: Any, matrix: Any) -> Any:
        return jnp.matmul(x.astype(kind), matrix.T.astype(kind), preferred_element_type=jnp.float32)

    def norm(x: Any, weights: Weights, name: str) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + NORM_EPSILON)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def drop(x: Any, key: Any, rate: float) -> Any:
        return jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0)

    def turn(x: Any, cos: Any, sin: Any) -> Any:  # [batch, seq, head, d_head], of which the first planes pair up
        first, second, rest = x[..., :planes], x[..., planes : 2 * planes], x[..., 2 * planes :]
        return jnp.concatenate([first * cos - second * sin, second * cos + first * sin, rest], -1)

    def block(x: Any, weights: Weights, key: Any, kept: int) -> Any:  # x [batch, seq, d_model]
        batch, seq, d = x.shape
        angles = jnp.arange(seq)[:, None, None] * frequencies  # [seq, 1, plane]
        cos, sin = jnp.cos(angles), jnp.sin(angles)
        first, second = jax.random.split(key)
        y = norm(x, weights, "norm")
        by_head = (batch, -1, config.heads, config.d_head)
        queries = turn(times(y[:, -kept:], weights["w_in"][:d]).reshape(by_head), cos[-kept:], sin[-kept:])
        keys = turn(times(y, weights["w_in"][d : 2 * d]).reshape(by_head), cos, sin)
        values = times(y, weights["w_in"][2 * d : 3 * d]).reshape(by_head)
        scores = jnp.einsum("bqhd,bkhd->bhqk", queries, keys) * config.d_head**-0.5
        hidden = jnp.arange(seq)[None, :] > jnp.arange(seq - kept, seq)[:, None]  # [kept, seq]
        attention = drop(jax.nn.softmax(jnp.where(hidden, -jnp.inf, scores)), first, config.attention_dropout)
        attended = jnp.einsum("bhqk,bkhd->bqhd", attention, values).reshape(batch, kept, d)
        mlp = jax.nn.gelu(times(y[:, -kept:], weights["w_in"][3 * d :]) + weights["b_mlp"], approximate=False)
        output = times(attended, weights["w_out"][:, :d]) + times(mlp, weights["w_out"][:, d:]) + weights["b_out"]
        return x[:, -kept:] + drop(output, second, config.dropout)

    def logits(weights: Weights, tokens: Any, key: Any) -> Any:
        keys = jax.random.split(key, config.layers + 1)
        x = drop(weights["embedding.weight"][tokens], keys[-1], config.dropout)
        last = {name: value[-1] for name, value in weights["blocks"].items()}
        before = {name: value[:-1] for name, value in weights["blocks"].items()}
        x, _ = jax.lax.scan(lambda x, layer: (block(x, *layer, x.shape[1]), None), x, (before, keys[:-2]))
        x = block(x, last, keys[-2], 1)
        return norm(x[:, -1], weights, "norm") @ weights["head.weight"].T + weights["head.bias"]

    return logits


def difference(model: GPTJ, tokens: torch.Tensor) -> float:
    """The largest difference between its logits and ours, for a model without dropout."""
    theirs = jax.jit(logits_of(model, torch.float32))(weights_of(model), tokens.numpy(), jax.random.key(0))
    with torch.no_grad():
        return float(np.abs(np.asarray(theirs) - model.answer_logits(tokens).numpy()).max())


def training_step(model: GPTJ, tokens: np.ndarray, answers: np.ndarray, product: torch.dtype) -> Any:
    """A function that makes one step of AdamW with clipped gradients and dropout, as ours does.

    Args:
        model: where the weights come from.
        tokens: ``[batch, seq]``.
        answers: ``[batch]``.
        product: the precision of the large products.
    """
    logits = logits_of(model, product)

    def loss(weights: Weights, key: Any) -> Any:
        return -jax.nn.log_softmax(logits(weights, tokens, key))[jnp.arange(len(answers)), answers].mean()

    @jax.jit
    def step(state: tuple[Weights, Weights, Weights, Any]) -> tuple[Weights, Weights, Weights, Any]:
        weights, first, second, count = state
        gradients = jax.grad(loss)(weights, jax.random.key(count, impl="unsafe_rbg"))
        size = jnp.sqrt(sum((leaf**2).sum() for leaf in jax.tree.leaves(gradients)))
        gradients = jax.tree.map(lambda leaf: leaf * jnp.minimum(1, CLIP / (size + 1e-6)), gradients)
        first = jax.tree.map(lambda m, g: BETAS[0] * m + (1 - BETAS[0]) * g, first, gradients)
        second = jax.tree.map(lambda v, g: BETAS[1] * v + (1 - BETAS[1]) * g**2, second, gradients)
        rate, scale = 1e-4 / (1 - BETAS[0] ** (count + 1)), 1 - BETAS[1] ** (count + 1)
        weights = jax.tree.map(
            lambda w, m, v: w * (1 - 1e-4 * DECAY) - rate * m / (jnp.sqrt(v / scale) + EPSILON), weights, first, second
        )
        return weights, first, second, count + 1

    weights = weights_of(model)
    zeros = jax.tree.map(jnp.zeros_like, weights)
    state = (weights, zeros, zeros, jnp.asarray(0))

    def run() -> None:
        nonlocal state
        state = jax.block_until_ready(step(state))

    return run
