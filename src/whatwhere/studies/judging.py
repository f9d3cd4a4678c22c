"""Judges claims from evidence, and writes the verdicts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from whatwhere.errors import WhatwhereError
from whatwhere.store.documents import read_json, write_json
from whatwhere.store.files import write_bytes, write_text
from whatwhere.store.manifest import fingerprint
from whatwhere.store.tables import write_csv
from whatwhere.studies import STUDIES, study_named
from whatwhere.studies.claim import KINDS, VERDICTS, Claim, Finding, Judged, Kind, Verdict, listed
from whatwhere.studies.evidence import Evidence, NotTested, judged_on
from whatwhere.studies.results import consistent_tables


def all_claims() -> tuple[Claim, ...]:
    """The claims of every study, in the order of the paper."""
    return tuple(claim for name in STUDIES for claim in study_named(name).all_claims())


def judge(evidence: Sequence[Evidence], claims: Sequence[Claim] | None = None) -> list[Judged]:
    """Judges claims; a claim without evidence is "not tested".

    Args:
        evidence: of the first seed, then of each other seed.
        claims: which ones; all by default.

    Raises:
        WhatwhereError: a table is damaged.
    """
    return [_judge(claim, evidence) for claim in (all_claims() if claims is None else claims)]


def _judge(claim: Claim, evidence: Sequence[Evidence]) -> Judged:
    evidence[0].asked.clear()  # records which models this claim uses
    findings, refused = _findings(claim, evidence)
    if not findings:
        assert refused is not None
        return Judged(claim, "not tested", str(refused), missing=refused.missing)
    main, values = findings[0], tuple(finding.value for finding in findings)
    verdict, control = _verdict(claim, findings), _on_control(claim, evidence)
    if refused is not None and not refused.missing and verdict in ("holds", "fails"):
        verdict = "open"
    depends = ["seed"] if verdict == "depends" else []
    for condition, choices in main.elsewhere.items():
        if verdict != "open" and any(_matters(claim, findings, condition, choice) for choice in choices):
            depends.append(condition)
    if control is not None and _differs(verdict, control[0]):
        depends.append("data")
    judged = Judged(
        claim, verdict, "", main.value, main.interval, main.inputs, values, tuple(depends), control,
        models=tuple(sorted(filter(None, evidence[0].asked))),
    )  # fmt: skip
    if claim.ill_posed:
        judged = replace(judged, verdict="ill-posed", depends_on=())
    elif depends:
        judged = replace(judged, verdict="depends")
    why = " ".join(_words(judged, verdict, findings))
    if refused is not None:
        why += f" Measured with {len(findings)} of {len(evidence)} seeds; with another: {refused}"
    return replace(judged, why=why)


def _words(judged: Judged, verdict: Verdict, findings: Sequence[Finding]) -> Iterator[str]:
    """The reasons of a verdict: the values of each seed, under other conditions and on other data."""
    claim, main, values = judged.claim, findings[0], judged.seeds
    if claim.ill_posed:
        yield claim.ill_posed
    yield main.why
    decided = [_decides(claim, finding) for finding in findings]
    if len(findings) > 1:
        unsure = f", {decided.count('open')} open" if "open" in decided else ""
        yield (
            f"It holds with {decided.count('holds')} of {len(findings)} seeds{unsure}: "
            f"{min(values):.3g} to {max(values):.3g}."
        )
    for condition, choices in main.elsewhere.items():
        values_there = [_spanned(under) for choice in choices for under in _under([main], condition, choice)]
        there = min(len(_under(findings, condition, choice)) for choice in choices)
        only = f", measured with {there} of {len(findings)} seeds" if there < len(findings) else ""
        yield f"With other {condition} ({listed(list(choices))}): {listed(values_there)}{only}."
    if judged.control is not None:
        on_control, values_there = judged.control
        yield f"On leak-free letter data: {on_control} ({', '.join(f'{value:.3g}' for value in values_there)})."
    if judged.depends_on:
        sure = "" if verdict == "depends" else f"; under the conditions of the claim it {verdict}"
        yield f"It depends on {listed(list(judged.depends_on))}{sure}."
    elif judged.verdict == "open" and (across := sum(_reaches_across(claim, finding) for finding in findings)):
        of = f" of {across} of {len(findings)} seeds" if len(findings) > 1 else ""
        yield f"The interval{of} reaches across {claim.threshold.split()[-1]}."


def _spanned(finding: Finding) -> str:
    """``0.25 (0.2 to 0.3)``, without an interval if there is none."""
    low, high = finding.interval or (finding.value, finding.value)
    return f"{finding.value:.3g}" + f" ({low:.3g} to {high:.3g})" * (low < high)


def _under(findings: Sequence[Finding], condition: str, choice: str) -> list[Finding]:
    """The findings of each seed under another condition."""
    return [under for finding in findings if (under := finding.under(condition, choice)) is not None]


def _matters(claim: Claim, findings: Sequence[Finding], condition: str, choice: str) -> bool:
    """Whether the verdict surely differs under another condition, on the seeds for which it was measured."""
    measured = [finding for finding in findings if finding.under(condition, choice) is not None]
    return _differs(_verdict(claim, measured), _verdict(claim, _under(measured, condition, choice)))


def _differs(verdict: Verdict, other: Verdict) -> bool:
    """Whether two verdicts surely differ."""
    return verdict != other and "open" not in (verdict, other)


def _findings(claim: Claim, evidence: Sequence[Evidence]) -> tuple[list[Finding], NotTested | None]:
    """The findings of each seed, and the first reason for which one has none; theorems have one finding."""
    findings: list[Finding] = []
    refused: NotTested | None = None
    for one in evidence:
        if findings and evidence[0].asked == {None}:
            break
        try:
            with consistent_tables(one.found):
                findings.append(claim.measure(one))
        except NotTested as reason:
            refused = refused or reason
    return findings, refused


def _verdict(claim: Claim, findings: Sequence[Finding]) -> Verdict:
    """The verdict over seeds, each decided by its whole interval.

    "depends" if it holds for one seed and fails for another; otherwise "open" if it is open for any seed.
    """
    decided: list[Verdict] = [_decides(claim, finding) for finding in findings]
    if "holds" in decided and "fails" in decided:
        return "depends"
    return "open" if "open" in decided else decided[0]


def _decides(claim: Claim, finding: Finding) -> Verdict:
    """The verdict of one seed: ``open`` if the threshold lies within its interval."""
    if finding.rest_holds is False:
        return "fails"
    if _reaches_across(claim, finding) or (finding.rest_holds is None and claim.met(finding.value)):
        return "open"
    return "holds" if claim.met(finding.value) else "fails"


def _reaches_across(claim: Claim, finding: Finding) -> bool:
    """Whether the ends of an interval lie on both sides of the threshold."""
    return len({claim.met(end) for end in finding.interval or () if not math.isnan(end)}) > 1


def _on_control(claim: Claim, evidence: Sequence[Evidence]) -> tuple[Verdict, tuple[float, ...]] | None:
    """The verdict and values of a claim that uses the letter model, with the control instead."""
    if claim.kind != "trained" or "letter" not in evidence[0].asked:
        return None
    findings, _ = _findings(claim, [one.on_control() for one in evidence])
    if not findings:
        return None
    return _verdict(claim, findings), tuple(finding.value for finding in findings)


def verdicts(judged: Sequence[Judged]) -> pd.DataFrame:
    """The verdicts as a table."""
    return pd.DataFrame([one.to_row() for one in judged])


def counts(judged: Sequence[Judged]) -> dict[Kind, str]:
    """How many claims of each kind have each verdict, in words."""
    found = Counter((one.claim.kind, one.verdict) for one in judged)
    return {
        kind: ", ".join(f"{found[kind, verdict]} {verdict}" for verdict in VERDICTS if found[kind, verdict])
        for kind in KINDS
        if any(one.claim.kind == kind for one in judged)
    }


def write_claims(directory: Path, judged: Sequence[Judged]) -> Path:
    """Writes ``claims.json``, ``claims.csv`` and ``claims.md`` into a reproduction.

    Claims that were changed since an earlier judgement in this directory are listed.

    Returns:
        The path of ``claims.json``.
    """
    path = directory / "claims.json"
    changed, models = _changes(path, judged), judged_on(directory)
    content = {"models": models, "claims": [one.to_dict() for one in judged], "changes": changed}
    write_json(path, {**content, "checksum": fingerprint(content)})
    write_bytes(path.with_suffix(".csv"), write_csv(verdicts(judged)))
    write_text(path.with_suffix(".md"), markdown(judged, models, changed))
    return path


def _changes(path: Path, judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """The claims that were changed after a judgement in this directory, earlier changes first."""
    earlier: dict[str, Any] = {}
    with suppress(WhatwhereError):  # missing or damaged
        earlier = read_json(path, "the claims")
    if earlier.pop("checksum", None) != fingerprint(earlier):  # edited, or of an earlier version of whatwhere
        return []
    try:
        before = {one["id"]: one for one in earlier.get("claims", [])}
        return [*earlier.get("changes", [])] + [
            {"id": one.claim.id, "verdict": known["verdict"], "was": known["threshold"], "is": one.claim.threshold}
            for one in judged
            if (known := before.get(one.claim.id)) and known["checksum"] != one.claim.checksum
        ]
    except (KeyError, TypeError):
        return []


def markdown(
    judged: Sequence[Judged], models: Sequence[dict[str, Any]] = (), changed: Sequence[dict[str, Any]] = ()
) -> str:
    """The verdicts as Markdown tables, one for each kind, with the models that they were judged on."""
    lines = [
        "# Claims",
        "",
        "Intervals are 95 %, over inputs unless the claim names another unit. What each claim says, how it is measured",
        "and why its threshold is what it is: docs/claims.md.",
    ]
    lines += ["", *_models(models)] if models else []
    for kind, counted in counts(judged).items():
        lines += ["", f"## {KINDS[kind]}: {counted}", ""]
        lines += ["| verdict | claim | measured | asked for | in the paper | why |", "|---|---|---|---|---|---|"]
        for one in judged:
            if one.claim.kind == kind:
                paper = "; ".join(filter(None, (one.claim.paper, one.claim.paper_value)))
                cells = (one.verdict, one.claim.title, measured(one), one.claim.asked(), paper, one.why)
                lines.append("| " + " | ".join(map(escaped, cells)) + " |")
    if changed:
        lines += ["", "## Changed after a judgement in this directory", ""]
        lines += [escaped(f"- {one['id']}: was judged {one['verdict']} {_change(one)}.") for one in changed]
    return "\n".join([*lines, ""])


def _change(one: dict[str, Any]) -> str:
    if one["was"] == one["is"]:
        return f"with the same threshold, {one['is']}; its measure or its words were changed since"
    return f"with the threshold {one['was']}; now it is {one['is']}"


def _models(models: Sequence[dict[str, Any]]) -> list[str]:
    """A line for each model of a reproduction, with all of its seeds."""
    seeds_of: dict[str, list[str]] = {}
    for model in models:
        data = model["data"].get("generator", model["data"].get("distractors"))
        seeds_of.setdefault(f"- {model['model']}: preset {model['preset']}, data {data}", []).append(str(model["seed"]))
    return [f"{words}, seed{'s' * (len(seeds) > 1)} {listed(seeds)}." for words, seeds in seeds_of.items()]


def measured(one: Judged) -> str:
    """A value with its interval and its number of inputs, as text."""
    if one.value != one.value:
        return "-"
    text = f"{one.value:.4g}"
    if one.interval is not None:
        text += " ({:.4g} to {:.4g})".format(*one.interval)
    return text + (f", n = {one.inputs:,}" if one.inputs else "")


def escaped(text: str) -> str:
    """Text escaped for a cell of a Markdown table."""
    text = " ".join(text.split())
    for mark in "\\`*_[]|#":
        text = text.replace(mark, f"\\{mark}")
    return text.replace("<", "&lt;").replace(">", "&gt;")
