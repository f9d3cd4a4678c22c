from __future__ import annotations

from math import nan

from whatwhere.heads.estimate import share
from whatwhere.studies.chat import CHAT
from whatwhere.studies.chat.tables import Cell, ChatSettings, Screening
from whatwhere.studies.chat.tabulation import quoted
from whatwhere.studies.results import Results


def made(name: str, *rows: Cell) -> Results:
    results = Results(CHAT, ChatSettings(), name)
    results.write("quoted", quoted())
    results.write("cells", rows)
    return results


def test_the_paper_alone_is_its_table() -> None:
    lines = made("paper").summary.rstrip().splitlines()
    assert lines[0].startswith("paper: the paper's one-hop questions for chat models")
    assert lines[-1].split()[:5] == ["300", "0.40", "0.06", "0.50", "0.04"]
    assert max(map(len, lines)) <= 100
    assert "…" not in "".join(lines)


def test_a_measured_model_stands_above_it_with_counts_and_screening() -> None:
    name = "openai-api/some-service/a-model-with-a-very-long-name-of-its-own-[bold]v1"
    cells = [
        Cell(name, "one_hop_letter", 16, 5, 40, share(36, 40), 0.02, 0.95, 0.05, 0.5, 3.0, 1 / 9, 1 / 16),
        Cell(name, "one_hop_letter", 100, 1, 40, share(3, 4), nan, 0.75, 0.0, 0.0, nan, 1 / 9, 0.01),
    ]
    results = made(name, *cells)
    results.write("screening", [Screening(name, "screened out", "because", share(0, 1), share(1, 1), 0.0)])
    text = results.summary
    assert "0.90 (0.02)   0.77-0.96" in text
    assert "4/40" in text
    assert "[bold]v1" in text.replace("\n", "")
    assert "reasoned before some replies; the paper measured with reasoning off." in " ".join(text.split())
    assert "screened out (because)" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 100
