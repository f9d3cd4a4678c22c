"""Settings and tables of the study.

Accuracy is strict (the reply is just the answer, as in the paper); the lenient reading has a column of its own.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from whatwhere.errors import WhatwhereError
from whatwhere.heads.estimate import Estimate
from whatwhere.studies.chat.extraction import TOKENS
from whatwhere.studies.chat.providers import check_url

SIZES = (12, 16, 24, 32, 48, 64, 80, 100, 150, 200, 300)
"""The paper's window sizes."""
RUNS = (1, 2, 3, 4, 5)
"""The paper's runs; a run's number is its seed."""
EXAMPLES = 200
"""Sequences per task, size and run. The paper does not say; its standard deviations fit 200 (binomial)."""
MAX_TOKENS = 32
"""Room for an answer with a few words around it; what is cut off counts as no answer."""
FULL = {"sizes": SIZES, "runs": RUNS, "examples": EXAMPLES}
QUICK = {"sizes": (16, 32, 100), "runs": (1,), "examples": 40}
"""A quick look: 240 calls of a model instead of 22,000."""
_FULL_OR_QUICK: Any = None
"""The default of what FULL and QUICK decide: so a value that is given counts, also if it is that of FULL."""
EFFORTS = ("default", "none", "minimal", "low", "medium", "high", "xhigh", "max")
_LARGEST = {"sizes": 10_000, "runs": 2**31, "examples": 100_000, "max_tokens": 1_000_000, "connections": 1000,
            "timeout": 86_400}  # fmt: skip
_NOT_DECISIVE = ("quick", "connections", "max_retries", "timeout", "input_price", "output_price")


@dataclass(frozen=True)
class ChatSettings:
    """What a model is asked, and how."""

    quick: Annotated[bool, "Sizes 16, 32 and 100, one run, 40 examples: 240 calls."] = False
    sizes: Annotated[
        tuple[int, ...], f"Window sizes: tokens before the query; without --quick {','.join(map(str, SIZES))}."
    ] = _FULL_OR_QUICK
    runs: Annotated[tuple[int, ...], "Runs; the number of a run is its seed. Without --quick 1,2,3,4,5."] = (
        _FULL_OR_QUICK
    )
    examples: Annotated[int, "Sequences per task, size and run; without --quick 200."] = _FULL_OR_QUICK
    tasks: Annotated[str | None, f"With commas, from {', '.join(TOKENS)}; the one-hop tasks by default."] = None
    base_url: Annotated[str | None, "Where the model is served, if not at the provider's own address."] = None
    model_args: Annotated[
        str, "KEY=VALUE words for the provider, or a JSON object; $NAME is an environment variable."
    ] = ""
    reasoning: Annotated[
        str | None, "Reasoning effort; by default none where it can be switched off. 'default' is the model's own."
    ] = None
    temperature: Annotated[float, "Temperature of sampling; 0 is greedy."] = 0.0
    max_tokens: Annotated[int, "Tokens of a reply at most; a reply that is cut off is no answer."] = MAX_TOKENS
    screen: Annotated[bool, "Ask first what the paper's screening needs, and stop if the model fails."] = False
    connections: Annotated[int | None, "Requests at a time; by default inspect-ai adapts it."] = None
    max_retries: Annotated[int, "Retries of a request whose failure may pass."] = 12
    timeout: Annotated[int, "Seconds for one attempt."] = 120
    input_price: Annotated[float | None, "Dollars per million input tokens, for the estimate."] = None
    output_price: Annotated[float | None, "Dollars per million output tokens, for the estimate."] = None

    def __post_init__(self) -> None:
        for name, value in (QUICK if self.quick else FULL).items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        for name in ("sizes", "runs"):
            values = getattr(self, name)
            if not values or len(set(values)) < len(values):
                raise WhatwhereError(
                    f"expected {name} without repetitions, got {', '.join(map(str, values)) or 'none'}."
                )
        for name, most in _LARGEST.items():
            value = getattr(self, name)
            for one in value if isinstance(value, tuple) else () if value is None else (value,):
                if not 1 <= one <= most:
                    raise WhatwhereError(f"expected {name} from 1 to {most:,}, got {one}.")
        for name in ("temperature", "max_retries", "input_price", "output_price"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < float("inf"):
                raise WhatwhereError(f"expected {name} of 0 or more, got {value}.")
        if self.reasoning is not None and self.reasoning not in EFFORTS:
            raise WhatwhereError(f"expected a reasoning effort of {', '.join(EFFORTS)}, got {self.reasoning!r}.")
        if unknown := [task for task in self.task_names or () if task not in TOKENS]:
            raise WhatwhereError(f"expected tasks of {', '.join(TOKENS)}, got {unknown[0]!r}.")
        if self.base_url is not None:
            check_url(self.base_url)

    @property
    def task_names(self) -> tuple[str, ...] | None:
        """The tasks that were chosen."""
        return None if self.tasks is None else tuple(dict.fromkeys(self.tasks.split(",")))

    def decisive(self) -> dict[str, Any]:
        """What decides the results; how fast the model is asked, and at what price, does not."""
        return {name: value for name, value in asdict(self).items() if name not in _NOT_DECISIVE}


@dataclass(frozen=True)
class Cell:
    """One model, task and size."""

    model: str
    task: str
    size: int
    runs: int
    planned: int
    """Questions in these runs; more than ``accuracy_n`` marks a partial result."""
    accuracy: Estimate
    """Strict, over all replies."""
    sd: float
    """Standard deviation of the accuracy over runs (n - 1 in the denominator); NaN for a single run."""
    lenient: float
    no_answer: float
    """Share of replies that hold no answer by the strict rule; the rest to 1 is wrong answers."""
    reasoned: float
    """Share of replies that came after reasoning."""
    output_tokens: float
    """Mean per reply; NaN where the provider does not say."""
    floor: float
    """What a guess scores that does not look at the window."""
    window_floor: float
    """What a uniform guess among the window's tokens scores; NaN for several hops."""


@dataclass(frozen=True)
class Quoted:
    """A cell of the paper's table (Appendix "Generalization on LLMs"), as printed; size 150 is not in it."""

    model: str
    task: str
    size: int
    mean: float
    sd: float
    """Both over 5 runs."""


@dataclass(frozen=True)
class Profile:
    """Accuracy at some distances of the answer from the query, over all runs."""

    model: str
    task: str
    size: int
    near: int
    far: int
    accuracy: Estimate


@dataclass(frozen=True)
class Screening:
    """Whether a model passes the paper's two criteria, and why not."""

    model: str
    status: str
    """``passed``, ``screened out`` or ``not measured``."""
    why: str
    letter: Estimate
    """Strict letter accuracy at size 16."""
    single_token: Estimate
    """Share of one-word replies at sizes from 100 on."""
    reasoned: float
    """Share of replies, at these sizes, that came after reasoning."""


@dataclass(frozen=True)
class Sample:
    """One question and what became of it. Tokens are None where the provider does not say."""

    model: str
    task: str
    size: int
    run: int
    number: int
    distance: int
    """How many places to the left of the query the answer stands."""
    strict: str
    """``right``, ``wrong`` or ``no answer``."""
    lenient: str
    single_token: bool
    reasoned: bool
    output_tokens: int | None
    reasoning_tokens: int | None
    reply: str
    """Its first characters."""
