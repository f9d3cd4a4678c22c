from pathlib import Path

from document_claims import claims_page

ROOT = Path(__file__).parents[2]


def test_the_page_of_the_claims_is_what_the_code_says():
    remake = "make it anew: python tools/document_claims.py > docs/claims.md"
    assert (ROOT / "docs" / "claims.md").read_text(encoding="utf-8") == claims_page(), remake
