"""Writes ``docs/claims.md``: ``python tools/document_claims.py > docs/claims.md``."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from whatwhere.studies.claim import KINDS, VERDICTS
from whatwhere.studies.judging import all_claims, escaped

PAGE = """# The claims

`whatwhere reproduce` and `whatwhere report DIR` judge every claim from the results on disk and write
`DIR/claims.json`, `claims.csv` and `claims.md`.

A claim is a record of `claims.toml` in the folder of its study: the statement in our words, where the paper makes it,
how it is measured, the threshold, how the paper's words became that threshold, and the day on which it was fixed. What
was changed after a first judgement stands there too. Each judgement keeps the checksum of the record. A report names
every claim whose record was changed after a judgement in the same directory.

The verdicts:

{verdicts}

With one seed the 95 % interval over inputs decides. With several seeds (`--seeds`) each one decides so, and a verdict
is sure only if all agree; the value with each seed stands beside it.

Statements about solutions are asked only of models that have learned their task (0.9 on every hop class). Statements
about trained models are asked of the control too, the letter model on leak-free data, if it is there. Where the
verdicts differ, the claim depends on the data.

`whatwhere reproduce` ends with an error when a claim that held before no longer does. What held is recorded by preset;
record it again, from one or more reproductions that are right, with
`python tools/record_claims.py PRESET DIR [DIR ...]`. Only claims that hold are kept.

This page is generated: `python tools/document_claims.py > docs/claims.md`.
"""
HEAD = """
## {kind}

| claim | in our words | in the paper | how it is measured | threshold | the paper's number | fixed |
|---|---|---|---|---|---|---|
"""


STATEMENTS = """
## Statements of the paper

{count} statements that speak of something observable; {tested} of them have claims. The others say why they have none.
"""


def statements() -> list[dict[str, Any]]:
    """The sections of the paper with their statements."""
    return tomllib.loads(Path(__file__).with_name("statements.toml").read_text())["section"]


def _statements_part() -> str:
    sections = statements()
    every = [one for section in sections for one in section["statements"]]
    part = STATEMENTS.format(count=len(every), tested=sum("claims" in one for one in every))
    for section in sections:
        part += f"\n### {section['name']}\n\n| statement | claims |\n|---|---|\n"
        for one in section["statements"]:
            told = ", ".join(f"`{name}`" for name in one.get("claims", ())) or f"none: {one['why_not']}"
            part += f"| {one['text']} | {told} |\n"
    return part


def claims_page() -> str:
    """The whole page."""
    page = PAGE.format(verdicts="\n".join(f"- *{name}*: {meaning}." for name, meaning in VERDICTS.items()))
    for kind, title in KINDS.items():
        page += HEAD.format(kind=title)
        for claim in all_claims():
            if claim.kind == kind:
                paper = claim.paper + f". Ill-posed: {claim.ill_posed}" * bool(claim.ill_posed)
                more = (("Also", claim.also), ("Restated", claim.restated))
                how = " ".join([claim.measured, *(f"{name}: {text}" for name, text in more if text)])
                cells = map(escaped, (claim.text, paper, how, claim.asked(), claim.paper_value, claim.fixed))
                page += f"| `{claim.id}` | {' | '.join(cells)} |\n"
    return page + _statements_part()


if __name__ == "__main__":
    print(claims_page(), end="")
