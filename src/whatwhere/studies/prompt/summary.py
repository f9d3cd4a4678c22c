"""The terminal summary of the study ``prompt``."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from whatwhere.studies.prompt.tables import About, Forecast, KeyHead, LengthRow, Without
from whatwhere.studies.results import Results
from whatwhere.studies.terminal import ends, remark, table


def summary(results: Results) -> Sequence[RenderableType]:
    """The keys found at each length, the forecast, and the heads that attend to the key."""
    (about,) = results.rows("about", About)
    lengths = results.rows("lengths", LengthRow)
    return [
        escape(f"Pass keys in longer and longer prompts: {results.short_name} ({about.family})"),
        _lengths(lengths),
        _measured(about),
        *(_predicted(row, about) for row in results.rows("forecasts", Forecast) if about.able),
        "\nThe heads that look at the key most, in the shortest prompts",
        _heads(results.rows("heads", KeyHead)),
        _worth(results.rows("without", Without)),
        remark(
            "found: keys that greedy decoding gives. margin: logit of the right token less the best other, where it is "
            "smallest. attention: of the heads below to the key. In brackets: 95 % intervals over prompts. Forecasts "
            "use only the lengths marked short."
        ),
    ]


def _lengths(rows: Sequence[LengthRow]) -> Table:
    cells = (
        (f"{row.length:,}", str(row.right.n), f"{row.right.value:.2f}", f"{row.margin.value:+.1f}",
         ends(row.margin, "+.1f", " to "), "" if isnan(row.attention.value) else f"{row.attention.value:.2f}",
         " short" if row.short else "")
        for row in rows
    )  # fmt: skip
    return table("tokens", "prompts", "found", "margin", "95 %", "attention", "", rows=cells, left=("",))


def _measured(about: About) -> str:
    if not about.able:
        return "The model does not find half of the keys in the shortest prompts, so there is nothing to predict."
    if isnan(about.measured):
        return f"It still finds half of the keys or more at {about.longest:,} tokens, the longest prompt."
    return f"Fewer than half of the keys are found from {about.measured:,.0f} tokens on."


def _predicted(row: Forecast, about: About) -> str:
    found = row.length
    if isnan(found.value):
        return f"predicted by {row.rule}: no failure{_verdict(row, about)}"
    low, high = ("?" if isnan(end) else f"{end:,.0f}" for end in (found.low, found.high))
    return f"predicted by {row.rule}: {found.value:,.0f} tokens ({low} to {high}){_verdict(row, about)}"


def _verdict(row: Forecast, about: About) -> str:
    if isnan(row.off):
        return "; not checked"
    if isnan(about.measured):
        return "; no failure was seen" if row.off == 0 else f"; wrong: none was seen up to {about.longest:,}"
    return "; wrong: it fails" if isnan(row.length.value) else f"; off by a factor of {2**row.off:,.1f}"


def _heads(rows: Sequence[KeyHead]) -> Table:
    cells = (
        (f"{r.layer}.{r.head}", f"{r.attention:.2f}", f"{r.positional:.2f}", f"{r.symbolic:.2f}", f" {r.label}")
        for r in rows
    )
    return table("head", "attention", "positional", "symbolic", "label", rows=cells, left=("label",))


def _worth(rows: Sequence[Without]) -> str:
    by = {row.which: row for row in rows}
    whole, followed, others = (by[which].margin.value for which in ("none", "followed", "others"))
    return (
        f"margin in the shortest prompts: {whole:+.1f}; without these {by['followed'].heads} heads {followed:+.1f}; "
        f"without {by['others'].heads} random others in the same layers {others:+.1f}"
    )
