"""The switchback: exact shares on every day, one day of each kind in a block, and nothing that grows is taken back."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.errors import BadInput
from gaelp.release.assignment import exposure_scores, served_percent, treated_days

CAMPAIGNS = [f"shop-{number:02d}" for number in range(20)]


def names(count):
    return [f"c{number}" for number in range(count)]


@given(campaigns=st.integers(1, 40), percent=st.floats(0, 100), key=st.text(max_size=8))
def test_every_day_has_the_share_of_treated_campaigns_that_the_exposure_states(campaigns, percent, key):
    treated = treated_days(key, names(campaigns), [percent] * 14)
    assert (abs(treated.sum(axis=1) - campaigns * percent / 100) < 1).all()


@given(campaigns=st.integers(1, 40), key=st.text(max_size=8))
def test_at_half_each_campaign_has_one_day_of_each_kind_in_every_block(campaigns, key):
    treated = treated_days(key, names(campaigns), [50] * 20)
    assert (treated.reshape(10, 2, campaigns).sum(axis=1) == 1).all()


@given(low=st.floats(0, 100), high=st.floats(0, 100))
def test_raising_the_exposure_keeps_treated_days_treated(low, high):
    low, high = sorted((low, high))
    before, after = (treated_days("k", CAMPAIGNS, [percent] * 10) for percent in (low, high))
    assert not (before & ~after).any()


def test_nothing_and_everything_are_exact():
    assert not treated_days("k", CAMPAIGNS, [0] * 30).any()
    assert treated_days("k", CAMPAIGNS, [100] * 30).all()


def test_below_half_no_campaign_is_treated_on_both_days_of_a_block_and_either_day_is_as_likely():
    treated = treated_days("k", CAMPAIGNS, [25] * 2000).reshape(1000, 2, 20)
    assert treated.sum(axis=1).max() == 1
    first, second = treated.sum(axis=(0, 2))
    assert first == second == 5000


def test_over_two_weeks_every_weekday_is_treated_equally_often():
    treated = treated_days("k", CAMPAIGNS, [50] * 14).sum(axis=1)
    assert (treated == 10).all()


def test_which_kind_comes_first_is_independent_of_the_block_before():
    first = treated_days("k", CAMPAIGNS, [50] * 4000)[::2].astype(float)
    correlation = np.corrcoef(first[1:].ravel(), first[:-1].ravel())[0, 1]
    assert abs(correlation) < 0.02  # 40,000 blocks: four standard errors


def test_a_longer_release_and_another_process_get_the_same_days():
    assert (exposure_scores("k", CAMPAIGNS, 30)[:7] == exposure_scores("k", CAMPAIGNS, 7)).all()
    bits = np.packbits(treated_days("k", CAMPAIGNS, [50] * 28)).tobytes()
    assert hashlib.sha256(bits).hexdigest()[:16] == "39560994dc65be52"


def test_another_key_gives_other_days():
    assert (treated_days("a", CAMPAIGNS, [50] * 28) != treated_days("b", CAMPAIGNS, [50] * 28)).mean() > 0.4


def test_a_higher_exposure_waits_for_the_next_block_and_a_lower_one_does_not():
    assert served_percent([10, 25, 25, 25, 50, 0]).tolist() == [10, 10, 25, 25, 50, 0]


@pytest.mark.parametrize("percent", [[101], [-1], [float("nan")], [[50]]])
def test_an_impossible_exposure_is_refused(percent):
    with pytest.raises(BadInput, match="from 0 to 100 for each day"):
        treated_days("k", CAMPAIGNS, percent)


@pytest.mark.parametrize("campaigns", [[], ["a", "a"]])
def test_campaigns_without_a_name_of_their_own_are_refused(campaigns):
    with pytest.raises(BadInput, match="each its own"):
        treated_days("k", campaigns, [50])
