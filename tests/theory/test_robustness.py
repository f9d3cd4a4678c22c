import pytest

from whatwhere.theory import robustness


@pytest.mark.slow
def test_the_corrected_bounds_hold_and_the_printed_ones_fail_as_predicted():
    corrected = robustness.corrected_bounds_hold()
    assert corrected.passed
    assert corrected.inputs > 6000
    assert robustness.printed_index_bound_fails().passed
    printed = robustness.printed_retrieval_bound_fails()
    assert printed.passed
    assert printed.found == "n = 3 to 24 at 0.0027, n = 3 to 12 at 0.0115"
    layers = robustness.most_letter_layers_have_no_margin()
    assert (layers.errors, layers.counterexamples, layers.inputs) == (0, 7, 12)
    assert layers.found == "layers 0, 1, 3, 5, 7, 9, 10; the best is layer 2, of Figure 5A"


def test_retrieval_lengths_end_where_the_angle_between_letters_is_used_up():
    assert robustness.retrieval_lengths(0.0115) == range(2, 70)
    assert robustness.retrieval_lengths(0.0)[-1] == robustness.RETRIEVAL_LONGEST


def test_the_checks_say_how_many_lengths_they_tried_and_what_they_saw():
    layers = robustness.most_letter_layers_have_no_margin()
    assert (layers.errors, layers.counterexamples, layers.inputs) == (0, 7, 12)
    assert layers.found == "layers 0, 1, 3, 5, 7, 9, 10; the best is layer 2, of Figure 5A"
    index, retrieval = robustness.printed_index_bound_fails(), robustness.printed_retrieval_bound_fails()
    assert (index.inputs, index.errors, index.counterexamples) == (2997, 0, 1624)
    told = "578 of 999 lengths at 0.8, 381 of 999 lengths at 0.866, 665 of 999 lengths at 1.0"
    assert index.found == told
    assert (retrieval.inputs, retrieval.errors, retrieval.counterexamples) == (177, 0, 32)
    assert retrieval.found == "n = 3 to 24 at 0.0027, n = 3 to 12 at 0.0115"


def test_all_lengths_are_tried_for_both_notions_of_both_heads():
    check = robustness.corrected_bounds_hold()
    assert (check.inputs, check.errors) == (7308, 0)
    assert check.claim == "the corrected bounds hold at every length (Index to 1000)"


def test_bounds_that_are_too_low_and_predictions_that_miss_would_be_told(monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as patch:
        patch.setattr(robustness.discrepancy, "index_smallest_bound", lambda *_: -1.0)
        assert robustness.corrected_bounds_hold().errors == 3 * 999
    with monkeypatch.context() as patch:
        patch.setattr(robustness, "PRINTED_INDEX_FAILURES", {0.8: 578, 0.866: 0, 1.0: 0})
        patch.setattr(robustness, "PRINTED_RETRIEVAL_FAILURES", {0.0027: range(3, 24), 0.0115: range(4, 14)})
        patch.setattr(robustness, "LAYERS_WITHOUT_MARGIN", (0, 1, 2))
        assert robustness.printed_index_bound_fails().errors == 2
        assert robustness.printed_retrieval_bound_fails().errors == 1 + 2
        assert robustness.most_letter_layers_have_no_margin().errors == 6


def test_by_default_the_alphabet_has_eight_letters():
    assert robustness.retrieval_lengths(0.0115, 8) == robustness.retrieval_lengths(0.0115)
    assert robustness.retrieval_lengths(0.0115, 2) == range(2, 275)
    assert robustness.retrieval_lengths(1e-4) == range(2, 301)
