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
