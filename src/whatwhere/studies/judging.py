"""All claims together, judged on one reproduction and written down."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from whatwhere.store.storage import write_csv, write_json, write_text
from whatwhere.studies.chat import claims as llm
from whatwhere.studies.claim import FAILS, HOLDS, NOT_TESTED, Claim, Finding, Judged
from whatwhere.studies.dynamics import claims_kinds as kinds
from whatwhere.studies.dynamics import claims_learning as learning
from whatwhere.studies.dynamics import claims_purity as purity
from whatwhere.studies.geometry import claims as geometry
from whatwhere.studies.length import claims as length
from whatwhere.studies.mechanism import claims as mechanism
from whatwhere.studies.source import NotTested, Source
from whatwhere.studies.theorems import claims as theory

CLAIMS: tuple[Claim, ...] = (
    *learning.CLAIMS,
    *purity.CLAIMS,
    *kinds.CLAIMS,
    *mechanism.CLAIMS,
    *theory.CLAIMS,
    *geometry.CLAIMS,
    *length.CLAIMS,
    *llm.CLAIMS,
)
"""In the order of the paper."""
COLUMNS = (
    "id", "title", "verdict", "value", "low", "high", "inputs", "seeds", "threshold", "paper_value", "paper", "why",
)  # fmt: skip


def judge(directory: Path, claims: Sequence[Claim] = CLAIMS) -> list[Judged]:
    """Judges claims from what is on disk; what is not there is not tested.

    Args:
        directory: of a reproduction; ``seeds/SEED`` in it may hold the runs of further seeds.
        claims: which ones.

    Raises:
        WhatwhereError: a table is damaged.
    """
    source = Source(directory)
    others = source.seeds()
    return [_judge(claim, source, others) for claim in claims]


def _judge(claim: Claim, source: Source, others: Sequence[Source]) -> Judged:
    """With several seeds, the verdict is that of more than half of them."""
    findings: list[Finding] = []
    refused: NotTested | None = None
    for one in (source, *(others if claim.trained else ())):
        try:
            findings.append(claim.measure(one))
        except NotTested as reason:
            refused = refused or reason
    if not findings:
        assert refused is not None
        return Judged(claim, NOT_TESTED, str(refused), missing=refused.missing)
    first, held = findings[0], sum(finding.holds for finding in findings)
    values = tuple(finding.value for finding in findings) if claim.trained else ()
    why = first.why
    if len(findings) > 1:
        why += f" It holds with {held} of {len(findings)} seeds: {min(values):.3g} to {max(values):.3g}."
    verdict = HOLDS if 2 * held > len(findings) else FAILS
    return Judged(claim, verdict, why, first.value, first.interval, first.inputs, values, held == len(findings))


def write_claims(directory: Path, judged: Sequence[Judged] | None = None) -> Path:
    """Writes ``claims.json``, ``claims.csv`` and ``claims.md`` into a reproduction.

    Args:
        directory: of the reproduction.
        judged: its claims, if they have been judged already.

    Returns:
        The path of ``claims.json``.

    Raises:
        WhatwhereError: a table is damaged.
    """
    found = judge(directory) if judged is None else list(judged)
    path = directory / "claims.json"
    write_json(path, {"claims": [one.to_dict() for one in found]})
    write_csv(path.with_suffix(".csv"), COLUMNS, [_row(one) for one in found])
    write_text(path.with_suffix(".md"), markdown(found))
    return path


def markdown(judged: Sequence[Judged]) -> str:
    """The verdicts as a table for people."""
    counts = ", ".join(f"{sum(one.verdict == v for one in judged)} {v}" for v in (HOLDS, FAILS, NOT_TESTED))
    lines = [
        f"# Claims: {counts}",
        "",
        "Intervals are 95 %, over inputs. What each claim says, how it is measured and why its threshold is what it",
        "is: docs/claims.md.",
        "",
        "| verdict | claim | measured | asked for | in the paper | why |",
        "|---|---|---|---|---|---|",
    ]
    for one in judged:
        claim = one.claim
        paper = claim.paper + (f"; {claim.paper_value}" if claim.paper_value else "")
        cells = (one.verdict, claim.title, measured(one), claim.threshold, paper, one.why)
        lines.append("| " + " | ".join(map(escaped, cells)) + " |")
    return "\n".join([*lines, ""])


def measured(one: Judged) -> str:
    """A value with its interval and its inputs, for people."""
    if one.value != one.value:
        return "-"
    text = f"{one.value:.4g}"
    if one.interval is not None:
        text += " ({:.4g} to {:.4g})".format(*one.interval)
    return text + (f", {one.inputs:,} inputs" if one.inputs else "")


def escaped(text: str) -> str:
    """Text in a cell of a Markdown table: names from data can neither leave it nor bring markup."""
    text = " ".join(text.split())
    for mark in "\\`*_[]|#":
        text = text.replace(mark, f"\\{mark}")
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _row(one: Judged) -> tuple[object, ...]:
    low, high = one.interval or (float("nan"), float("nan"))
    claim = one.claim
    return (
        claim.id, claim.title, one.verdict, one.value, low, high, "" if one.inputs is None else one.inputs,
        " ".join(f"{value:.6g}" for value in one.seeds), claim.threshold, claim.paper_value or "", claim.paper, one.why,
    )  # fmt: skip
