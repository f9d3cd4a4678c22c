"""Do two tables of head scores agree? Two texts, two temperatures, two checkpoints or two quantisations of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib import pyplot
from matplotlib.figure import Figure

from whatwhere.errors import WhatwhereError
from whatwhere.studies.language_models.tables import LABELS
from whatwhere.studies.style import NEUTRAL, PALE, POSITIONAL, SYMBOLIC

CORRELATED = ("positional", "symbolic", "rest_positional", "previous", "induction")
_KEPT = ["layer", "head", "label", *CORRELATED]


@dataclass(frozen=True, eq=False)
class Agreement:
    """Two tables, head by head."""

    heads: pd.DataFrame
    """The heads of both: columns of the first end in ``_a``, of the second in ``_b``; ``same`` if labels agree."""
    correlations: dict[str, float]
    """Spearman's rank correlation over heads of some columns; undefined where one is constant."""
    confusion: pd.DataFrame
    """How many heads have which label in the first (rows) and in the second (columns)."""
    left_out: int
    """Heads that only one of them has."""

    @property
    def share(self) -> float:
        """The share of heads with the same label in both."""
        return float(self.heads["same"].to_numpy().mean())


def compare(first: pd.DataFrame, second: pd.DataFrame) -> Agreement:
    """Compares two tables of head scores, by layer and head."""
    for name, table in (("first", first), ("second", second)):
        if table.duplicated(["layer", "head"]).any():
            raise WhatwhereError(f"expected one row per head, got several in the {name} table; give one model each.")
    both = first[_KEPT].merge(second[_KEPT], on=["layer", "head"], suffixes=("_a", "_b"))
    if both.empty:
        raise WhatwhereError("expected two tables with some heads in both, got none; compare models of one shape.")
    both["same"] = both["label_a"] == both["label_b"]
    ranks = both.corr("spearman", numeric_only=True)
    correlations = {name: float(ranks.at[f"{name}_a", f"{name}_b"]) for name in CORRELATED}  # pyright: ignore[reportArgumentType]
    seen = [label for label in LABELS if label in {*both["label_a"], *both["label_b"]}]
    confusion = pd.crosstab(both["label_a"], both["label_b"]).reindex(index=seen, columns=seen, fill_value=0)
    return Agreement(both, correlations, confusion, len(first) + len(second) - 2 * len(both))


def draw(found: Agreement, names: Sequence[str]) -> Figure:
    """Both scores of the first table against the second, and how labels are confused."""
    first, second = (f"{letter}: {name}" for letter, name in zip("AB", names, strict=True))  # names may be equal
    figure, (*scores, cells) = pyplot.subplots(1, 3, figsize=(11.5, 3.9))
    for axes, kind, colour in zip(scores, ("positional", "symbolic"), (POSITIONAL, SYMBOLIC), strict=True):
        axes.plot([0, 1], [0, 1], color=PALE)
        for same, mark, shade in ((True, "o", colour), (False, "x", NEUTRAL)):
            rows = found.heads[found.heads["same"] == same]
            words = "same label" if same else "another label"
            axes.scatter(
                rows[f"{kind}_a"], rows[f"{kind}_b"], s=14, marker=mark, color=shade, label=f"{len(rows)} {words}"
            )
        axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xlabel=first, ylabel=second)
        axes.set_title(f"{kind} score (rank correlation {found.correlations[kind]:.2f})")
        axes.legend(fontsize=8)
    counts = found.confusion.to_numpy()
    cells.imshow(counts, cmap="Greys", vmin=0, vmax=max(1, 2 * counts.max()))
    for (row, column), count in np.ndenumerate(counts):
        cells.text(column, row, str(count), ha="center", va="center", fontsize=9)
    cells.set_xticks(range(len(counts)), list(found.confusion.columns), rotation=30)
    cells.set_yticks(range(len(counts)), list(found.confusion.index))
    cells.grid(visible=False)
    cells.set(xlabel=second, ylabel=first, title=f"labels: {found.share:.0%} the same")
    return figure
