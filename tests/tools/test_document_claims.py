from datetime import date
from pathlib import Path

from document_claims import claims_page, statements
from whatwhere.studies.judging import all_claims

ROOT = Path(__file__).parents[2]


def test_the_page_of_the_claims_is_what_the_code_says():
    remake = "make it again: python tools/document_claims.py > docs/claims.md"
    assert (ROOT / "docs" / "claims.md").read_text(encoding="utf-8") == claims_page(), remake


def test_the_day_on_which_each_claim_was_fixed_stands_in_the_last_column() -> None:
    columns = {
        line.split(" | ")[0]: line.rsplit(" | ", 1)[1] for line in claims_page().splitlines() if line[:3] == "| `"
    }
    for claim in all_claims():
        assert date.fromisoformat(claim.fixed)
        assert columns[f"| `{claim.id}`"] == f"{claim.fixed} |"


def test_every_statement_names_known_claims_or_says_why_it_has_none() -> None:
    known = {claim.id: claim for claim in all_claims()}
    every = [one for section in statements() for one in section["statements"]]
    for one in every:
        assert ("claims" in one) != ("why_not" in one), one["text"]
        assert set(one.get("claims", ())) <= set(known), one["text"]
    named = {name for one in every for name in one.get("claims", ())}
    of_the_paper = {name for name, claim in known.items() if claim.kind != "reading"}
    assert of_the_paper <= named, "a claim about the paper stands for one of its statements"
