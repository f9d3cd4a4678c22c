"""The mechanism of one model in words and small tables, at most 80 columns wide; every share with its interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whatwhere.studies.mechanism.figures import Tables
from whatwhere.studies.mechanism.readout import Move

SHORTCUT = 0.05
"""A layer moves more than one hop if this share of its arrivals surely does ..."""
ENOUGH = 20
"""... and it has so many of them."""
SETTLED = 0.995


def summary(tables: Tables) -> str:
    """What a reader of the terminal sees."""
    parts = (_roles, _readout, _moves, _layers_used, _ablation, _patching, _hops)
    return "\n\n".join("\n".join(part(tables)) for part in parts)


def shortcut_layers(tables: Tables) -> list[int]:
    """Layers whose arrivals often come from two or more hops nearer to the answer."""
    return sorted({row.layer for row in tables.moves if _is_shortcut(row)})


def _is_shortcut(row: Move) -> bool:
    return row.hops_moved >= 2 and row.low > SHORTCUT and row.count >= ENOUGH


def _roles(tables: Tables) -> Iterable[str]:
    counted = max(row.count for row in tables.roles if row.distance == 1)
    yield f"Roles: the strongest key of path positions, on {counted} solved inputs"
    yield _line("head", "role, where it serves", "queries", "brings", "hurts hops (should)", "verdict")
    for row in tables.verdicts:
        yield _line(
            f"{row.layer}.{row.head}",
            f"{row.role} {_span(row.share, row.low, row.high)}",
            str(row.count),
            row.serves or "-",
            f"{row.hurts or '-'} ({row.should_hurt or '-'})",
            row.verdict,
        )
    yield "brings: hops from the answer at which it arrives in this layer; then classes of"
    yield "as many hops or more should be hurt when the head is ablated. Roles count if so."


def _line(head: str, role: str, queries: str, brings: str, hurts: str, verdict: str) -> str:
    return f"{head:<5}{role:<27}{queries:>7} {brings:<8}{hurts:<20} {verdict}".rstrip()


def _readout(tables: Tables) -> Iterable[str]:
    classes = sorted({row.hops for row in tables.readout})
    yield "Read-out at the last position: is the answer the unembedding's first choice?"
    yield _columns("after layer", [f"{hops} hop{'s' if hops > 1 else ''}" for hops in classes])
    at_end = [row for row in tables.readout if row.position == 0]
    for layer in sorted({row.layer for row in at_end}):
        shares = [next(row for row in at_end if (row.layer, row.hops) == (layer, hops)) for hops in classes]
        if layer >= 0:
            yield _columns(str(layer), [_span(row.share, row.low, row.high) for row in shares])
        if min(row.share for row in shares) >= SETTLED:
            break
    counts = [next(row.count for row in at_end if row.hops == hops) for hops in classes]
    yield _columns("inputs", list(map(str, counts)))


def _moves(tables: Tables) -> Iterable[str]:
    found = shortcut_layers(tables)
    if not found:
        yield "Shortcuts: no layer fetches the answer from two or more hops away."
        return
    yield "Shortcuts: layers whose strongest key is two or more hops nearer to the answer"
    for layer in found:
        far = [row for row in tables.moves if row.layer == layer and _is_shortcut(row)]
        told = ", ".join(f"{row.hops_moved} hops {_span(row.share, row.low, row.high)}" for row in far)
        yield f"layer {layer}: {told} of {far[0].count} arrivals"


def _layers_used(tables: Tables) -> Iterable[str]:
    yield "Layers until the answer can be read at the last position"
    yield f"{'hops':<6}{'mean':<19}{'doubling':<10}{'fewer layers than hops':<25}inputs"
    for row in tables.layers_used:
        fewer = _span(row.fewer, row.fewer_low, row.fewer_high)
        yield f"{row.hops:<6}{_span(row.mean, row.low, row.high):<19}{row.doubling:<10}{fewer:<25}{row.count}"
    yield "There a linear probe decodes the address of " + _reach(tables)


def _reach(tables: Tables) -> str:
    """The layer from which on each address is decodable in nine of ten inputs."""
    told = []
    for ahead in sorted({row.ahead for row in tables.pointers}):
        layers = [row.layer for row in tables.pointers if row.ahead == ahead and row.low >= 0.9]
        told.append(f"p{ahead} " + ("never" if not layers else "at once" if min(layers) < 0 else f"from {min(layers)}"))
    return ", ".join(told)


def _ablation(tables: Tables) -> Iterable[str]:
    classes = sorted({row.hops for row in tables.ablation})
    yield "Ablation: accuracy with one head replaced by its mean"
    yield _columns("head", [f"{hops} hop{'s' if hops > 1 else ''}" for hops in classes])
    first = [row for row in tables.ablation if (row.layer, row.head) == (0, 0)]
    yield _columns("none", [_span(row.before, row.before_low, row.before_high) for row in first])
    spared = 0
    for layer, head in sorted({(row.layer, row.head) for row in tables.ablation}):
        rows = [row for row in tables.ablation if (row.layer, row.head) == (layer, head)]
        if any(row.hurts for row in rows):
            yield _columns(f"{layer}.{head}", [_span(row.after, row.after_low, row.after_high) for row in rows])
        else:
            spared += 1
    yield _columns("inputs", [str(row.count) for row in first])
    if spared:
        yield f"Each of the other {spared} heads can be ablated without harm (intervals overlap)."


def _patching(tables: Tables) -> Iterable[str]:
    yield "Patching: from which layer on the last position carries a changed hop"
    for hop in sorted({row.changed_hop for row in tables.patching}):
        at_end = [row for row in tables.patching if (row.changed_hop, row.kind, row.position) == (hop, "state", 0)]
        carried = [row for row in at_end if row.low > 0.5]
        if not at_end[0].count:
            yield f"hop {hop}: no pairs"
        elif carried:
            row = carried[0]
            yield f"hop {hop}: layer {row.layer}, {_span(row.share, row.low, row.high)} of {row.count} pairs"
        else:
            yield f"hop {hop}: none, of {at_end[0].count} pairs"


def _hops(tables: Tables) -> Iterable[str]:
    yield f"Longer chains (trained on 1 to {tables.most} hops)"
    for row in tables.hops:
        guess = "nothing hides the answer" if row.guess == 1 else f"guessing {row.guess:.2f}"
        told = _span(row.accuracy, row.low, row.high)
        yield f"{row.hops} hop{'s' if row.hops > 1 else ' '}  {told} of {row.count}, {guess}"


def _columns(first: str, cells: Sequence[str]) -> str:
    return (f"{first:<12}" + "".join(f"{cell:<17}" for cell in cells)).rstrip()


def _span(value: float, low: float, high: float) -> str:
    return "undefined" if value != value else f"{value:.2f} ({low:.2f}-{high:.2f})"
