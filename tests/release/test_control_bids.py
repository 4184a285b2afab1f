"""The control of a release lowers its bids until its budget lasts, and knows nothing else."""

import numpy as np
import pytest

from gaelp.errors import BadInput
from gaelp.release.control_bids import ScaledIncumbent

USUAL = np.array([[1_000_000, 500_000], [800_000, 0]])
BUDGET = np.array([50_000_000, 50_000_000])
BOTH = np.array([True, True])


def test_it_begins_with_the_usual_bids():
    assert ScaledIncumbent(USUAL).bids_micros().tolist() == USUAL.tolist()


def test_a_budget_that_does_not_last_lowers_the_bids_of_its_campaign_alone():
    control = ScaledIncumbent(USUAL)
    control.end_day(np.array([50_000_000, 46_000_000]), BUDGET, BOTH)
    assert control.bids_micros().tolist() == [[900_000, 450_000], [800_000, 0]]


def test_bids_rise_again_where_a_budget_is_left_over_but_never_above_the_usual_ones():
    control = ScaledIncumbent(USUAL)
    control.end_day(np.array([50_000_000, 0]), BUDGET, BOTH)
    for _ in range(5):
        control.end_day(np.array([20_000_000, 20_000_000]), BUDGET, BOTH)
    assert control.factor.tolist() == [1.0, 1.0]


def test_days_of_the_agent_teach_the_control_nothing():
    control = ScaledIncumbent(USUAL)
    control.end_day(np.array([50_000_000, 50_000_000]), BUDGET, np.array([False, True]))
    assert control.factor.tolist() == [1.0, 0.9]


def test_bids_stay_whole_cents_above_zero_however_often_they_are_lowered():
    control = ScaledIncumbent(np.array([[30_000, 0]]))
    for _ in range(50):
        control.end_day(BUDGET[:1], BUDGET[:1], BOTH[:1])
    assert control.bids_micros().tolist() == [[10_000, 0]]
    assert control.factor.tolist() == [0.2]


def test_it_resumes_from_its_state():
    control, other = ScaledIncumbent(USUAL), ScaledIncumbent(USUAL)
    control.end_day(BUDGET, BUDGET, BOTH)
    other.load_state(control.state())
    assert other.bids_micros().tolist() == control.bids_micros().tolist()


def test_negative_bids_are_refused():
    with pytest.raises(BadInput, match="negative"):
        ScaledIncumbent(-USUAL)
