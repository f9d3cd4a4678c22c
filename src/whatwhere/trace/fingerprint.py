"""A name for the weights and the configuration of any model that can be traced."""

from __future__ import annotations

import hashlib

from torch import nn

from whatwhere.trace.traceable import Traceable

_ENDS = 256
"""Numbers of each end of a parameter that count: enough to tell checkpoints apart, whatever the size of the model."""


def weights_fingerprint(model: Traceable) -> str:
    """Equal models have equal names; so results of one are not taken for those of another."""
    digest = hashlib.sha256(model.name.encode())
    inner = getattr(model, "model", None)
    if isinstance(inner, nn.Module):
        if describe := getattr(getattr(inner, "config", None), "to_json_string", None):
            digest.update(str(describe()).encode())  # of transformers: the same weights turn by another base
        for name, parameter in inner.named_parameters():
            flat = parameter.detach().flatten()
            ends = [part.float().cpu().numpy().tobytes() for part in (flat[:_ENDS], flat[-_ENDS:])]
            digest.update(b"".join([name.encode(), str(tuple(parameter.shape)).encode(), *ends]))
    return digest.hexdigest()[:16]
