"""Which heads need the whole KV cache, and what is the loss if the others keep only part of it?"""

from __future__ import annotations

from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import LANGUAGE_MODEL

CACHE = Study(
    name="cache",
    question="Which heads need the whole KV cache?",
    paper="beyond the paper; the scores are those of Section 2.2",
    panel="Language models",
    subject=LANGUAGE_MODEL,
    folder=__name__,
    settings=".tables:CacheSettings",
    tables={
        "about": ".tables:About",
        "heads": ".tables:HeadScore",
        "needs": ".tables:Need",
        "losses": ".tables:WindowLoss",
        "answers": ".tables:PromptAnswer",
        "policies": ".tables:Policy",
        "comparisons": ".tables:Comparison",
    },
    figures=(
        Figure("cache-loss", ".figures:draw_losses", ("policies",)),
        Figure("cache-map", ".figures:draw_map", ("needs",)),
    ),
    outcomes=".summary:outcomes",
    smoke={"prompts": 2, "inputs": 1},
    example="whatwhere cache HuggingFaceTB/SmolLM2-135M --text notes.txt,code.txt",
)
