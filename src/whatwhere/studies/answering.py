"""A model's answers with interventions, and the share of right answers by hop class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Bool, Int

from whatwhere.heads.estimate import Estimate, share
from whatwhere.model.gptj import GPTJ
from whatwhere.trace.interventions import Intervention
from whatwhere.trace.own import OwnModel

TOKENS_AT_ONCE = 1 << 13
"""Tokens run at a time: 100 MB of activations for the paper's model."""


@torch.no_grad()
def answers(
    model: GPTJ, tokens: Int[np.ndarray, "n seq"], interventions: Sequence[Intervention] = ()
) -> Int[np.ndarray, "n"]:
    """The most likely token after each sequence.

    Sequences run in blocks, so interventions must not depend on other sequences (as a mean ablation does).
    """
    if not interventions:
        return model.predict(tokens)
    some = max(1, TOKENS_AT_ONCE // tokens.shape[1])
    parts = [tokens[start : start + some] for start in range(0, len(tokens), some)]
    own = OwnModel(model)
    each = [own.run(part, interventions=interventions, last=1)[:, -1].argmax(-1) for part in parts]
    return torch.cat(each).cpu().numpy()


def share_of(holds: Bool[np.ndarray, "n"]) -> Estimate:
    """The share of inputs for which something holds, with Wilson's interval."""
    return share(int(holds.sum()), len(holds))


def shares_by_hop(right: Bool[np.ndarray, "n"], hops: Int[np.ndarray, "n"]) -> list[tuple[int | None, Estimate]]:
    """The share of inputs of each hop class for which something holds, then the mean over classes (None).

    The mean gives each class the same weight, as in the paper. Its interval is that of all inputs pooled: class sizes
    differ by at most one, and the pooled interval is then the wider one.
    """
    each = [(hop, share_of(right[hops == hop])) for hop in np.unique(hops).tolist()]
    mean = float(np.mean([estimate.value for _, estimate in each]))
    return [*each, (None, replace(share_of(right), value=mean))]
