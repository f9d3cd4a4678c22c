"""How well do chat models answer the paper's one-hop questions, and how far (Section 3.7, Figure 5C and D)?"""

from whatwhere.studies.chat.providers import CHAT_MODEL
from whatwhere.studies.study import Figure, Study

CHAT = Study(
    name="chat",
    question="Do chat models find contents farther away than places?",
    paper='Section 3.7, Figure 5C and D, Appendix "Generalization on LLMs"',
    panel="Language models",
    subject=CHAT_MODEL,
    folder=__name__,
    settings=".tables:ChatSettings",
    tables={
        "cells": ".tables:Cell",
        "quoted": ".tables:Quoted",
        "profile": ".tables:Profile",
        "screening": ".tables:Screening",
        "samples": ".tables:Sample",
    },
    figures=(
        Figure("figure-5cd-chat", ".figures:draw_accuracy", ("cells", "quoted")),
        Figure("chat-profile", ".figures:draw_profile", ("profile",)),
        Figure("table-chat", ".figures:draw_table", ("cells", "quoted")),
    ),
    cost=".plan:cost",
    smoke={"sizes": (16,), "runs": (1,), "examples": 2},
    example="whatwhere chat reference/counter --quick",
)
