"""What is claimed of the models that ship, measured on inputs that no training saw."""

from pathlib import Path

import pandas as pd
import pytest
import torch

import whatwhere as ww
from whatwhere.heads.roles import RoleShare
from whatwhere.model.gptj import GPTJ
from whatwhere.store.tables import to_frame
from whatwhere.studies import study_named
from whatwhere.studies.dynamics.association import lags
from whatwhere.studies.dynamics.history import Training
from whatwhere.studies.evidence import evidence_of
from whatwhere.studies.judging import judge as judge_claims
from whatwhere.studies.length.breaks import break_rows
from whatwhere.studies.length.tables import AS_TRAINED, Accuracy, Chain, Hop
from whatwhere.studies.mechanism.ablation import judge
from whatwhere.studies.mechanism.tables import Ablation, Delivery
from whatwhere.studies.results import Results
from whatwhere.training.evaluate import accuracy_by_hop
from whatwhere.work.reporting import regressions
from whatwhere.zoo.load import SHIPPED, SHIPPED_AT
from whatwhere.zoo.take import about, further_seeds, take


@pytest.fixture(params=SHIPPED)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def model(name: str) -> GPTJ:
    model = ww.load(name)
    assert isinstance(model, GPTJ)
    return model


@pytest.mark.slow
def test_a_shipped_model_solves_every_hop_class_of_its_own_data(model: GPTJ):
    assert model.task is not None
    batch = model.task.sample(1600, seed=12345)
    assert min(accuracy_by_hop(model, batch, 4)) >= 0.99


def test_it_tells_how_it_was_made(name: str, model: GPTJ):
    made = about(name)
    assert made["command"].startswith(f"whatwhere train {name.partition('-')[0]} ")
    assert sum(row["sequences"] for row in made["test"]) == 45_600
    assert min(row["accuracy"] for row in made["test"]) >= 0.99
    assert made["training"]["model"] == model.config.to_dict() | {"closed_planes": []}
    assert model.task is not None
    assert made["training"]["task"] == model.task.to_dict()


def test_the_history_ends_with_the_shipped_model(name: str):
    for table in ("metrics.csv", "dynamics/scores.csv"):
        steps = pd.read_csv(SHIPPED_AT / name / table)["step"].tolist()
        assert steps[-1] == about(name)["steps"]
        assert len(set(steps)) >= 40


def test_the_export_to_transformers_gives_the_same_answers(model: GPTJ):
    assert model.task is not None
    tokens = torch.as_tensor(model.task.sample(40, seed=1).tokens).long()
    with torch.no_grad():
        torch.testing.assert_close(model(tokens), model.to_hf()(tokens).logits, rtol=0, atol=1e-3)


@pytest.mark.slow
def test_the_letter_model_matches_and_the_number_model_has_heads_of_both_kinds():
    letter, number = ww.load("letter"), ww.load("number")
    assert isinstance(letter, GPTJ)
    assert isinstance(number, GPTJ)
    assert letter.task is not None
    assert number.task is not None
    matching = ww.score(ww.trace(letter, letter.task.sample(128, seed=3).tokens, layers=[1, 2])).to_frame()
    assert min(matching["symbolic"].tolist()) >= 0.9
    assert max(matching["positional"].tolist()) <= 0.1
    scores = ww.score(ww.trace(number, number.task.sample(256, seed=3).tokens)).to_frame()
    assert max(scores["positional"].tolist()) >= 0.9
    assert sum(score >= 0.9 for score in scores["symbolic"].tolist()) >= 5


@pytest.mark.parametrize(
    "home",
    [*(SHIPPED_AT / name for name in SHIPPED), *sorted(SHIPPED_AT.glob("seeds/*/*"))],
    ids=lambda home: str(home.relative_to(SHIPPED_AT)),
)
def test_tables_that_follow_from_others_do_so_as_shipped(home: Path):
    dynamics, mechanism, length = (
        Results.open(study_named(name), home / name) for name in ("dynamics", "mechanism", "length")
    )
    roles, deliveries = mechanism.rows("roles", RoleShare), mechanism.rows("deliveries", Delivery)
    as_trained = [row for row in length.rows("accuracy", Accuracy) if row.variation == AS_TRAINED]
    for results, table, again in (
        (dynamics, "lags", lags(Training(dynamics))),
        (mechanism, "verdicts", judge(roles, deliveries, mechanism.rows("ablation", Ablation))),
        (length, "breaks", break_rows(as_trained, length.rows("hops", Hop), length.rows("chain", Chain))),
    ):
        pd.testing.assert_frame_equal(results[table], to_frame(type(again[0]), again), check_dtype=False, rtol=1e-8)


@pytest.mark.slow
def test_the_claims_that_are_recorded_as_held_do_hold_on_what_ships(tmp_path: Path):
    for name in (*SHIPPED, *further_seeds()):
        take(name, tmp_path / name)
    judged = [one for one in judge_claims(evidence_of(tmp_path)) if one.verdict != "not tested"]
    assert len(judged) > 50
    assert regressions(judged, "zoo") == []
