from __future__ import annotations

from pathlib import Path

from whatwhere.studies.documentation import claims_page

ROOT = Path(__file__).parents[3]


def test_the_page_of_the_claims_is_what_the_code_says() -> None:
    remake = "make it anew: python -m whatwhere.studies.documentation > docs/claims.md"
    assert (ROOT / "docs" / "claims.md").read_text(encoding="utf-8") == claims_page(), remake
