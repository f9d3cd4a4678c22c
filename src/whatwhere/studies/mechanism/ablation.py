"""Does the model need a head, or a group of heads? Mean ablation with a paired test.

A head is ablated by replacing its output, at each position, by its mean over inputs of all hop classes, which contains
no information about the input. Single heads are not enough: if two heads do the same work, each of them can be ablated
without loss. So groups are ablated too: late layers together, all heads of a kind, all but a few.

*Needed* means a loss of accuracy above :data:`LOSS` in some hop class with McNemar's exact test below :data:`ALPHA`:
the same inputs are answered before and after, so only the answers that change count.

A role that was read off attention counts only if the model needs the head for it: a layer that brings the answer to
positions d hops away should be needed by every input of d or more hops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from scipy.stats import binomtest
from torch import Tensor

from whatwhere.heads.purity import GAMMAS, label_of
from whatwhere.heads.roles import RoleShare
from whatwhere.model.gptj import GPTJ
from whatwhere.studies.answering import share_of
from whatwhere.studies.mechanism.observation import AT_ONCE, Edits, record, run_from
from whatwhere.studies.mechanism.tables import Ablation, Delivery, GroupAblation, Head, Kind, Verdict, write_heads
from whatwhere.studies.study import Progress, no_progress
from whatwhere.tasks.batch import Batch

LOSS = 0.05
"""A head is needed if a hop class loses more accuracy than this without it, ..."""
ALPHA = 0.001
"""... by a test at this level: 0.05 divided by the 48 tests of the paper's models (12 heads, 4 hop classes)."""
OTHER_GAMMAS = (0.05, 0.2)
"""Tolerances of purity besides the usual one at which the heads of a kind are ablated together."""
SERVES = 0.25
"""A layer serves a distance if it brings the answer to at least this share of the positions there."""


class MeanAblation:
    """Runs a model with some of its heads replaced by their means.

    The means are over ``tokens``; other inputs of the same length can be run with them.
    """

    @torch.no_grad()
    def __init__(self, model: GPTJ, tokens: Int[np.ndarray, "n seq"]) -> None:
        self.model = model
        self.heads = list(np.ndindex(model.config.layers, model.config.heads))
        parts = (record(model, tokens[start : start + AT_ONCE])[1] for start in range(0, len(tokens), AT_ONCE))
        total = torch.stack([written.sum(1) for written in parts]).sum(0)
        self.means = total / len(tokens)  # [layer, seq, head, d_head]

    @torch.no_grad()
    def logits(
        self, tokens: Int[np.ndarray, "n seq"], sets: Sequence[Collection[Head]], base: Collection[Head] = ()
    ) -> Float[np.ndarray, "set n vocab"]:
        """The logits of the answer with each set of heads ablated, together with those of ``base``.

        Runs of different sets share the layers before their first head.
        """
        parts = []
        for part in self.model.check_tokens(tokens).split(AT_ONCE):
            before = self.model.residuals(part, edits=self.edits(base))
            states = list(islice(before, 1 + max(0, self._last_live(base))))  # up to the last layer that still attends
            found = []
            for heads in sets:
                start = min((layer for layer, head in heads if (layer, head) not in base), default=len(states) - 1)
                ablated = {*base, *heads}
                found.append(run_from(self.model, states[start], start, self.edits(ablated), self._last_live(ablated)))
            parts.append(torch.stack(found))
        return torch.cat(parts, 1).numpy(force=True)

    def _last_live(self, ablated: Collection[Head]) -> int:
        return max((layer for layer, head in self.heads if (layer, head) not in ablated), default=-1)

    def edits(self, ablated: Collection[Head]) -> Edits:
        """By layer, the edit that replaces ablated heads by means; a layer without other heads need not attend."""
        counts = Counter(layer for layer, _ in ablated)
        return {
            layer: self.means[layer][None] if count == self.model.config.heads else partial(self._edit, layer, ablated)
            for layer, count in counts.items()
        }

    def _edit(self, layer: int, ablated: Collection[Head], written: Tensor) -> Tensor:
        heads, changed = [head for at, head in ablated if at == layer], written.clone()
        changed[:, :, heads] = self.means[layer, -written.shape[1] :, heads]
        return changed


@dataclass(frozen=True)
class Group:
    """Heads that are ablated together."""

    family: str
    name: str
    heads: tuple[Head, ...]


def ablate_heads(ablation: MeanAblation, batch: Batch, progress: Progress = no_progress) -> list[Ablation]:
    """Ablates each head alone, on all inputs, solved or not."""
    losses = _losses(ablation, batch, {head: [head] for head in ablation.heads}, "ablating single heads", progress)
    return [Ablation(*head, *loss) for head, loss in losses]


def ablate_groups(
    ablation: MeanAblation, batch: Batch, groups: Sequence[Group], progress: Progress = no_progress
) -> list[GroupAblation]:
    """Ablates the heads of each group together."""
    losses = _losses(ablation, batch, {group: group.heads for group in groups}, "ablating groups of heads", progress)
    return [GroupAblation(group.family, group.name, write_heads(group.heads), *loss) for group, loss in losses]


def groups_of(kinds: Sequence[Kind], needed: Collection[Head]) -> list[Group]:
    """Late layers together, all heads of each kind, and all but those of each kind, all but the needed ones."""
    heads = [(row.layer, row.head) for row in kinds]
    last = max(layer for layer, _ in heads)
    groups = [
        Group("late layers", f"layers {first}-{last}", tuple(head for head in heads if head[0] >= first))
        for first in range(1, last)
    ]
    for gamma in (GAMMAS[0], *OTHER_GAMMAS):
        for label, chosen in sorted(_by_label(kinds, gamma).items()):
            groups.append(Group(kind_family(gamma), f"all {label}", tuple(sorted(chosen))))
    of_kind = _by_label(kinds, GAMMAS[0])
    for name, kept in (*sorted(of_kind.items()), *([("needed", set(needed))] if needed else [])):
        groups.append(Group("all but", f"all but {name}", tuple(head for head in heads if head not in kept)))
    groups.append(Group("all but", "all", tuple(heads)))
    return [group for group in groups if group.heads]


def kind_family(gamma: float) -> str:
    """The family of all heads of a kind, at a tolerance of purity."""
    return "kind" if gamma == GAMMAS[0] else f"kind at gamma {gamma:g}"


def _by_label(kinds: Sequence[Kind], gamma: float) -> dict[str, set[Head]]:
    heads: dict[str, set[Head]] = {}
    for row in kinds:
        heads.setdefault(label_of(row.positional.value, row.symbolic.value, gamma), set()).add((row.layer, row.head))
    return heads


def answered(ablation: MeanAblation, batch: Batch, sets: Sequence[Collection[Head]]) -> Bool[np.ndarray, "set n"]:
    """Which inputs are answered right with each set of heads ablated."""
    return ablation.logits(batch.tokens, sets).argmax(-1) == batch.answers


def mcnemar(before: Bool[np.ndarray, "n"], after: Bool[np.ndarray, "n"]) -> float:
    """The p-value of McNemar's exact test that more answers are lost than gained; 1 if none changes."""
    lost, gained = int((before & ~after).sum()), int((after & ~before).sum())
    return float(binomtest(lost, lost + gained, alternative="greater").pvalue) if lost + gained else 1.0


def _losses(
    ablation: MeanAblation, batch: Batch, sets: Mapping[Any, Collection[Head]], what: str, progress: Progress
) -> Iterator[tuple[Any, tuple]]:
    """For each set (by its key) and hop class the last six columns of both tables."""
    progress(what, 1, 2)
    different = list({frozenset(heads) for heads in sets.values()})
    whole, *without = answered(ablation, batch, [(), *different])
    right_without = dict(zip(different, without, strict=True))
    progress(what, 2, 2)
    for key, heads in sets.items():
        right = right_without[frozenset(heads)]
        for hops in np.unique(batch.hops).tolist():
            before, after = (each[batch.hops == hops] for each in (whole, right))
            loss, p_value = float(before.mean() - after.mean()), mcnemar(before, after)
            yield key, (hops, share_of(before), share_of(after), loss, p_value, loss > LOSS and p_value < ALPHA)


def served_distances(deliveries: Sequence[Delivery]) -> dict[int, list[int]]:
    """For each layer the distances that it serves."""
    return {
        layer: [row.distance for row in deliveries if row.layer == layer and row.share.value >= SERVES]
        for layer in sorted({row.layer for row in deliveries})
    }


def judge(roles: Sequence[RoleShare], deliveries: Sequence[Delivery], ablations: Sequence[Ablation]) -> list[Verdict]:
    """Compares roles with ablations, head by head."""
    classes, served = sorted({row.hops for row in ablations}), served_distances(deliveries)
    verdicts = []
    for layer, head in sorted({(row.layer, row.head) for row in ablations}):
        serves = served.get(layer, [])
        expected = [hops for hops in classes if serves and hops >= min(serves)]
        needed_by = [row.hops for row in ablations if (row.layer, row.head) == (layer, head) and row.needed]
        of_head = [row for row in roles if (row.layer, row.head) == (layer, head)]
        if serves:
            chosen = [row for row in of_head if (row.distance, row.queries) == (None, "served")]
        else:  # it may prepare one distance: use the one with the clearest role
            chosen = [row for row in of_head if row.distance is not None and row.queries == "path"]
        best = max(chosen, key=lambda row: row.share.value)
        distances, expecting, needing = (" ".join(map(str, numbers)) for numbers in (serves, expected, needed_by))
        verdict = _verdict(expected, needed_by)
        verdicts.append(Verdict(layer, head, best.role, best.share, distances, expecting, needing, verdict))
    return verdicts


def _verdict(expected: Sequence[int], needed_by: Sequence[int]) -> str:
    if not expected:
        return "needed otherwise" if needed_by else "idle"
    confirmed = set(expected) & set(needed_by)
    return "confirmed" if confirmed == set(expected) else "partly" if confirmed else "not needed"
