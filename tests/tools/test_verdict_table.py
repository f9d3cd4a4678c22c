"""Verdicts of two reproductions side by side."""

from pathlib import Path

from verdict_table import verdict_table
from whatwhere.studies.claim import Claim, Finding, Judged
from whatwhere.studies.judging import write_claims


def test_the_table_has_both_recipes_and_the_control(tmp_path: Path):
    told = {"text": "", "paper": "Section 1", "measured": "", "threshold": "at most 1.25"}
    hops = Claim("hops", "trained", "Hops_together", **told, measure=lambda _: Finding(1.0, ""))
    theorem = Claim("theorem", "theorem", "A theorem", **told, measure=lambda _: Finding(1.0, ""))
    depends = Judged(
        hops, "depends", "", 1.04, seeds=(1.04, 1.0625), depends_on=("data",), control=("fails", (1.523, 1.6))
    )
    later = Judged(
        Claim("later", "theorem", "A later one", **told, measure=lambda _: Finding(1.0, "")), "holds", "", 1.0
    )
    for name, judged in (("paper", [depends, later]), ("short", [Judged(hops, "not tested", "no results")])):
        (tmp_path / name).mkdir()
        write_claims(tmp_path / name, [*judged, Judged(theorem, "holds", "", 1.0)])
    page = verdict_table(tmp_path / "paper", tmp_path / "short")
    line = "| Hops\\_together | at most 1.25 | depends on data (1.04, 1.06) | fails (1.52, 1.6) | not tested |"
    assert page.splitlines()[-1] == line
    assert "Preset `paper`: 1 depends." in page and "Preset `short`: 1 not tested." in page
    theorems, _, trained = page.partition("## Trained models")
    assert "| A theorem | at most 1.25 | holds |  | holds |" in theorems and "A theorem" not in trained
    assert "| A later one | at most 1.25 | holds |  |  |" in theorems, "it was added after the second reproduction"
    assert "Chat models" not in page.split("## ", 1)[1]
