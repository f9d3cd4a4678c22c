"""Which heads of your own model become positional or symbolic while it trains?

There is no command for it: a :class:`~whatwhere.studies.watched.callbacks.HeadWatch` measures it in the training loop.
Its tables, figures and summary are those of a study, and ``whatwhere report DIR`` draws them.
"""

from __future__ import annotations

from typing import Any

from whatwhere.errors import WhatwhereError
from whatwhere.studies.study import Figure, Study
from whatwhere.studies.subject import NOTHING


def _measured_in_training(*_: Any) -> None:
    raise WhatwhereError("expected a HeadWatch in a training loop, got a command; see docs/callbacks.md.")


WATCHED = Study(
    name="watched",
    question="Which heads of my model become positional or symbolic while it trains?",
    paper="Section 3.3, Figure 2",
    subject=NOTHING,
    folder=__name__,
    settings=".tables:WatchSettings",
    tables={"scores": "whatwhere.studies.dynamics.tables:Score", "metrics": ".tables:Loss"},
    measure=_measured_in_training,
    figures=(
        Figure("watched-heads", ".figures:draw_heads", ("scores",)),
        Figure("watched-training", ".figures:draw_training", ("scores", "metrics")),
    ),
)
