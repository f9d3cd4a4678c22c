from __future__ import annotations

from pathlib import Path

import pytest

from whatwhere.studies.hops.summary import outcomes
from whatwhere.studies.measuring import draw

CURVE = {1: 1.0, 2: 1.0, 3: 1.0, 4: 0.98, 5: 0.8, 6: 0.5}


@pytest.mark.parametrize("loops", [2, 0])
@pytest.mark.slow
def test_figures_are_drawn_with_their_data(made_up, tmp_path: Path, loops: int) -> None:
    number, letter = made_up("number", CURVE, loops=loops), made_up("letter", CURVE, loops=loops)
    written = {path.name for path in draw({"number": number}, tmp_path)}
    assert written == {
        "hops-accuracy.pdf",
        "hops-accuracy.png",
        "hops-accuracy-accuracy.csv",
        "hops-accuracy-layers.csv",
    }
    for results in ({"number": number, "letter": letter}, {"runs/a": number, "runs/b": number}):
        written = {path.name for path in draw(results, tmp_path, kind="models")}
        assert written == {"hops-models.pdf", "hops-models.png", "hops-models.csv"}


def test_the_summary_tells_accuracy_layers_and_loops_within_100_columns(made_up) -> None:
    text = made_up("number", CURVE).summary
    assert text.startswith("Chains beyond training: number\n")
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 100
    lines = [line.split() for line in text.splitlines()]
    assert ["5", "no", "0.800", "0.711-0.867", "0.12", "100", "6.00", "5.90-6.10", "0"] in lines
    assert ["block", "11,", "2", "more", "0.50", "0.50", "0.50", "0.49", "0.40", "0.25"] in lines
    assert ["blocks", "0-3,", "1", "more", "0.50", "0.50", "0.50", "0.49", "0.40", "0.25"] in lines
    assert not any(line[:4] == ["block", "10,", "2", "more"] for line in lines)


def test_without_loops_the_summary_is_one_table(made_up) -> None:
    assert "run again" not in made_up("letter", CURVE, loops=0).summary


def test_a_sweep_shows_the_longest_trained_chain_and_one_hop_more(made_up) -> None:
    assert outcomes(made_up("number", CURVE)) == {"trained_hops": 0.98, "one_hop_more": 0.8}
