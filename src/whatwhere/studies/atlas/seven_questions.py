"""The seven questions of the atlas, each answered by numbers with intervals over seeds and a sentence from the data.

Which number answers which part was fixed with the predictions (``predictions.toml``), before the first run.
"""

from __future__ import annotations

from collections.abc import Callable

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.atlas.claim_map import (
    FEWEST_CONDITIONS,
    claim_map,
    judged_claims,
    share_of_conditions,
    widely_tested,
)
from whatwhere.studies.atlas.factors import BASE, DATA, changes_of, condition_text
from whatwhere.studies.atlas.item_verdicts import LETTER, NUMBER
from whatwhere.studies.atlas.predictions import NOT_ANSWERED, came_out, read_predictions
from whatwhere.studies.atlas.seed_effects import paired
from whatwhere.studies.atlas.seed_numbers import FEWEST, Answered, mean
from whatwhere.studies.atlas.tables import Answer
from whatwhere.studies.claim import listed
from whatwhere.studies.seed_means import estimate_text, over_seeds

DECOY, NO_DROPOUT, TWICE, LONGER = "decoy", "attention dropout 0", "rate x2", "steps x2"
MOST, HALF = 0.9, 0.5
FIGURE_ENDS = 100
"""Tokens at which Figure 5A ends."""
_NEEDS_MORE = f"needs items of {FEWEST_CONDITIONS} conditions"
LATER_TAU = "pure_share_tau0.1"
Part = tuple[Estimate, str]
"""A number and a detail in words; for an undefined number, what it needs."""


def _leak(a: Answered) -> dict[str, Part]:
    rates = [BASE, *(condition_text({"rate": level}) for level in _levels(a, "rate"))]
    on_decoy = {rate: condition_text(changes_of(rate) | {DATA: DECOY}) for rate in rates}
    gaps = {rate: paired(a.values, LETTER, "timing_gap", on_decoy[rate], rate) for rate in rates}
    shared = set.intersection(*(set(by_seed) for by_seed in gaps.values())) if len(rates) > 1 else set()
    whole = over_seeds(mean([by_seed[seed] for by_seed in gaps.values()]) for seed in sorted(shared))
    each = ", ".join(f"{rate} {mean(by_seed.values()):+.2f}" for rate, by_seed in gaps.items())
    detail = (
        f"leak-free less authors' data: {each}" if whole.n else "needs both data at several rates, with equal seeds"
    )
    return {"base": a.contrast(LETTER, "timing_gap", DECOY), "rates": (whole, detail)}


def _purity(a: Answered) -> dict[str, Part]:
    now, later = (a.values.get((LETTER, BASE, name), {}) for name in ("pure_share", LATER_TAU))
    tau = over_seeds(later[seed] - now[seed] for seed in later if seed in now)
    positional = a.contrast(NUMBER, "pure_positional", TWICE)
    return {
        "letter-data": a.contrast(LETTER, "pure_share", DECOY),
        "letter-dropout": a.contrast(LETTER, "pure_share", NO_DROPOUT),
        "letter-rate": _with(a.contrast(LETTER, "pure_share", TWICE), a.largest(LETTER, "pure_share")),
        "number-dropout": a.contrast(NUMBER, "pure_share", NO_DROPOUT),
        "number-rate": _with(positional, f"All pure heads: {a.largest(NUMBER, 'pure_share')}"),
        "tau": (
            tau,
            f"{mean(later.values()):.3g} at 0.1, {mean(now.values()):.3g} at 1e-4"
            if tau.n
            else "needs letter items of 'base'",
        ),
    }


def _length(a: Answered) -> dict[str, Part]:
    near = a.share(NUMBER, "break_length", lambda tokens: tokens <= FIGURE_ENDS)
    breaks = [value for (task, _, name), seeds in a.values.items() if (task, name) == (NUMBER, "break_length")
              for value in seeds.values() if value == value]  # fmt: skip
    detail = f"they break from {min(breaks):.0f} to {max(breaks):.0f} tokens" if breaks else "needs number items"
    steps = a.contrast(LETTER, "accuracy_850", LONGER)
    return {
        "letter-steps": _with(steps, a.largest(LETTER, "accuracy_850")),
        "letter-rate": a.contrast(LETTER, "accuracy_850", TWICE),
        "letter-dropout": a.contrast(LETTER, "accuracy_850", NO_DROPOUT),
        "number": _with((near, detail), a.largest(NUMBER, "break_length")),
    }


def _last(a: Answered) -> dict[str, Part]:
    deep = a.share(LETTER, "last_layer_is_last", _yes, (12,))
    last, never = (a.passing(LETTER, f"last_layer_{name}", _yes, (12,)) for name in ("is_last", "never_pure"))
    models = f"it is last in {sum(last)} of {len(last)} models, and does not end pure in {sum(never)}"
    shallow = a.share(LETTER, "last_layer_is_last", _yes, (4, 6))
    orders = [seeds for (task, _, name), seeds in a.values.items() if (task, name) == (LETTER, "purity_order")]
    seeds = sorted({seed for by_seed in orders for seed in by_seed})
    order = over_seeds((mean(one[seed] for one in orders if seed in one) for seed in seeds), -1.0, 1.0)
    forward = sum(mean(by_seed.values()) > 0 for by_seed in orders)
    text = (
        f"above 0, from the first layers to the last, in {forward} of {len(orders)} conditions; below 0 would be from "
        "the end backwards. Gradients: whatwhere dynamics RUN --gradients"
    )
    return {
        "letter": (deep, models if deep.n else "needs letter items"),
        "order": (order, text if order.n else "needs letter items"),
        "shallow": (shallow, "of those that learn" if shallow.n else "needs letter items of 4 or 6 layers"),
    }


def _shortcuts(a: Answered) -> dict[str, Part]:
    needs = f"needs {FEWEST} conditions of a task that learned"
    hops, length = (a.correlation("layers_per_hop", other) for other in ("chain_accuracy", "accuracy_145"))
    after = "; ".join(_afterwards(a, tokens) for tokens in (325, 850)) if length.n else ""
    carry = f"above 0 means that models with shortcuts carry less far. Chosen afterwards, for letters: {after}"
    return {
        "hops": (hops, "below 0 means that models with shortcuts do better on longer chains" if hops.n else needs),
        "length": (length, carry if length.n else needs),
    }


def _afterwards(a: Answered, tokens: int) -> str:
    """The same for letters at a length at which they begin to fail, of means over seeds, and of each seed."""
    whole, by_seed = a.correlation_of_means(LETTER, "layers_per_hop", f"accuracy_{tokens}")
    each = " ".join(f"{value:.2f}" for value in by_seed)
    return f"at {tokens} tokens {whole:.2f} over condition means (by seed {each})"


def _heads(a: Answered) -> dict[str, Part]:
    split = over_seeds(a.values.get((NUMBER, "heads 4", "split_layers"), {}).values())
    return {
        "letter": a.contrast(LETTER, "pure_share", "heads 4"),
        "number": a.contrast(NUMBER, "pure_share", "heads 4"),
        "split": (split, "of 12 layers" if split.n else "needs number items of 'heads 4'"),
    }


def _robust(a: Answered) -> dict[str, Part]:
    claims = [claim for claim in judged_claims() if claim.kind == "trained"]
    whole = share_of_conditions(widely_tested(claim_map(a.items, a.verdicts, claims)))
    by_seed = []
    for seed in sorted({item.seed for item in a.items}):
        names = {item.item for item in a.items if item.seed == seed}
        cells = claim_map(a.items, [row for row in a.verdicts if row.item in names], claims)
        by_seed.append(share_of_conditions(widely_tested(cells)))
    tests: dict[str, Callable[[float], bool]] = {"most": lambda share: share >= MOST, "few": lambda share: share < HALF}
    found: dict[str, Part] = {}
    for name, test in tests.items():
        shares = over_seeds((mean([float(test(x)) for x in one.values()]) for one in by_seed if one), 0.0, 1.0)
        those = [claim for claim, share in whole.items() if test(share)]
        found[name] = shares, f"{len(those)} of {len(whole)}: {listed(those)}" if whole else _NEEDS_MORE
    return found


_QUESTIONS: dict[str, Callable[[Answered], dict[str, Part]]] = {
    "leak": _leak, "purity": _purity, "length": _length, "last": _last,
    "shortcuts": _shortcuts, "heads": _heads, "robust": _robust,
}  # fmt: skip


def answers(found: Answered) -> list[Answer]:
    """A row for each part of each question, with what was predicted."""
    rows = []
    for name, question in read_predictions().items():
        parts = _QUESTIONS[name](found)
        for key, part in question.parts.items():
            value, detail = parts[key]
            result = came_out(part, value)
            text = "Not answered:" if result == NOT_ANSWERED else f"{estimate_text(value)};"
            sentence = f"{text} {detail.removesuffix('.')}."
            rows.append(Answer(name, key, part.number, value, part.expected, part.threshold, result, sentence))
    return rows


def _with(part: Part, more: str) -> Part:
    return (part[0], f"{part[1]}. {more}") if part[0].n else part


def _yes(value: float) -> bool:
    return value == 1


def _levels(a: Answered, factor: str) -> list[str]:
    """The levels that were run of one factor alone, for letters."""
    alone = [changes_of(item.condition) for item in a.items if item.task == LETTER]
    return list(dict.fromkeys(changes[factor] for changes in alone if set(changes) == {factor}))
