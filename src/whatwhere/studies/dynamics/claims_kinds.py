"""Which kinds of heads a task needs: the abstract, Sections 3.1 and 3.3, Figure 2C."""

from __future__ import annotations

from dataclasses import replace

from whatwhere.heads.purity import KINDS, Kind
from whatwhere.heads.summary import label_of
from whatwhere.studies.claim import Claim, Finding, listed
from whatwhere.studies.dynamics.claims_purity import GAMMA, Heads, all_heads, main_windows, needed, share_of_heads
from whatwhere.studies.source import Source

Kinds = dict[Kind, list[tuple[int, int]]]
"""Heads (layer, head) by kind."""


def number_needs_both(source: Source) -> Finding:
    """How many kinds of pure heads there are among those that the number model needs."""
    kinds = final_kinds(source, "number", needed(source, "number"))
    present = [kind for kind in KINDS if kinds[kind]]
    why = f"Of the heads whose ablation hurts, {_told(kinds)} by the end of training."
    return Finding(len(present) == 2, float(len(present)), why, None, source.dynamics("number").history.settings.inputs)


def number_has_both(source: Source) -> Finding:
    """How many kinds of pure heads the number model ends with, whether needed or not."""
    kinds = final_kinds(source, "number", all_heads(source, "number"))
    present = [kind for kind in KINDS if kinds[kind]]
    why = f"Of all heads, {_told(kinds)} by the end of training."
    return Finding(len(present) == 2, float(len(present)), why, None, source.dynamics("number").history.settings.inputs)


def number_has_both_within_window(source: Source) -> Finding:
    """The same, where a head counts that is pure within the window it looks at most."""
    source.learned("number")
    labels = {
        head: label_of(row.positional, row.symbolic, GAMMA) for head, row in main_windows(source, "number").items()
    }
    kinds: Kinds = {kind: [head for head, label in labels.items() if label == kind] for kind in KINDS}
    present = [kind for kind in KINDS if kinds[kind]]
    why = f"Within the window it looks at most, {_told(kinds)} by the end of training."
    return Finding(len(present) == 2, float(len(present)), why, None, source.dynamics("number").history.settings.inputs)


def letter_needs_symbolic_only(source: Source) -> Finding:
    """The share of needed heads that are purely symbolic; no head at all may be purely positional."""
    heads = needed(source, "letter")
    kinds = final_kinds(source, "letter", heads)
    positional = final_kinds(source, "letter", all_heads(source, "letter"))["positional"]
    why = (
        f"Of the heads whose ablation hurts, {_told(kinds)} by the end of training; "
        f"of all heads {len(positional)} are purely positional."
    )
    share = share_of_heads(len(kinds["symbolic"]), len(heads), why, source.dynamics("letter").history.settings.inputs)
    return replace(share, holds=share.holds and not positional)


def final_kinds(source: Source, task: str, heads: Heads) -> Kinds:
    """Which of some heads end pure, by kind."""
    found = source.learned(task).purity(GAMMA)
    return {kind: [head for head in heads if found.pure(kind)[-1][head]] for kind in KINDS}


def _told(kinds: Kinds) -> str:
    parts = [
        f"{len(heads)} {'is' if len(heads) == 1 else 'are'} purely {kind}"
        + f" (layer {listed([layer for layer, _ in heads])})" * bool(heads)
        for kind, heads in kinds.items()
    ]
    return " and ".join(parts)


CLAIMS = (
    Claim(
        "number-needs-both-kinds",
        "The number task needs positional and symbolic heads",
        "The number task requires both positional and symbolic heads.",
        "Abstract, Sections 3.1 and 3.3",
        "Kinds of pure heads (gamma 0.1) among those whose ablation hurts, at the end of training.",
        "2 kinds",
        number_needs_both,
    ),
    Claim(
        "number-has-both-kinds",
        "The number model ends with positional and symbolic heads",
        "A weaker reading: both kinds of pure heads are there, whether or not the model needs them.",
        "Sections 3.1 and 3.3, Figure 2C",
        "Kinds of pure heads (gamma 0.1) at the end of training, with swaps over the whole input.",
        "2 kinds",
        number_has_both,
    ),
    Claim(
        "number-has-both-kinds-within-window",
        "Within a window, the number model has positional and symbolic heads",
        "Our reading: both kinds are there, among the tokens of the window that each head looks at most.",
        "not in the paper; see docs/scores.md",
        "Kinds of pure heads (gamma 0.1) at the end of training, with swaps inside that window alone.",
        "2 kinds",
        number_has_both_within_window,
    ),
    Claim(
        "letter-needs-only-symbolic",
        "The letter task needs symbolic heads only",
        "The letter task requires only symbolic heads.",
        "Abstract, Sections 3.1 and 3.3",
        "Share of purely symbolic heads (gamma 0.1) among those whose ablation hurts, at the end of training.",
        "every one of them, and no purely positional head anywhere",
        letter_needs_symbolic_only,
    ),
)  # fmt: skip
