from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whatwhere.studies.forecast import calibration
from whatwhere.studies.forecast.calibration import concordance
from whatwhere.studies.forecast.forecasting import dispersion_length
from whatwhere.studies.forecast.tables import Calibration

MODELS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.booleans()), min_size=1, max_size=8)


@given(MODELS)
def test_the_order_is_counted_pair_by_pair(models) -> None:
    said, lengths, censored = (np.array(column) for column in zip(*models, strict=True))
    sure, right = 0, 0.0
    for i, a in enumerate(models):
        for j, b in enumerate(models):
            if i != j and not a[2] and (a[1] < b[1] or (a[1] == b[1] and b[2])):
                sure += 1
                right += 1.0 if a[0] < b[0] else 0.5 if a[0] == b[0] else 0.0
    found = concordance(said.astype(float), lengths.astype(float), censored.astype(bool))
    if sure:
        assert found.value == pytest.approx(right / sure)
        assert found.n == sure
    else:
        assert math.isnan(found.value)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_the_closed_form_is_softmax_over_so_many_keys(share: float) -> None:
    n = dispersion_length(4.0, share)
    assert math.exp(4.0) / (math.exp(4.0) + n - 1) == pytest.approx(share)


def rows(results, **wanted) -> list[Calibration]:
    found = results.rows("calibration", Calibration)
    return [row for row in found if all(getattr(row, name) == value for name, value in wanted.items())]


def test_the_error_is_in_powers_of_two_and_over_variants_that_break(made_up) -> None:
    said = {"a": 100.0, "b": 100.0, "c": 500.0}
    results = made_up("letter", {"a": 200.0, "b": 50.0, "c": math.inf}, said)
    (row,) = rows(results, group="held out", threshold=0.5, method="carried")
    assert (row.error.value, row.bias.value, row.broken, row.censored) == (1.0, 0.0, 2, 1)
    assert row.concordance.value == pytest.approx((1 + 1 + 0.5) / 3)  # a and b before c; a and b are said to be equal


def test_a_forecast_beyond_the_longest_length_counts_as_the_longest(made_up) -> None:
    (row,) = rows(made_up("letter", {"a": 250.0}, {"a": math.inf}), group="all", threshold=0.5, method="carried")
    assert row.error.value == pytest.approx(2)


def test_a_variant_without_a_forecast_is_counted_and_enters_nothing(made_up) -> None:
    results = made_up("letter", {"a": 250.0, "b": 100.0}, {"a": math.nan, "b": 100.0})
    (row,) = rows(results, group="all", threshold=0.5, method="carried")
    assert (row.undefined, row.broken, row.error.value) == (1, 1, 0)


def test_groups_tell_what_nothing_was_chosen_on(made_up) -> None:
    assert {row.group for row in rows(made_up("letter", {"a": 50.0}))} == {"held out", "all", "letter"}
    assert {row.group for row in rows(made_up("number", {"a": 50.0}, tuned=True))} == {"tuned on", "all", "number"}


def test_each_task_has_its_own_median_and_another_task_that_of_all(made_up, monkeypatch) -> None:
    monkeypatch.setattr(calibration, "MEDIANS", {t: {"all": 100.0, "number": 50.0} for t in (0.9, 0.5)})
    for task, error in (("number", 2.0), ("letter", 1.0)):
        (row,) = rows(made_up(task, {"a": 200.0}), group="all", threshold=0.5, method="task median")
        assert row.error.value == error


def test_the_tuning_models_are_those_that_ship_on_the_authors_data_and_their_medians_are_known() -> None:
    from whatwhere.model.checkpoint import load_model, model_fingerprint
    from whatwhere.zoo.load import SHIPPED_AT

    shipped = [load_model(SHIPPED_AT / name / "model.safetensors") for name in ("number", "letter")]
    assert [model_fingerprint(model) for model in shipped] == list(calibration.TUNED_WEIGHTS)
    for medians in calibration.MEDIANS.values():
        assert medians.keys() == {"all", "number", "letter"}
        assert 17 < medians["number"] <= medians["all"] <= medians["letter"] <= 1000
