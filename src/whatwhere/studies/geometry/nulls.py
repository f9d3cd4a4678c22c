"""Null distributions of geometric statements: their values where they should not hold.

A statement about a head in its dominant plane (queries rotate with their integer, keys are aligned, queries match keys)
is measured again in the head's other planes and with shuffled names: the integer (or letter) of each mean query is
permuted at random. Once all layers are measured, the dominant planes of the other layers are a third null. In the
letter task letters count as integers in the order of the alphabet, so that letter models are a null of number models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float, Int

from whatwhere.studies.geometry.planes import integer_ranges, key_groups, letter_matching, means, sums, unit
from whatwhere.studies.geometry.tables import NullComparison
from whatwhere.tasks.task import Task
from whatwhere.trace.layer import LayerTrace

SHUFFLES = 1000
PLANES, NAMES, LAYERS = "other planes", "shuffled names", "other layers"


def null_comparisons(
    task: Task, layer: LayerTrace, tokens: Int[np.ndarray, "batch seq"], head: int, dominant: int
) -> Iterator[NullComparison]:
    """Every statement about one head against its other planes and against shuffled names."""
    place = layer.layer, head, dominant
    for statement, (planes, shuffled) in _values(task, layer, tokens, head, dominant - 1).items():
        value = float(planes[dominant - 1])
        yield compared(*place, statement, PLANES, value, np.delete(planes, dominant - 1))
        if shuffled is not None:
            yield compared(*place, statement, NAMES, value, shuffled)


def against_layers(rows: Sequence[NullComparison]) -> list[NullComparison]:
    """The same statements against the dominant planes of all other layers."""
    mine = [row for row in rows if row.null == PLANES]
    return [
        compared(
            row.layer, row.head, row.plane, row.statement, LAYERS, row.value,
            np.array([o.value for o in mine if o.statement == row.statement and o.layer != row.layer]),
        )
        for row in mine
    ]  # fmt: skip


def compared(
    layer: int, head: int, plane: int, statement: str, null: str, value: float, nulls: Float[np.ndarray, "n"]
) -> NullComparison:
    """A value and where it stands among those of a null; undefined ones are left out."""
    nulls = nulls[~np.isnan(nulls)]
    median, high = np.quantile(nulls, (0.5, 0.95)) if len(nulls) else (np.nan, np.nan)
    reached = int((nulls >= value).sum())
    return NullComparison(layer, head, plane, statement, null, value, len(nulls), reached, float(median), float(high))


def _values(
    task: Task, layer: LayerTrace, tokens: Int[np.ndarray, "batch seq"], head: int, dominant: int
) -> dict[str, tuple[Float[np.ndarray, "plane"], Float[np.ndarray, "shuffle"] | None]]:
    """Each statement in every plane, and in the dominant one with shuffled names."""
    vocabulary, random = task.vocabulary, np.random.default_rng(0)
    queries, keys = (
        layer.rotation.planes(x[:, head]).double().cpu().numpy() for x in (layer.queries, layer.keys)
    )  # [batch, place, plane, 2]
    asked = vocabulary.requests(tokens[:, layer.query_positions.cpu().numpy()])
    names = len(vocabulary.request_names)
    by_query = _mean_of_kinds(queries, asked, names)  # [plane, name, 2]
    frequencies = layer.rotation.frequencies.cpu().numpy()
    found = {}
    integers = np.arange(1, names + 1)
    for name, chosen in integer_ranges(task).items():
        angles = np.arctan2(by_query[:, chosen, 1], by_query[:, chosen, 0])  # [plane, integer]
        shuffled = random.permuted(np.tile(angles[dominant], (SHUFFLES, 1)), axis=-1)
        found[f"queries turn {name}"] = (
            agreement(angles, integers[chosen], frequencies),
            agreement(shuffled, integers[chosen], frequencies[[dominant]]),
        )
    for name, members in key_groups(vocabulary.points(tokens)).items():
        found[f"keys aligned {name}"] = np.linalg.norm(unit(keys)[members].mean(0), axis=-1), None
    if vocabulary.function == "retrieval":
        by_key = _mean_of_kinds(keys, vocabulary.labels(tokens), names)
        orders = random.permuted(np.tile(np.arange(names), (SHUFFLES, 1)), axis=-1)
        shuffled = letter_matching(np.repeat(by_query[[dominant]], SHUFFLES, 0), by_key[dominant][orders])
        found["queries match keys"] = letter_matching(by_query, by_key), shuffled
    return found


def agreement(
    angles: Float[np.ndarray, "n integer"], integers: Int[np.ndarray, "integer"], frequencies: Float[np.ndarray, "#n"]
) -> Float[np.ndarray, "n"]:
    """Length of the mean of unit queries turned forward by ``i g``; NaN for fewer than three known integers."""
    known = ~np.isnan(angles)
    turned = np.where(known, np.exp(1j * (np.nan_to_num(angles) + integers * frequencies[:, None])), 0)
    count = known.sum(-1)
    return np.divide(abs(turned.sum(-1)), count, out=np.full(len(angles), np.nan), where=count >= 3)


def _mean_of_kinds(
    vectors: Float[np.ndarray, "batch place plane 2"], kinds: Int[np.ndarray, "batch place"], count: int
) -> Float[np.ndarray, "plane kind 2"]:
    each = [means(sums(vectors[:, :, plane], kinds, count).sum(0)) for plane in range(vectors.shape[2])]
    return np.stack(each)
