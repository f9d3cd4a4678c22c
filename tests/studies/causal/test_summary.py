"""What stands out: costs that every random draw stays below, with their intervals."""

from __future__ import annotations

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.causal import CAUSAL
from whatwhere.studies.causal.tables import Ability, CausalSettings, Effect, Member
from whatwhere.studies.results import Results


def effect(label: str, change: str, probe: str, excess: float, width: float, beaten: int) -> Effect:
    one = Estimate(excess, excess - width, excess + width, 6)
    return Effect(label, change, probe, one, Estimate(0, 0, 0, 6), one, one, draws=2, beaten=beaten)


def shown(*rows: Effect) -> str:
    results = Results(CAUSAL, CausalSettings(text=("sha256:0",)), "made-up")
    results.write("sets", [Member("positional", None, 0, 1, "positional", 1.0, 0.0, 4)])
    results.write("abilities", [Ability("text", 9, Estimate(2, 1, 3, 6), Estimate(0.5, 0.4, 0.6, 6), 0.1, True)])
    results.write("effects", list(rows))
    return results.summary


def test_costs_beyond_every_draw_stand_out_largest_first():
    text = shown(
        effect("positional", "ablate", "text", 0.5, 0.1, 2),
        effect("positional", "ablate", "induction", 5.6, 0.5, 2),
        effect("positional", "ablate", "name", 0.3, 0.4, 2),  # its interval reaches 0
        effect("positional", "mask far", "text", -0.04, 0.02, 0),
        effect("symbolic", "ablate", "text", 0.4, 0.1, 1),  # one draw costs more
    )
    assert [line.strip() for line in text.splitlines() if " than others on " in line] == [
        "ablate, positional heads: worse than others on induction (+5.60), text (+0.50)",
        "mask far, positional heads: better than others on text (-0.04)",
    ]


def test_nothing_stands_out_where_all_heads_are_alike():
    assert "no label differs from other heads" in shown(effect("mixed", "ablate", "text", 0.0, 0.1, 1))
