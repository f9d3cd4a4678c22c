from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from whatwhere.heads.roles import RoleShare
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.studies.mechanism.ablation import Ablation, ablate, judge
from whatwhere.studies.mechanism.readout import Delivery
from whatwhere.tasks import NumberTask


def test_ablation_puts_the_mean_over_inputs_in_the_place_of_one_head() -> None:
    task = NumberTask()
    model = GPTJ(ModelConfig(vocab_size=136, layers=2, heads=2, d_model=32, d_mlp=32, init_std=0.3), seed=1)
    batch = task.sample(300, seed=0)  # more than one chunk
    batch = replace(batch, answers=model.predict(batch.tokens).astype(np.int32))
    rows = {(row.layer, row.head, row.hops): row for row in ablate(model, batch)}
    ids = torch.as_tensor(batch.tokens).long()
    for layer in range(2):
        for head in range(2):

            def edit(attended: torch.Tensor, head: int = head) -> torch.Tensor:
                heads = list(attended.unbind(2))
                heads[head] = heads[head].mean(0, keepdim=True).expand_as(heads[head])
                return torch.stack(heads, 2)

            with torch.no_grad():
                *_, end = model.residuals(ids, edits={layer: edit})
                right = model.head(model.norm(end[:, -1])).argmax(-1).numpy() == batch.answers
            for hops in range(1, 5):
                row = rows[layer, head, hops]
                assert row.before == 1
                assert row.count == 75
                assert row.after == pytest.approx(right[batch.hops == hops].mean())
    assert min(row.after for row in rows.values()) < 0.9


def row(layer: int, hops: int, after: float) -> Ablation:
    return Ablation(layer, 0, hops, 1.0, 0.98, 1.0, after, after - 0.05, min(1.0, after + 0.05), 100)


def test_a_role_counts_only_if_its_ablation_hurts_the_hops_it_should() -> None:
    after = {  # accuracy at 1 and 2 hops with the layer's head ablated
        0: (0.1, 0.1),  # brings to 1 hop away, needed by both
        1: (1.0, 0.2),  # brings to 2 hops away, needed by 2 hops
        2: (1.0, 1.0),  # brings to 2 hops away, too, and is not needed
        3: (0.3, 1.0),  # brings to 1 hop away, and only 1 hop suffers
        4: (1.0, 0.5),  # brings nothing, and is needed
        5: (1.0, 1.0),
    }
    ablations = [row(layer, hops, value) for layer, both in after.items() for hops, value in enumerate(both, 1)]
    serves = {0: 1, 1: 2, 2: 2, 3: 1}
    deliveries = [
        Delivery(layer, distance, float(serves.get(layer) == distance), 0.0, 1.0, 100)
        for layer in after
        for distance in (1, 2)
    ]
    roles = [
        RoleShare(layer, 0, "path", distance, role, share, 0.0, 1.0, 100)
        for layer in after
        for distance in (0, 1, 2)
        for role, share in (("index", 0.9 if distance == serves.get(layer) else 0.1), ("itself", 0.4))
    ]
    verdicts = judge(roles, deliveries, ablations)
    assert [verdict.verdict for verdict in verdicts] == [
        "counts", "counts", "not needed", "partly", "needed otherwise", "idle",
    ]  # fmt: skip
    assert [verdict.role for verdict in verdicts] == ["index"] * 4 + ["itself"] * 2
    assert (verdicts[0].should_hurt, verdicts[0].hurts) == ("1 2", "1 2")
    assert (verdicts[1].serves, verdicts[1].should_hurt, verdicts[1].share, verdicts[1].count) == ("2", "2", 0.9, 100)
