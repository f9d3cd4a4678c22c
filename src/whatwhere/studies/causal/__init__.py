"""What are positional and symbolic heads of a language model for? Heads are changed by label, against controls."""

from __future__ import annotations

from whatwhere.studies.causal.tables import Ability, CausalSettings, Effect, Member, Run
from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import LANGUAGE_MODEL

_HERE = "whatwhere.studies.causal"

CAUSAL = Study(
    name="causal",
    question="What are positional and symbolic heads of a language model for?",
    paper="beyond the paper; labels of Section 2.2",
    subject=LANGUAGE_MODEL,
    settings=CausalSettings,
    tables={"sets": Member, "abilities": Ability, "runs": Run, "effects": Effect},
    measure=f"{_HERE}.measure:measure",
    summary=f"{_HERE}.summary:summary",
    figures=(Figure("causal", f"{_HERE}.figures:draw_effects", ("effects",)),),
    claims=f"{_HERE}.claims:CLAIMS",
    example="whatwhere causal HuggingFaceTB/SmolLM2-135M --text notes.txt",
)
