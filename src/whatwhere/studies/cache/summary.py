"""The terminal summary of the study ``cache``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from whatwhere.studies.cache.tables import ABLE, About, Comparison, Policy
from whatwhere.studies.results import Results
from whatwhere.studies.terminal import ends, remark, spanned, table


def summary(results: Results) -> Sequence[RenderableType]:
    """Loss and passkey accuracy by ranking and budget, and which ranking is better."""
    (about,) = results.rows("about", About)
    policies, settings = results.rows("policies", Policy), results.settings
    total = about.layers * about.kv_heads
    blocks: list[RenderableType] = [
        escape(
            f"{total} KV heads of {results.short_name} ({about.family}) on {about.source}: {about.loss.n} windows "
            f"of {about.tokens} tokens; a streamed one keeps {settings.sink} first and {settings.recent} last tokens"
        ),
        f"loss with the full cache: {spanned(about.loss, '.3f')} nats per token",
        _policies(policies),
        *_verdicts(results.rows("comparisons", Comparison), settings.rankings[0]),
        remark(
            "cache: keys kept at the end of a window. above: loss above the full cache in nats per token, with "
            "95 % intervals over windows. positional: the most positional beyond the first token are streamed first; "
            "far: those that look least at far keys; both: by the product; induction: the lowest mass; paper: the "
            "paper's positional score."
        ),
    ]
    if about.passkey.n:
        able = about.passkey.value >= ABLE
        remark_text = "" if able else " The model cannot do it, so pass keys say nothing about its cache."
        blocks.append(f"pass keys found with the full cache: {about.passkey}.{remark_text}")
    return blocks


def outcomes(results: Results) -> Mapping[str, float]:
    """The loss above the full cache of the policy, by budget."""
    first = results.settings.rankings[0]
    rows = [row for row in results.rows("policies", Policy) if row.ranking == first]
    return {f"above_{100 * row.budget:g}": row.above.value for row in rows}


def _policies(rows: Sequence[Policy]) -> Table:
    found = any(row.passkey.n for row in rows)
    extra = ("pass keys", "key loss") if found else ()
    budgets = list(dict.fromkeys(row.budget for row in rows))
    cells = (
        (row.ranking, f"{row.budget:g}", str(row.streamed), f"{row.cache:.2f}", f"{row.above.value:.3f}",
         ends(row.above, ".3f", " to "), *((f"{row.passkey.value:.2f}", f"{row.key_loss.value:.2f}") if found else ()))
        for row in sorted(rows, key=lambda row: (budgets.index(row.budget), row.above.value))
    )  # fmt: skip
    return table("ranking", "share", "streamed", "cache", "above", "95 %", *extra, rows=cells, left=("ranking",))


def _verdicts(rows: Sequence[Comparison], first: str) -> list[str]:
    """A line for each budget: against which rankings the first one surely is better, as good or worse."""
    lines = []
    for budget in dict.fromkeys(row.budget for row in rows):
        kinds: dict[str, list[str]] = {"better than": [], "not told apart from": [], "worse than": []}
        for row in (row for row in rows if row.budget == budget and row.ranking == first):
            low, high = row.difference.interval
            kind = "better than" if high < 0 else "worse than" if low > 0 else "not told apart from"
            kinds[kind].append(row.other)
        kinds_text = "; ".join(f"{kind} {', '.join(others)}" for kind, others in kinds.items() if others)
        lines.append(f"{first} at {budget:g}: {kinds_text}")
    return lines
