"""The terminal summary of the study ``mechanism``: one line per head and one sentence per question.

Intervals and further results are in the tables and on the page.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.mechanism import path_tables, tables
from whatwhere.studies.results import Results
from whatwhere.studies.terminal import remark, table
from whatwhere.trace.layer import counted

SHORTCUT = 0.05
"""A layer takes shortcuts if more than this share of the answers that it brings surely comes from far ..."""
ENOUGH = 20
"""... and it brings so many of them."""
CARRIED = 0.5
"""The last token carries a changed hop if so many of the answers surely follow a patch there."""


def summary(results: Results) -> Sequence[RenderableType]:
    """The heads one by one, the fewest that suffice, and what each experiment says."""
    shown = results.rows("examples", tables.Example)[0]
    right = "right" if shown.predicted == shown.answer else f"wrong, it is {shown.answer}"
    return [
        f"The mechanism of {escape(results.name)}, on {results.settings.inputs} inputs",
        f"Figures 1 and 3 show the input {shown.tokens}. The answer of the model, {shown.predicted}, is {right}.",
        *_heads(results),
        _sufficient(results),
        "",
        *(f"{question}: {text}" for question, text in _sentences(results)),
    ]


def outcomes(results: Results) -> Mapping[str, float]:
    """How many heads are needed alone, how many suffice for the most hops, the layers used, and how flow is timed."""
    largest = max(results.rows("sufficient", tables.SufficientSet), key=lambda row: row.hops)
    used = max(results.rows("layers_used", tables.LayersUsed), key=lambda row: row.hops)
    needed = {(row.layer, row.head) for row in results.rows("ablation", tables.Ablation) if row.needed}
    (all_heads,) = (row for row in results.rows("selectivity", path_tables.Selectivity) if row.layer is None)
    sizes = {"needed_heads": len(needed), "sufficient_heads": largest.size}
    return sizes | {"layers_used": used.layers.value, "flow_in_time": all_heads.share.value}


def _heads(results: Results) -> list[RenderableType]:
    """What each head does, when the answer can be read, and what is right without this and all later layers."""
    kinds = {(row.layer, row.head): row.label for row in results.rows("kinds", tables.Kind)}
    read = {(row.layer, row.hops): row.share for row in results.rows("readout", tables.Readable) if row.position == 0}
    without = {row.layer: row.residual for row in results.rows("keeping", path_tables.Keeping)}
    classes = sorted({hops for _, hops in read})
    made = table(
        "head", " kind", " role", "share", *(f" {counted(hops, 'hop')}" for hops in classes), " without",
        left=(" kind", " role"), title="\nHeads, and the share of answers that can be read after each layer",
    )  # fmt: skip
    for row in results.rows("verdicts", tables.Verdict):
        text = (_number(one) for one in (*(read[row.layer, hops] for hops in classes), without[row.layer]))
        of_layer = text if row.head == 0 else [""] * (len(classes) + 1)
        kind = kinds.get((row.layer, row.head), "")
        made.add_row(f"{row.layer}.{row.head}", f" {kind}", f" {row.role} ", _number(row.share), *of_layer)
    legend = (
        "role: what its strongest key is to a position of the path, and in which share of them; without: right "
        "answers, of those that can be read before the layer, with its heads and those of later layers ablated."
    )
    return [made, remark(legend)]


def _sufficient(results: Results) -> Table:
    """On inputs that the search has not seen; results of earlier versions have those only that end it."""
    found = results.rows("sufficient", tables.SufficientSet)
    held_out = {row.hops: (row.held_out, row.whole) for row in found}
    held_out |= {row.hops: (row.alone, row.whole) for row in results.rows("confirmed", tables.ConfirmedSet)}
    return table(
        "hops", " heads", " which", "held out", " whole model", left=(" which",),
        rows=((str(row.hops), f" {row.size} of {row.all_heads}", f" {short_heads(row.heads) or 'none'} ",
               *(f" {_span(share)}" for share in held_out[row.hops])) for row in found),
        title="\nThe fewest heads found that alone keep 0.95 of the accuracy",
    )  # fmt: skip


def short_heads(heads: str) -> str:
    """``2 3`` for ``2.0 3.0``: layers alone, where each has one head."""
    names = heads.split()
    return " ".join(name[:-2] for name in names) if all(name.endswith(".0") for name in names) else heads


def _sentences(results: Results) -> Iterator[tuple[str, str]]:
    """Each question, and what its experiment says."""
    yield "Needed alone", _needed(results.rows("ablation", tables.Ablation))
    yield "Ablated by kind", _kinds(results.rows("groups", tables.GroupAblation))
    used = results.rows("layers_used", tables.LayersUsed)
    means = ", ".join(f"{row.layers.value:.1f} for {counted(row.hops, 'hop')}" for row in used)
    yield "Layers until the answer can be read at the last token", f"{means}."
    yield "Shortcuts", _shortcuts(results.rows("moves", tables.Move))
    yield "Patching", _patching(results.rows("patching", tables.Patched))
    edges = results.rows("edges", path_tables.Edge)
    if edges:
        largest = max(edges, key=lambda row: row.alone.value)
        start = "the token" if largest.from_layer is None else f"{largest.from_layer}.{largest.from_head}"
        end = "the answer" if largest.to_layer is None else f"{largest.to_layer}.{largest.to_head}"
        yield (
            "Edges between the sufficient heads",
            f"of {len(edges)}, the one from {start} at p{largest.from_position} to {end} at p{largest.to_position} "
            f"carries most of the answer, {_span(largest.alone)}.",
        )
    (all_heads,) = (row for row in results.rows("selectivity", path_tables.Selectivity) if row.layer is None)
    yield (
        "Selective copying",
        f"of what flows from the place that a pointer indexes, {_span(all_heads.share)} comes after the answer did"
        + "".join(f"; {_span(row.share)} by a linear probe" for row in _probed(results))
        + ".",
    )
    for name, reader in (("keeping", ""), ("probed_keeping", " by a linear probe")):
        for row in (row for row in results.rows(name, path_tables.Keeping) if row.layer is None):
            yield (
                f"Reflexive{reader}",
                f"once at the last token, the answer stays through {_number(row.kept)} of the layers; attention there "
                f"goes to itself {_number(row.itself)}, to equal tokens {_number(row.equal)}, elsewhere "
                f"{_number(row.elsewhere)}.",
            )
    chains = [row for row in results.rows("chains", tables.Chain) if not row.trained]
    text = ", ".join(f"{_number(row.accuracy)} at {row.hops}" for row in chains)
    yield "Chains longer than trained", f"accuracy {text} hops." if chains else "none that the vocabulary allows."


def _probed(results: Results) -> list[path_tables.DecodedFlow]:
    """What flows when, by the probe; nothing in results of earlier versions."""
    rows = results.rows("decoders", path_tables.DecodedFlow)
    return [row for row in rows if (row.decoder, row.changed) == ("probe", "link")]


def _needed(rows: Sequence[tables.Ablation]) -> str:
    classes: dict[str, list[str]] = {f"{row.layer}.{row.head}": [] for row in rows}
    for row in rows:
        if row.needed:
            classes[f"{row.layer}.{row.head}"].append(str(row.hops))
    text = ", ".join(f"{head} by {' '.join(hops)} hops" for head, hops in classes.items() if hops)
    return f"{text or 'none'} of {counted(len(classes), 'head')} (a loss above 0.05 with p < 0.001)."


def _kinds(rows: Sequence[tables.GroupAblation]) -> str:
    """The accuracy of each hop class without all heads of a kind."""
    groups: dict[str, list[str]] = {}
    for row in sorted((row for row in rows if row.family == "kind"), key=lambda row: row.hops):
        groups.setdefault(row.group, []).append(_number(row.after))
    text = "; ".join(f"{' '.join(shares)} without {group}" for group, shares in groups.items())
    return f"accuracy by hops {text}." if text else "no head has a kind."


def _shortcuts(rows: Sequence[tables.Move]) -> str:
    """Of the answers that each layer brings, the share that its head with most of them brings from far."""
    far: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for row in rows:
        if (row.hops_nearer or 0) >= 2 and row.share.low > SHORTCUT and row.share.n >= ENOUGH:
            far[row.layer][row.head] += row.share.value
    text = ", ".join(f"{_two_digits(max(far[layer].values()))} in layer {layer}" for layer in sorted(far))
    return f"of the answers that a layer brings, from two or more hops away {text or 'none'}."


def _patching(rows: Sequence[tables.Patched]) -> str:
    """The first layer after which the last token carries each changed hop."""
    text = []
    for hop in sorted({row.changed_hop for row in rows}):
        last = [row for row in rows if (row.changed_hop, row.position) == (hop, 0)]
        first = next((row.layer for row in last if row.share.low > CARRIED), None)
        found = "no pairs" if not last[0].share.n else "never" if first is None else f"after layer {first}"
        text.append(f"hop {hop} {found}")
    return f"the last token carries a change of {', '.join(text)}."


def _span(estimate: Estimate) -> str:
    if estimate.value != estimate.value:
        return "undefined"
    return f"{_number(estimate)} ({'-'.join(map(_two_digits, estimate.interval))})"


def _number(estimate: Estimate) -> str:
    return "-" if estimate.value != estimate.value else _two_digits(estimate.value)


def _two_digits(x: float) -> str:
    return f"{x:.2f}".removeprefix("0")
