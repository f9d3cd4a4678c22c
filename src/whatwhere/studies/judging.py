"""Claims judged from evidence, and written down."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from whatwhere.store.documents import write_json
from whatwhere.store.files import write_bytes, write_text
from whatwhere.store.tables import write_csv
from whatwhere.studies import STUDIES, study_named
from whatwhere.studies.claim import FAILS, HOLDS, NOT_TESTED, Claim, Finding, Judged
from whatwhere.studies.evidence import Evidence, NotTested

if TYPE_CHECKING:
    import pandas as pd


def all_claims() -> tuple[Claim, ...]:
    """The claims of every study, in the order of the paper."""
    return tuple(claim for name in STUDIES for claim in study_named(name).all_claims())


def judge(evidence: Sequence[Evidence], claims: Sequence[Claim] | None = None) -> list[Judged]:
    """Judges claims; what the evidence does not hold is not tested.

    Args:
        evidence: of the first seed, then of each other seed.
        claims: which ones; all by default.

    Raises:
        WhatwhereError: a table is damaged.
    """
    first, *others = evidence
    return [_judge(claim, first, others) for claim in (all_claims() if claims is None else claims)]


def _judge(claim: Claim, first: Evidence, others: Sequence[Evidence]) -> Judged:
    """With several seeds, the verdict is that of more than half of them."""
    findings: list[Finding] = []
    refused: NotTested | None = None
    for one in (first, *(others if claim.trained else ())):
        try:
            findings.append(claim.measure(one))
        except NotTested as reason:
            refused = refused or reason
    if not findings:
        assert refused is not None
        return Judged(claim, NOT_TESTED, str(refused), missing=refused.missing)
    main, held = findings[0], sum(finding.holds for finding in findings)
    values = tuple(finding.value for finding in findings) if claim.trained else ()
    why = main.why
    if len(findings) > 1:
        why += f" It holds with {held} of {len(findings)} seeds: {min(values):.3g} to {max(values):.3g}."
    verdict = HOLDS if 2 * held > len(findings) else FAILS
    return Judged(claim, verdict, why, main.value, main.interval, main.inputs, values, held == len(findings))


def verdicts(judged: Sequence[Judged]) -> pd.DataFrame:
    """The verdicts as a table."""
    import pandas as pd

    return pd.DataFrame([one.to_row() for one in judged])


def write_claims(directory: Path, judged: Sequence[Judged]) -> Path:
    """Writes ``claims.json``, ``claims.csv`` and ``claims.md`` into a reproduction.

    Returns:
        The path of ``claims.json``.
    """
    path = directory / "claims.json"
    write_json(path, {"claims": [one.to_dict() for one in judged]})
    write_bytes(path.with_suffix(".csv"), write_csv(verdicts(judged)))
    write_text(path.with_suffix(".md"), markdown(judged))
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
