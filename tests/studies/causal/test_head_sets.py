"""Sets of heads by label: matched in number and layer, with random controls."""

from __future__ import annotations

from itertools import permutations

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.heads.estimate import UNDEFINED, Estimate
from whatwhere.studies.causal.head_sets import head_sets, interventions_of
from whatwhere.studies.causal.tables import CLOSE_FAST, CLOSE_SLOW, MASK_FAR, CausalSettings, Member
from whatwhere.studies.language_models.tables import HeadRow
from whatwhere.trace.interventions import ClosePlanes, MaskFar

SCORES = {"positional": (1.0, 0.0), "symbolic": (0.0, 1.0), "mixed": (0.5, 0.6), "uniform": (1.0, 1.0)}
SHORT = {name[0]: name for name in SCORES}


def heads(*layers: str, beyond: str = "uniform", **changes: object) -> list[HeadRow]:
    """A row for each letter: ``"ps"`` is a layer with a positional and a symbolic head."""
    blank = dict.fromkeys(HeadRow.__dataclass_fields__, 0.0)
    found = []
    for layer, letters in enumerate(layers):
        for head, letter in enumerate(letters):
            positional, symbolic = (Estimate(x, x, x, 4) for x in SCORES[SHORT[letter]])
            found.append(HeadRow(**blank | {  # pyright: ignore[reportArgumentType]
                "model": "", "revision": "", "text": "",
                "layer": layer, "head": head, "label": SHORT[letter], "positional": positional, "symbolic": symbolic,
                "rest_label": beyond, "planes": 4, "dominant_id": 1, "undefined": 0, **changes,
            }))  # fmt: skip
    return found


def chosen(rows: list[Member], label: str, draw: int | None = None) -> list[tuple[int, int]]:
    return [(row.layer, row.head) for row in rows if (row.label, row.draw) == (label, draw)]


def test_sets_are_of_their_label_equal_in_number_and_never_take_a_head_twice():
    found = head_sets(heads("psm", "psm", "ssm", "ppu", "ssm"), CausalSettings(text=("sha256:0",), draws=4))
    assert {row.label for row in found} == {"positional", "symbolic", "mixed"}
    for label in ("positional", "symbolic", "mixed"):
        for draw in (None, 0, 1, 2, 3):
            some = chosen(found, label, draw)
            assert len(some) == len(set(some)) == 4  # as many as positional and mixed heads
        assert {row.own_label == label for row in found if (row.label, row.draw) == (label, None)} == {True}
        assert not any(row.own_label == label for row in found if row.label == label and row.draw is not None)


def test_heads_lie_as_near_to_the_layers_of_the_rarest_label_as_any_choice_does():
    rows = heads("ss", "ps", "su", "ss", "pm", "sp")
    found = head_sets(rows, CausalSettings(text=("sha256:0",)))
    layers = [layer for layer, _ in chosen(found, "positional")]
    assert layers == [1, 4, 5]
    symbolic = [row for row in rows if row.label == "symbolic"]
    nearest = min(
        sum(abs(layer - row.layer) for layer, row in zip(layers, some, strict=True))
        for some in permutations(symbolic, 3)
    )
    taken = [layer for layer, _ in chosen(found, "symbolic")]
    assert sum(abs(a - b) for a, b in zip(layers, taken, strict=True)) == nearest


def test_controls_stand_in_the_same_layers_and_differ_between_draws():
    found = head_sets(heads("pp" + "s" * 8, "pp" + "s" * 8), CausalSettings(text=("sha256:0",), draws=6))
    draws = [chosen(found, "positional", draw) for draw in range(6)]
    assert all([layer for layer, _ in draw] == [0, 0, 1, 1] for draw in draws)
    assert len(set(map(tuple, draws))) > 1
    assert found == head_sets(heads("pp" + "s" * 8, "pp" + "s" * 8), CausalSettings(text=("sha256:0",), draws=6))
    assert found != head_sets(
        heads("pp" + "s" * 8, "pp" + "s" * 8), CausalSettings(text=("sha256:0",), draws=6, seed=1)
    )


def test_the_purest_heads_come_first_and_no_more_than_asked_for():
    rows = heads("ppp", "sss")
    weak = [row if row.head == 1 else _with(row, 0.95) for row in rows]
    found = head_sets(weak, CausalSettings(text=("sha256:0",), heads=1))
    assert chosen(found, "positional") == [(0, 1)]


def test_labels_may_be_those_beyond_the_first_token():
    rows = [*heads("ss", beyond="positional", rest_positional=1.0), *heads("uuu")]
    found = head_sets(rows, CausalSettings(text=("sha256:0",), beyond=True))
    assert {row.label for row in found} == {"positional"} and found[0].positional == 1.0


def test_too_few_heads_of_every_label_are_refused():
    with pytest.raises(WhatwhereError, match="expected a label of positional, symbolic, mixed with 2 heads or more"):
        head_sets(heads("psm", "uuu"), CausalSettings(text=("sha256:0",)))
    with pytest.raises(WhatwhereError, match="and as many other heads, got 4, 0, 0 of 4 heads"):
        head_sets(heads("pp", "pp"), CausalSettings(text=("sha256:0",)))


def test_planes_are_closed_by_halves_and_heads_without_rotation_have_none():
    members = [
        Member("mixed", None, layer, head, "mixed", 0.5, 0.5, planes)
        for layer, head, planes in ((0, 1, 5), (1, 0, 0), (2, 2, 5), (3, 0, 4))
    ]
    assert interventions_of(CLOSE_FAST, members, 8) == [
        ClosePlanes((1, 2), heads=((0, 1), (2, 2))), ClosePlanes((1, 2), heads=((3, 0),)),
    ]  # fmt: skip
    assert interventions_of(CLOSE_SLOW, members, 8) == [
        ClosePlanes((3, 4, 5), heads=((0, 1), (2, 2))), ClosePlanes((3, 4), heads=((3, 0),)),
    ]  # fmt: skip
    assert interventions_of(MASK_FAR, members[:2], 8) == [MaskFar(8, 1, ((0, 1), (1, 0)))]


def test_undefined_scores_are_taken_last():
    rows = heads("pp", "ss")
    lost = [row if row.head else _with(row, None) for row in rows]
    assert chosen(head_sets(lost, CausalSettings(text=("sha256:0",), heads=1)), "positional") == [(0, 1)]


def _with(row: HeadRow, score: float | None) -> HeadRow:
    from dataclasses import replace

    value = UNDEFINED if score is None else Estimate(score, score, score, 4)
    return replace(row, positional=value) if row.label == "positional" else replace(row, symbolic=value)
