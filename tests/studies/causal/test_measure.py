"""Changes by label: against the interventions themselves, resumed, and refused where they make no sense."""

from __future__ import annotations

from math import nan
from pathlib import Path
from typing import Any

import pytest
import torch
from causal_settings import SMALL

import whatwhere as ww
from whatwhere.errors import WhatwhereError
from whatwhere.studies.causal.head_sets import interventions_of
from whatwhere.studies.causal.measure import effects
from whatwhere.studies.causal.tables import CHANGES, Ability, CausalSettings, Effect, Member, Run
from whatwhere.studies.measuring import study
from whatwhere.studies.results import Results
from whatwhere.trace.rotary import RotaryModel

HERE = "whatwhere.studies.causal.measure"


def windows_of(path: str) -> torch.Tensor:
    ids = [int(word[1:]) for word in Path(path).read_text().split()]
    return torch.tensor(ids[: 4 * 14]).reshape(4, 14)


def losses(logits: torch.Tensor, ids: torch.Tensor) -> list[float]:
    chosen = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]
    return (-chosen.mean(1)).tolist()


def own_losses(rows: list[Run], *condition: object) -> list[float]:
    return [row.loss for row in rows if row.probe == "text" and row.condition == condition]


def test_runs_are_those_of_the_interventions(small: Results, tiny: RotaryModel, varied: str):
    ids, rows, members = windows_of(varied), small.rows("runs", Run), small.rows("sets", Member)
    assert own_losses(rows, None, None, None) == pytest.approx(losses(ww.run(tiny, ids), ids), rel=1e-5)
    for label, draw in {(row.label, row.draw) for row in members}:
        some = [row for row in members if (row.label, row.draw) == (label, draw)]
        for change in CHANGES:
            by_hand = (
                ww.run(tiny, ids, ablate=[(row.layer, row.head) for row in some])
                if change == "ablate"
                else ww.run(tiny, ids, interventions=interventions_of(change, some, recent=2))
            )
            assert own_losses(rows, label, draw, change) == pytest.approx(losses(by_hand, ids), rel=1e-5)
            assert own_losses(rows, label, draw, change) != own_losses(rows, None, None, None)


def test_inputs_in_several_passes_change_nothing(
    small: Results, tiny: RotaryModel, varied: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(f"{HERE}.TOKENS_AT_ONCE", 28)  # two windows
    again = study("causal", tiny, text=(varied,), **SMALL).rows("runs", Run)
    for one, other in zip(small.rows("runs", Run), again, strict=True):
        assert (one.condition, one.probe, one.item) == (other.condition, other.probe, other.item)
        assert one.loss == pytest.approx(other.loss, abs=1e-5)


def test_a_model_at_chance_is_said_to_be_unable_and_nothing_is_changed_there(small: Results):
    able = {row.probe: row.able for row in small.rows("abilities", Ability)}
    assert able["text"] and not able["induction"] and not able["name"]  # its weights are random
    assert {row.probe for row in small.rows("effects", Effect)} == {probe for probe, can in able.items() if can}
    assert "Not above chance, so nothing was changed there: " in " ".join(small.summary.split())


def test_effects_are_differences_input_by_input():
    def rows(label: str | None, draw: int | None, change: str | None, *losses: float) -> list[Run]:
        return [Run(label, draw, change, "text", item, loss, loss / 10) for item, loss in enumerate(losses)]

    (found,) = effects(
        [*rows(None, None, None, 1.0, 2.0), *rows("mixed", None, "ablate", 3.0, 5.0),
         *rows("mixed", 0, "ablate", 1.5, 2.5), *rows("mixed", 1, "ablate", 3.5, 5.5)], 0,
    )  # fmt: skip
    assert found.loss.value == pytest.approx(2.5) and found.right.value == pytest.approx(0.25)
    assert found.control.value == pytest.approx((0.5 + 0.5 + 2.5 + 3.5) / 4)
    assert found.excess.value == pytest.approx((2 - 1.5 + 3 - 2) / 2)
    assert found.excess.interval == pytest.approx((0.5, 1.0))
    assert (found.draws, found.beaten, found.loss.n) == (2, 1, 2)


def test_interrupted_work_goes_on_with_the_changes_that_are_left(
    small: Results, tiny: RotaryModel, varied: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    import whatwhere.studies.causal.measure as module

    genuine, asked = module._run, []

    def counted(*arguments: Any) -> list[Run]:
        asked.append(arguments[2])
        if len(asked) == 9:
            raise KeyboardInterrupt
        return genuine(*arguments)

    monkeypatch.setattr(f"{HERE}._run", counted)
    with pytest.raises(KeyboardInterrupt):
        study("causal", tiny, text=(varied,), out=tmp_path, **SMALL)
    done = {condition for condition in asked[:8] if condition[2]}
    monkeypatch.setattr(f"{HERE}.measure_heads", None)  # the labels are there
    found = study("causal", tiny, text=(varied,), out=tmp_path, **SMALL)
    assert not done & set(asked[9:])
    assert [row.condition for row in found.rows("runs", Run)] == [row.condition for row in small.rows("runs", Run)]
    opened = Results.open(found.study, tmp_path / "causal")
    assert opened.settings.text[0].startswith("sha256:") and opened.rows("effects", Effect)


def test_models_of_ours_and_missing_texts_are_refused(tiny: RotaryModel):
    with pytest.raises(WhatwhereError, match=r"expected a language model, got .*, a model of ours; .*mechanism"):
        study("causal", "letter", text=("sha256:0",))
    with pytest.raises(WhatwhereError, match="expected a text, got none; name one with --text FILE"):
        study("causal", tiny)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"draws": 0}, "expected draws of 1 or more, got 0; raise draws"),
        ({"inputs": 1}, "expected inputs of 2 or more, got 1"),
        ({"sizes": (4, 0)}, "expected sizes of 1 or more, got 0"),
        ({"gamma": nan}, "expected a gamma between 0 and 0.5"),
        ({"text": ("missing.txt",)}, "expected a text file at missing.txt"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], message: str):
    with pytest.raises(WhatwhereError, match=message):
        CausalSettings(**settings)


@pytest.mark.slow
def test_the_figure_is_drawn_and_the_summary_fits_80_columns(small: Results):
    (figure,) = small.figures().values()
    figure.canvas.draw()
    assert [axes.get_title(loc="left") or axes.get_title() for axes in figure.axes] == list(CHANGES)
    assert max(len(line) for line in small.summary.splitlines() if "+0" in line or "-0" in line) <= 80
