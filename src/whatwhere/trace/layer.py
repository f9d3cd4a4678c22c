"""The trace: what one attention layer computed on some inputs, as the analyses need it (DESIGN, section 1).

Queries and keys *before* rotation, the rotation, the scale, and which keys each query may see. From them follows the
content-by-position matrix of one query at position n,

    M[a, p] = scale * k_a . R^(n-p) q_n,

the logit that the content of position ``a`` would get at position ``p``. Its diagonal is the logits that enter the
softmax; the rest gives the logits after two keys swap places, without another forward pass. As a function of the place,
every row of M is a sum of waves with the frequencies of the rotation; :meth:`LayerTrace.amplitudes` times
:meth:`LayerTrace.waves` is M, or any block of it.

Other models need three more things: inputs that see different keys (padded batches: ``visible`` and ``query_positions``
per input), logits squashed before the softmax (``cap``), and a logit in the softmax that belongs to no key (``sink``).
An intervention may also let the heads of a layer see different keys.

Our models, hand-built heads and other libraries' models all give this object, so each analysis is written once.
Axes: batch, head, query, key (or content and place for the two axes of M), d_head, plane.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import index

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.model.gptj import Tokens as Tokens
from whatwhere.model.rope import Rotation


@dataclass(frozen=True, eq=False, repr=False)
class LayerTrace:
    """One attention layer on a batch of inputs."""

    layer: int
    queries: Float[Tensor, "batch head query d_head"]
    """Before rotation, for the chosen query positions only."""
    keys: Float[Tensor, "batch head key d_head"]
    """Before rotation, for every position."""
    rotation: Rotation
    scale: float
    """The factor of the dot product: 1/sqrt(d_head) in our model (the paper's definition omits it)."""
    query_positions: Int[Tensor, "*each query"]
    """The position of each query, for all inputs or for each of them; keys are at 0 .. key-1."""
    visible: Bool[Tensor, "*seen query key"]
    """Which keys each query may see: for all inputs, for each of them, or for each of them and each head."""
    cap: float | None = None
    """If given, a logit x enters the softmax as ``cap * tanh(x / cap)`` (Gemma 2)."""
    sink: Float[Tensor, "head"] | None = None
    """If given, an additional logit of each head in the softmax that belongs to no key (GPT-OSS)."""

    def __repr__(self) -> str:
        return f"LayerTrace(layer {self.layer}, {self.sizes})"

    @property
    def sizes(self) -> str:
        """The sizes, in words."""
        batch, heads, asked, _ = self.queries.shape
        held = counted(heads, "head"), counted(batch, "input"), counted(self.keys.shape[2], "key")
        return ", ".join([*held, counted(asked, "query", "queries")])

    @property
    def key_positions(self) -> Int[Tensor, "key"]:
        """The position of each key."""
        return torch.arange(self.keys.shape[-2], device=self.keys.device)

    @property
    def uniform(self) -> bool:
        """Whether all inputs and heads have the same query positions and visible keys."""
        return self.visible.ndim == 2

    def logits(self) -> Float[Tensor, "batch head query key"]:
        """The numbers that enter the softmax; minus infinity where a query may not look."""
        places, visible = self.query_positions, self.visible
        if not self.uniform:
            places = places[:, None]  # [batch, 1, query]
            visible = visible[:, None] if visible.ndim == 3 else visible  # [batch, 1 or head, query, key]
        keys = self.rotation.turn(self.keys, self.key_positions)
        queries = self.rotation.turn(self.queries, places)
        scores = torch.einsum("bhqd,bhkd->bhqk", queries, keys) * self.scale
        return self.squash(scores).masked_fill(~visible, -torch.inf)

    def squash(self, products: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
        """Applies the cap, if any, to scaled products of queries and keys."""
        return products if self.cap is None else self.cap * (products / self.cap).tanh()

    def attention(self) -> Float[Tensor, "batch head query key"]:
        """The attention weights: the softmax of :meth:`logits`, without the share of a sink."""
        logits = self.logits()
        if self.sink is None:
            return logits.softmax(-1)
        sink = self.sink.to(logits)[:, None, None].expand(*logits.shape[:-1], 1)
        return torch.cat([logits, sink], -1).softmax(-1)[..., :-1]

    def attention_back(self, places: int) -> Float[Tensor, "batch head query"]:
        """The attention of each query to the key ``places`` positions before it."""
        to = (self.query_positions - places)[..., None, :, None]  # [*each, 1, query, 1]
        return self.attention().take_along_dim(to.expand(*self.queries.shape[:3], 1), -1)[..., 0]

    def content_by_position(self, query: int) -> Float[Tensor, "batch head content place"]:
        """The matrix M of one query (an index into ``query_positions``), for all contents and places."""
        return self.squash(self.amplitudes(query) @ self.waves(query))

    def amplitudes(self, query: int) -> Float[Tensor, "batch head content wave"]:
        """The amplitude of each wave in each content: this times :meth:`waves` is M.

        In plane k, turning the query q by an angle t changes its product with a key to
        ``(k1 q1 + k2 q2) cos t + (k2 q1 - k1 q2) sin t``: a cosine and a sine part. Coordinates that are not rotated
        give one constant wave. A cap, if there is one, applies to the products.
        """
        turning, still = self.rotation.width, self.keys.shape[-1] - self.rotation.width
        asked = self.queries[:, :, query, None, :] * self.scale  # [batch, head, 1, d_head]
        k1, k2 = self.rotation.planes(self.keys).unbind(-1)  # [batch, head, content, plane]
        q1, q2 = self.rotation.planes(asked).unbind(-1)  # [batch, head, 1, plane]
        parts = [torch.addcmul(k1 * q1, k2, q2), torch.addcmul(k2 * q1, k1, q2, value=-1)]
        if still:
            parts.append((self.keys[..., turning:] * asked[..., turning:]).sum(-1, keepdim=True))
        return torch.cat(parts, -1)

    def waves(self, query: int) -> Float[Tensor, "wave place"]:
        """The cosine of each plane, then the sine, at the distance between one query and each place; then 1, if any.

        The layer must be uniform; :meth:`parts` splits any layer into uniform ones.
        """
        assert self.uniform, "waves differ between inputs; take the layer in parts"
        away = (self.query_positions[query] - self.key_positions).to(torch.float64)  # [place]
        angle = self.rotation.frequencies.to(away.device)[:, None] * away  # [plane, place]
        rows = [angle.cos(), angle.sin()]
        if self.rotation.width < self.keys.shape[-1]:
            rows.append(torch.ones_like(away)[None])
        return torch.cat(rows).to(self.keys.dtype)

    def of_inputs(self, inputs: slice) -> LayerTrace:
        """The same layer on some of its inputs only."""
        own = {} if self.uniform else {"query_positions": self.query_positions[inputs], "visible": self.visible[inputs]}
        return replace(self, queries=self.queries[inputs], keys=self.keys[inputs], **own)

    def double(self) -> LayerTrace:
        """The same layer in float64."""
        return replace(self, queries=self.queries.double(), keys=self.keys.double())

    def parts(self, inputs: int) -> Iterator[LayerTrace]:
        """Uniform parts of the layer in float64, some inputs at a time; one at a time if the layer is not uniform."""
        if self.visible.ndim == 4:
            raise WhatwhereError(
                f"expected heads that see the same keys, got layer {self.layer} with a mask of its own for some heads; "
                "take the heads one by one: layer.of_heads([head])."
            )
        size = max(1, inputs) if self.uniform else 1
        for start in range(0, len(self.keys), size):
            part = self.of_inputs(slice(start, start + size)).double()
            if not part.uniform:
                part = replace(part, query_positions=part.query_positions[0], visible=part.visible[0])
            yield part

    def of_queries(self, queries: Tensor | slice) -> LayerTrace:
        """The same layer with some of its queries only, by index."""
        return replace(
            self,
            queries=self.queries[:, :, queries],
            query_positions=self.query_positions[..., queries],
            visible=self.visible[..., queries, :],
        )

    def of_heads(self, heads: Sequence[int]) -> LayerTrace:
        """The same layer with some of its heads only."""
        some = list(heads)
        sink = None if self.sink is None else self.sink[some]
        visible = self.visible if self.visible.ndim < 4 else self.visible[:, some]
        if visible.ndim == 4 and bool((visible == visible[:, :1]).all()):
            visible = visible[:, 0]  # the chosen heads see the same keys
        return replace(self, queries=self.queries[:, some], keys=self.keys[:, some], sink=sink, visible=visible)


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """The traces of some layers of one model on one batch of inputs."""

    layers: tuple[LayerTrace, ...]

    def __repr__(self) -> str:
        sizes = self.layers[0].sizes if self.layers else "nothing"
        return f"Trace({counted(len(self.layers), 'layer')}, {sizes})"

    def check_not_empty(self) -> None:
        """Raises an error for a trace without a layer, input, head or query."""
        if not self.layers or 0 in self.layers[0].queries.shape[:3]:
            raise WhatwhereError(
                "expected a trace of at least one layer, input, head and query, got an empty one; "
                "trace some inputs: whatwhere.trace(model, tokens)."
            )

    def attention(self) -> Float[Tensor, "layer batch head query key"]:
        """The attention weights of all traced layers."""
        return torch.stack([layer.attention() for layer in self.layers])


def counted(count: int, what: str, plural: str = "") -> str:
    """A number with its noun."""
    return f"{count:,} {what if count == 1 else plural or what + 's'}"


def choose(wanted: Sequence[int], count: int, what: str) -> list[int]:
    """Indices from 0, negative ones counted from the end; an error for one that is none or does not exist."""
    try:
        indices = [index(one) for one in wanted]
    except TypeError as error:
        raise WhatwhereError(f"expected each {what} as a whole number in a list, got {wanted!r:.80}.") from error
    for one in indices:
        if not -count <= one < count:
            raise WhatwhereError(f"expected a {what} from 0 to {count - 1} (or -{count} to -1), got {one!s:.40}.")
    return [one % count for one in indices]
