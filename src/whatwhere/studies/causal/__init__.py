"""What are positional and symbolic heads of a language model for? Interventions on heads by label, with controls."""

from __future__ import annotations

from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import LANGUAGE_MODEL

CAUSAL = Study(
    name="causal",
    question="What are positional and symbolic heads of a language model for?",
    paper="beyond the paper; labels of Section 2.2",
    panel="Language models",
    subject=LANGUAGE_MODEL,
    folder=__name__,
    settings=".tables:CausalSettings",
    tables={
        "sets": ".tables:Member",
        "abilities": ".tables:Ability",
        "runs": ".tables:Run",
        "effects": ".tables:Effect",
    },
    figures=(Figure("causal", ".figures:draw_effects", ("effects",)),),
    example="whatwhere causal HuggingFaceTB/SmolLM2-135M --text notes.txt",
)
