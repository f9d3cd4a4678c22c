"""Settings and tables of the study ``heads``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Annotated, Any

from whatwhere.errors import WhatwhereError, check_least
from whatwhere.heads.estimate import Estimate
from whatwhere.machine.limits import LEAST_TAU
from whatwhere.studies.language_models.passages import TextSettings

TASK_INPUTS, TEXT_WINDOWS = 512, 8
TASK_QUERIES, TEXT_QUERIES = "last", "8"
LEAST_TOKENS = 3
"""Tokens that a score needs: two keys to swap, and a query."""
LEVELS = ("keys", "tokens")
LABELS = ("positional", "symbolic", "uniform", "mixed", "undefined")
SELF_ATTENDING = 0.5
"""A head that pays its own position more than this attends to itself."""


@dataclass(frozen=True)
class HeadsSettings(TextSettings):
    """On what, and how, the heads are scored."""

    text: Annotated[
        tuple[str, ...], "For a language model: text files in UTF-8, with commas between them; - is standard input."
    ] = ()
    inputs: Annotated[int | None, "Inputs of a task (512), or windows of the texts at most (8)."] = None
    window: Annotated[int, "Tokens of each window of a text."] = 256
    queries: Annotated[
        str | None, "Which queries of each input: last (for tasks), all, or how many (8 for a text)."
    ] = None
    only: Annotated[str | None, "Layers and heads, as 3,5.2,7-9: layer 3, head 2 of layer 5, layers 7 to 9."] = None
    tau: Annotated[float, "Temperature of the weights of swaps."] = 1e-4
    gamma: Annotated[float, "Tolerance of the labels."] = 0.1
    level: Annotated[str, "What is swapped: keys (the paper's score) or, for a task, tokens."] = "keys"
    taus: Annotated[bool, "Also score at every temperature of the band 1e-4 to 0.1."] = False
    windows: Annotated[bool, "Also score swaps within one window of a task's inputs, or one quarter of a text's."] = (
        False
    )
    template: Annotated[bool, "Put each window of a text into the model's chat template, as a user's message."] = False
    samples: Annotated[
        int | None, "For long windows: draw this many swaps of a flat head instead of computing all of them."
    ] = None
    task: Annotated[str | None, "The task to score on, if a model of ours does not say: number or letter."] = None
    seed: Annotated[int, "Seed of the inputs and of the intervals."] = 0

    def __post_init__(self) -> None:
        check_least(self, inputs=1)
        if self.window < LEAST_TOKENS:
            raise WhatwhereError(
                f"expected windows of at least {LEAST_TOKENS} tokens (two keys to swap, and a query), got "
                f"{self.window}; raise window."
            )
        if self.queries not in (None, "last", "all") and not re.fullmatch(
            r"0{0,9}[1-9]\d{0,9}", self.queries, re.ASCII
        ):
            raise WhatwhereError(f"expected queries as last, all or a number above 0, got {self.queries!r:.80}.")
        if not LEAST_TAU <= self.tau < math.inf:
            raise WhatwhereError(f"expected a tau above 0, got {self.tau}; {LEAST_TAU} is the least, 1e-4 the default.")
        if not 0 < self.gamma < 0.5:
            raise WhatwhereError(f"expected a gamma between 0 and 0.5, got {self.gamma}; the paper uses 0.1 and 0.05.")
        if self.level not in LEVELS:
            raise WhatwhereError(f"expected a level of {', '.join(LEVELS)}, got {self.level!r}; keys is the paper's.")
        if self.level == "tokens" and self.queries not in (None, "last"):
            raise WhatwhereError(f"expected queries last for level tokens, got {self.queries!r}; leave queries out.")
        if self.samples is not None and self.samples < 1:
            raise WhatwhereError(f"expected 1 or more samples, got {self.samples}; leave samples out for exact scores.")
        self.check_texts()

    def decisive(self) -> dict[str, Any]:
        """What decides the results; exact scores are those of versions without samples."""
        settings = super().decisive()
        return settings if self.samples else {name: value for name, value in settings.items() if name != "samples"}

    @property
    def tokens_needed(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Of each text."""
        return self.window * (TEXT_WINDOWS if self.inputs is None else self.inputs)


@dataclass(frozen=True)
class About:
    """What the heads were scored on; one row."""

    family: str
    """The model's class."""
    source: str
    """``number`` or ``letter`` task, or the names of the texts."""
    is_text: bool
    inputs: int
    """Sequences of the task, or windows of the texts."""
    tokens: int
    """Of each input."""
    queries: int
    """Of each input."""
    begins: str
    """What stands before the text in every window, such as the model's first token; empty for nothing."""
    interval: str
    """What the 95 % intervals are over: inputs; queries, if there is one input; none, if there is one of each."""
    undefined: int
    """(input, query) pairs of all heads without a score."""
    error: float
    """The largest difference of a layer's rebuilt output from its own, against its largest value; undefined for ours,
    which need no rebuilding."""


@dataclass(frozen=True)
class HeadRow:
    """One head. A table of these says by itself what was scored on what, so tables of several models may be joined.

    This is the schema in which head scores are shared: ``whatwhere compare``, ``whatwhere share``.
    """

    model: str
    """The name of the model: of the hub, of its file or directory, or of a shipped one."""
    revision: str
    """The commit on the hub; for other models a fingerprint of the weights."""
    text: str
    """Checksums of the texts, or the task and its seed."""
    tau: float
    """Temperature of the weights of swaps."""
    gamma: float
    """Tolerance of the labels."""
    layer: int
    head: int
    label: str
    """``positional``, ``symbolic``, ``uniform``, ``mixed`` or ``undefined``."""
    positional: Estimate
    symbolic: Estimate
    positional_centred: float
    """1 - symbolic: 1 for a sharp positional head, 0 for a symbolic and for a flat one."""
    symbolic_centred: float
    """1 - positional: 1 for a sharp symbolic head, 0 for a positional and for a flat one."""
    entropy: float
    """In nats."""
    entropy_share: float
    """Divided by its maximum."""
    own: float
    """Attention to the query itself."""
    previous: float
    """Attention to the token before the query."""
    first: float
    """Attention to the first token."""
    induction: float
    """On random tokens that repeat: attention to what followed last time."""
    renormalised_positional: float
    """Scores weighted by attention without the query's own position: for heads that attend to themselves."""
    renormalised_symbolic: float
    rest_positional: float
    """Scores of swaps among the keys after the first, weighted by attention among themselves; not the paper's."""
    rest_symbolic: float
    rest_label: str
    planes: int
    """Rotary planes of the head; without any, it is symbolic by construction."""
    weighted_id: float
    """The paper's frequency ID (1 is the fastest plane), before rounding."""
    dominant_id: int | None
    """The ID of the plane that tells keys apart most."""
    dominant_share: float
    """That plane's share of the variance of logits over keys."""
    dominant_frequency: float
    """In radians per token."""
    undefined: int
    """(input, query) pairs without a score."""

    @property
    def self_attending(self) -> bool:
        """Whether its scores speak of keys that it hardly looks at; the renormalised ones compare just these keys."""
        return self.own > SELF_ATTENDING


@dataclass(frozen=True)
class PlaneWeight:
    """How much one rotary plane of a head tells keys apart."""

    layer: int
    head: int
    plane: int
    """The frequency ID; 1 is the fastest."""
    frequency: float
    """In radians per token."""
    weight: float
    """Its share of the variance of logits over keys; may be below 0."""


@dataclass(frozen=True)
class WindowScore:
    """One head with swaps inside one window of the input alone."""

    layer: int
    head: int
    window: str
    attention: float
    """How much of the attention the window gets; scores of a window that gets none say little."""
    positional: float
    symbolic: float


@dataclass(frozen=True)
class TemperatureScore:
    """One head at one temperature of the band (erratum E15)."""

    layer: int
    head: int
    tau: float
    positional: float
    symbolic: float
    label: str


@dataclass(frozen=True)
class Token:
    """One token of an input that the page shows."""

    input: int
    position: int
    text: str


@dataclass(frozen=True)
class Look:
    """Attention of one head from one query to one key of an input that the page shows; small shares are left out."""

    layer: int
    head: int
    input: int
    query: int
    """Position of the query."""
    key: int
    """Position of the key."""
    share: float
