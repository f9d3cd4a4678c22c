"""Keys and queries of a trained layer within one rotary plane, against the constructions (Section 3.4, Figure 4).

T_Index aligns all keys with one vector v and turns the query of integer i back by ``i theta``. In a plane of frequency
g that does this work (1) unit keys have a mean of length 1, and (2) the angle of the mean query of integer i,
unwrapped, falls by g for each step of i. Trained heads do more: they may align the keys of the target window with one
direction and those of pointers with the opposite one, so that a query aims at one group and away from the other. So (1)
is also measured for each group, and (2) with the group that queries, rotated forward by ``i g``, aim at.

T_Retrieval gives each letter an angle: (3) queries for a letter point where the keys that carry it point.

Queries contain the outputs of earlier layers, so means over all queries with the same token (for pairs: the same right
letter) are used.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

from whatwhere.heads.estimate import Estimate, bootstrap_means, percentiles
from whatwhere.studies.geometry.tables import KeyAlignment, LetterMatching, PlaneVector, QueryTurn
from whatwhere.tasks.task import Task
from whatwhere.trace.layer import LayerTrace

RESAMPLES = 500


class Plane:
    """The keys and queries of one head within one plane (by its ID, from 1), on some inputs.

    The queries of the traced layer are the positions of all pointers.
    """

    def __init__(
        self, task: Task, layer: LayerTrace, tokens: Int[np.ndarray, "batch seq"], head: int, plane: int
    ) -> None:
        self.task, self.tokens = task, tokens
        self.place = layer.layer, head, plane
        self.frequency = float(layer.rotation.frequencies[plane - 1])
        split = layer.rotation.planes
        queries = split(layer.queries[:, head])[..., plane - 1, :].double().cpu().numpy()  # [batch, query, 2]
        self.keys = split(layer.keys[:, head])[..., plane - 1, :].double().cpu().numpy()  # [batch, key, 2]
        vocabulary = task.vocabulary
        self.pointers = vocabulary.points(tokens)  # [batch, key]
        self.query_names, self.key_names = vocabulary.request_names, vocabulary.label_names
        asked = vocabulary.requests(tokens[:, layer.query_positions.cpu().numpy()])
        self.by_query = sums(queries, asked, len(self.query_names))  # [batch, name, 3]
        self.by_key = sums(self.keys, vocabulary.labels(tokens), len(self.key_names))

    def alignments(self) -> list[KeyAlignment]:
        """The alignment of all keys and of each group."""
        rows = []
        for name, members in key_groups(self.pointers).items():
            totals = sums(unit(self.keys), np.where(members, 0, -1), 1)  # [batch, 1, 3]
            lengths = np.linalg.norm(means(bootstrap_means(totals, resamples=RESAMPLES))[:, 0], axis=-1)
            value = float(np.linalg.norm(means(totals.sum(0))[0]))
            rows.append(KeyAlignment(*self.place, name, self._estimate(value, lengths)))
        return rows

    def turns(self) -> list[QueryTurn]:
        """The slopes of all integers and of the two ranges; none outside the number task."""
        if self.task.vocabulary.function != "index":
            return []
        integers = np.arange(1, len(self.query_names) + 1)
        queries = means(self.by_query.sum(0))
        drawn = means(bootstrap_means(self.by_query, resamples=RESAMPLES))
        target, pointers = (unit(self.keys[group].mean(0)) for group in (~self.pointers, self.pointers))
        rows = []
        for name, chosen in integer_ranges(self.task).items():
            slope, r2, forward = index_fit(queries[chosen], integers[chosen], self.frequency)
            slopes = index_slopes(drawn[:, chosen], integers[chosen])
            aim = unit(forward)
            rows.append(
                QueryTurn(
                    *self.place, name, self._estimate(slope, slopes), -self.frequency, r2,
                    float(np.linalg.norm(forward)), float(aim @ target), float(aim @ pointers),
                )
            )  # fmt: skip
        return rows

    def matchings(self) -> list[LetterMatching]:
        """How well queries and keys match; none outside the letter task."""
        if self.task.vocabulary.function != "retrieval":
            return []
        both = np.concatenate([self.by_query, self.by_key], 1)  # the same resampled inputs for queries and keys
        drawn = means(bootstrap_means(both, resamples=RESAMPLES))
        letters = len(self.query_names)
        (value,) = letter_matching(means(self.by_query.sum(0))[None], means(self.by_key.sum(0))[None])
        values = letter_matching(drawn[:, :letters], drawn[:, letters:])
        return [LetterMatching(*self.place, self._estimate(float(value), values))]

    def vectors(self) -> list[PlaneVector]:
        """What Figure 4B shows."""
        rows = []
        for role, totals, names in (("query", self.by_query, self.query_names), ("key", self.by_key, self.key_names)):
            together = totals.sum(0)
            for name, (x, y), count in zip(names, means(together), together[:, 2], strict=True):
                if count:
                    rows.append(PlaneVector(*self.place, role, name, float(x), float(y), int(count)))
        return rows

    def _estimate(self, value: float, drawn: Float[np.ndarray, "resample"]) -> Estimate:
        low, high = percentiles(drawn[:, None])
        return Estimate(value, float(low[0]), float(high[0]), len(self.tokens))


def key_groups(pointers: Bool[np.ndarray, "batch key"]) -> dict[str, Bool[np.ndarray, "batch key"]]:
    """The groups of keys whose alignment is measured."""
    return {"all": np.ones_like(pointers), "target": ~pointers, "pointers": pointers}


def integer_ranges(task: Task) -> dict[str, Bool[np.ndarray, "integer"]]:
    """All integers, those that may point at a pointer, and those beyond; ranges of nothing are left out."""
    integers, context = np.arange(1, len(task.vocabulary.request_names) + 1), task.context
    ranges = {f"1-{len(integers)}": integers > 0, f"1-{context}": integers <= context,
              f"{context + 1}-{len(integers)}": integers > context}  # fmt: skip
    return {name: chosen for name, chosen in ranges.items() if chosen.any()}


def index_fit(
    queries: Float[np.ndarray, "integer 2"], integers: Int[np.ndarray, "integer"], frequency: float
) -> tuple[float, float, Float[np.ndarray, "2"]]:
    """Slope of the queries' unwrapped angles against their integer, R^2, and the mean unit query turned forward.

    Unwrapping assumes less than half a turn from one integer to the next; RoPE's fastest plane turns by one radian.
    Integers without a query (NaN) are left out; fewer than three are too few for a line.
    """
    known = ~np.isnan(queries[:, 0])
    if known.sum() < 3:
        return float("nan"), float("nan"), np.full(2, np.nan)
    integers, angles = integers[known], np.arctan2(queries[known, 1], queries[known, 0])
    forward = angles + integers * frequency
    unwrapped = np.unwrap(angles)
    slope, start = np.polyfit(integers, unwrapped, 1)
    missed = unwrapped - (slope * integers + start)
    r2 = 1 - missed.var() / max(unwrapped.var(), 1e-300)
    return float(slope), float(r2), np.array([np.cos(forward).mean(), np.sin(forward).mean()])


def index_slopes(
    queries: Float[np.ndarray, "resample integer 2"], integers: Int[np.ndarray, "integer"]
) -> Float[np.ndarray, "resample"]:
    """The slopes of :func:`index_fit` for many sets of queries at once."""
    slopes = np.full(len(queries), np.nan)
    known = ~np.isnan(queries[..., 0])
    for pattern in np.unique(known, axis=0):  # sets in which the same integers have queries
        if pattern.sum() >= 3:
            rows = (known == pattern).all(1)
            some = queries[rows][:, pattern]
            centred = integers[pattern] - integers[pattern].mean()
            slopes[rows] = np.unwrap(np.arctan2(some[..., 1], some[..., 0])) @ centred / (centred @ centred)
    return slopes


def letter_matching(
    queries: Float[np.ndarray, "n letter 2"], keys: Float[np.ndarray, "n letter 2"]
) -> Float[np.ndarray, "n"]:
    """Mean cosine between queries and keys of equal letters, less that of different ones, centred over letters."""
    centred = (unit(x - np.nanmean(x, -2, keepdims=True)) for x in (queries, keys))
    cosines = np.einsum("...ax,...bx->...ab", *centred)
    same = np.eye(cosines.shape[-1], dtype=bool)
    return np.nanmean(cosines[..., same], -1) - np.nanmean(cosines[..., ~same], -1)


def sums(
    vectors: Float[np.ndarray, "batch seq 2"], kinds: Int[np.ndarray, "batch seq"], count: int
) -> Float[np.ndarray, "batch kind 3"]:
    """Per input and kind (negative: none): the sum of its vectors, and how many there are."""
    rows = np.broadcast_to(np.arange(len(kinds))[:, None], kinds.shape)
    known: Bool[np.ndarray, "batch seq"] = kinds >= 0
    totals = np.zeros((len(kinds), count, 3))
    np.add.at(totals, (rows[known], kinds[known]), np.concatenate([vectors, np.ones((*kinds.shape, 1))], -1)[known])
    return totals


def means(totals: Float[np.ndarray, "*any kind 3"]) -> Float[np.ndarray, "*any kind 2"]:
    """The mean vectors of :func:`sums`; NaN for a kind that does not occur."""
    count = totals[..., 2:]
    return np.divide(totals[..., :2], count, out=np.full_like(totals[..., :2], np.nan), where=count > 0)


def unit(vectors: Float[np.ndarray, "*any 2"]) -> Float[np.ndarray, "*any 2"]:
    """Vectors of length 1, a null vector staying null."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-300)
