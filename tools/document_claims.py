"""Writes ``docs/claims.md``: ``python tools/document_claims.py > docs/claims.md``."""

from __future__ import annotations

from whatwhere.studies.judging import all_claims, escaped

PAGE = """# The claims

Each statement of the paper that can be tested, in its order. `whatwhere reproduce` and `whatwhere report DIR` judge
them from the results on disk and write `DIR/claims.json`, `claims.csv` and `claims.md`: *holds*, *fails*, or *not
tested* and why.

Thresholds follow from the paper's words and not from our results; where the paper gives no number, the threshold says
how its words were read. A statement that fails here is left as the paper makes it. Where another reading differs,
within a window or as corrected by an [erratum](errata.md), it is a claim of its own. The measured value decides, and
its 95 % interval over inputs tells how sure that is. With several seeds (`--seeds`) the verdict is that of more than
half of them. Statements about solutions are asked only of models that have learned their task (0.9 on every hop class).

`whatwhere reproduce` ends with an error when a claim that held before no longer does. What held is recorded by preset;
record it anew, from one or more reproductions that are right, with
`python tools/record_claims.py PRESET DIR [DIR ...]`. Only claims that hold with all of their seeds are kept.

This page is generated: `python tools/document_claims.py > docs/claims.md`.

| claim | in our words | in the paper | how it is measured | threshold | the paper's number |
|---|---|---|---|---|---|
"""


def claims_page() -> str:
    """The whole page."""
    rows = [
        (f"`{c.id}`", *map(escaped, (c.text, c.paper, c.measured_how, c.threshold, c.paper_value or "")))
        for c in all_claims()
    ]  # fmt: skip
    return PAGE + "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


if __name__ == "__main__":
    print(claims_page(), end="")
