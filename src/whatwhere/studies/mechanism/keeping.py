"""Reflexive as a function (Section 3.2): what keeps the answer at the last position once it is there.

"Since the answer is already at the last token, information only needs to be propagated". A layer can do so by attention
to the last position itself, by attention to another position that holds the answer (an equal token), or by the residual
stream alone. So the attention of the last position, and its contribution to the answer
(:mod:`whatwhere.studies.mechanism.attribution`), are split by source. In addition, all heads from a layer on are
ablated: an answer that is still given was kept by the residual stream (and the MLPs) alone.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float

from whatwhere.heads.estimate import clustered_shares, ratios
from whatwhere.model.gptj import GPTJ
from whatwhere.studies.answering import share_of
from whatwhere.studies.mechanism.ablation import MeanAblation, answered
from whatwhere.studies.mechanism.attribution import answer_direction, logits_of_values, values_of
from whatwhere.studies.mechanism.observation import AT_ONCE, Observation, record
from whatwhere.studies.mechanism.path_tables import Keeping
from whatwhere.tasks.batch import Batch
from whatwhere.trace.traceable import trace


def keeping(seen: Observation, batch: Batch, ablation: MeanAblation, possible: np.ndarray) -> list[Keeping]:
    """One row for all layers, then one for each, on solved inputs; ``possible`` are the tokens that may be answers."""
    model, layers = ablation.model, seen.layers
    there = (seen.readable[:, :, -1] == batch.answers).T  # [n, depth]
    parts = [slice(start, start + AT_ONCE) for start in range(0, len(batch), AT_ONCE)]
    sources = np.concatenate([sources_of(model, batch[part], seen.readable[:-1, part], possible) for part in parts])
    late = [[head for head in ablation.heads if head[0] >= layer] for layer in range(layers)]
    right = answered(ablation, batch, late).T  # [n, layer]: with the heads from there on ablated
    first = there[:, :-1].argmax(1)  # the layer before which the answer can first be read
    rows, inputs = [], np.arange(len(batch))
    for layer in [None, *range(layers)]:
        at = slice(None) if layer is None else slice(layer, layer + 1)
        asked, after, some = there[:, :-1][:, at], there[:, 1:][:, at], sources[:, at]  # [n, asked], .., [n, asked, 6]
        begun = asked.any(1)
        stays = right[inputs, first if layer is None else layer][begun]
        n = [int(asked.sum())] * some.shape[-1]
        shares = ratios((some * asked[..., None]).sum(1), np.repeat(asked.sum(1)[:, None].astype(float), len(n), 1), n)
        (kept,) = clustered_shares(after[asked][:, None], np.nonzero(asked)[0])
        rows.append(Keeping(layer, share_of(begun), kept, share_of(stays), *shares))
    return rows


@torch.no_grad()
def sources_of(model: GPTJ, batch: Batch, readable: np.ndarray, possible: np.ndarray) -> Float[np.ndarray, "n layer 6"]:
    """Where the last position's attention goes (mean over heads), and what it writes towards the answer (their sum).

    Both by source: itself, other positions that hold the answer, elsewhere. A position holds it if its token is the
    answer, or if the answer can be read there before the layer: ``readable`` is the most likely token at each position
    before each layer ``[layer, n, seq]``, ``possible`` the tokens that may be answers.
    """
    states, _ = record(model, batch.tokens)
    direction = answer_direction(model, states[-1, :, -1], batch.answers, possible)
    found = []
    for layer, attention in enumerate(trace(model, batch.tokens).attention()[..., 0, :]):  # [n, head, key]
        values = logits_of_values(model, layer, values_of(model, layer, states[layer]), direction)
        equal = (readable[layer] == batch.answers[:, None]) | (batch.tokens == batch.answers[:, None])
        itself = np.arange(batch.tokens.shape[1]) == batch.tokens.shape[1] - 1
        masks = np.stack([itself | np.zeros_like(equal), equal & ~itself, ~equal & ~itself], -1)  # [n, key, source]
        looked, wrote = attention.mean(1), (attention * values).sum(1)  # [n, key]
        found += [np.einsum("nk,nks->ns", each.double().numpy(force=True), masks) for each in (looked, wrote)]
    return np.stack(found, 1).reshape(len(batch), -1, 6)
