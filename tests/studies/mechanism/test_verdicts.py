from __future__ import annotations

from whatwhere.heads.estimate import Estimate, share
from whatwhere.heads.roles import RoleShare
from whatwhere.studies.mechanism.ablation import SERVES, judge, served_distances
from whatwhere.studies.mechanism.tables import Ablation, Delivery


def test_a_role_counts_only_if_the_hops_need_it_that_should() -> None:
    needed = {  # by 1 and 2 hops
        0: (True, True),  # brings to 1 hop away, needed by both
        1: (False, True),  # brings to 2 hops away, needed by 2 hops
        2: (False, False),  # brings to 2 hops away, too, and is not needed
        3: (True, False),  # brings to 1 hop away, and only 1 hop needs it
        4: (False, True),  # brings nothing, and is needed
        5: (False, False),
    }
    one = Estimate(1, 1, 1, 100)
    ablations = [
        Ablation(layer, 0, hops, one, one, 0.0, 1.0, is_needed)
        for layer, both in needed.items()
        for hops, is_needed in enumerate(both, 1)
    ]
    serves = {0: 1, 1: 2, 2: 2, 3: 1}
    deliveries = [
        Delivery(layer, distance, share(100 * (serves.get(layer) == distance), 100))
        for layer in needed
        for distance in (1, 2)
    ]
    roles = [
        RoleShare(layer, 0, queries, distance, role, share(hits, 100))
        for layer in needed
        for queries in ("path", "last", *(["served"] if layer in serves else []))
        for distance in ((1, 2, None) if queries == "path" else (None,))
        for role, hits in (("index", 90 if queries == "served" else 80 if distance == 2 else 10), ("itself", 40))
    ]
    verdicts = judge(roles, deliveries, ablations)
    assert [row.verdict for row in verdicts] == [
        "confirmed", "confirmed", "not needed", "partly", "needed otherwise", "idle",
    ]  # fmt: skip
    assert [row.role for row in verdicts] == ["index"] * 6
    assert [row.share.value for row in verdicts] == [0.9] * 4 + [0.8] * 2, "that of the clearest distance"
    assert (verdicts[0].expected, verdicts[0].needed_by) == ("1 2", "1 2")
    assert (verdicts[1].serves, verdicts[1].expected, verdicts[1].share.value, verdicts[1].share.n) == (
        "2",
        "2",
        0.9,
        100,
    )


def test_the_share_itself_decides_what_a_layer_serves() -> None:
    rows = [Delivery(0, 1, share(30, 100)), Delivery(0, 2, share(24, 100)), Delivery(1, 1, share(25, 100))]
    assert rows[0].share.low < SERVES < rows[1].share.high
    assert served_distances(rows) == {0: [1], 1: [1]}
