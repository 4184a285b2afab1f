"""Which bids are sent: bounded steps, only what is worth a call, the largest gains first, never the pauses' share."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaelp.pilot.bid_choice import CallQuota, SendingRules, choose_bids, step_towards

RULES = SendingRules()
PLENTY = CallQuota(RULES, 3, 0, 1)


def cents(*rows):
    return np.array(rows, np.int64) * 10_000


def chosen(wanted, in_force, *, weight=None, running=(True, True, True), quota=PLENTY, percent=50):
    weight = np.ones(wanted.shape) if weight is None else weight

    def limits(row):
        bids = in_force[row]
        none = bids == 0
        return np.where(none, 0, -(-bids * 100 // (100 + percent))), np.where(
            none, 10**15, bids * (100 + percent) // 100
        )

    return choose_bids(wanted, in_force, limits, weight, np.array(running), quota)


@given(wanted=st.integers(1, 2000), least=st.integers(1, 20_000_000), width=st.integers(10_000, 10_000_000))
@settings(deadline=None)
def test_a_step_never_leaves_what_the_guard_allows(wanted, least, width):
    [bid] = step_towards(cents([wanted])[0], np.array([least]), np.array([least + width]), 10_000)
    assert bid % 10_000 == 0
    assert least <= bid <= least + width


def test_steps_lead_to_the_wanted_bid():
    wanted, bid = cents([300]), cents([100])
    steps = []
    while (bid != wanted).any() and len(steps) < 20:
        bid = chosen(wanted, bid, running=(True,), quota=CallQuota(RULES, 1, 0, 1)).bids
        steps.append(int(bid[0, 0]))
    assert steps == [1_500_000, 2_250_000, 3_000_000]


def test_a_bid_of_a_few_cents_that_cannot_move_by_a_whole_one_stays():
    choice = chosen(cents([1], [1], [1]), cents([2], [3], [4]), percent=10)
    assert choice.chosen.tolist() == [False, False, False]


def test_only_bids_that_differ_by_more_than_the_worth_are_sent():
    in_force = cents([100, 100], [100, 100], [100, 100])
    choice = chosen(cents([105, 100], [106, 100], [100, 100]), in_force)
    assert choice.chosen.tolist() == [False, True, False]
    assert choice.why_not == ("small", "", "same")


def test_a_campaign_without_bids_gets_them_and_one_that_waits_gets_none():
    choice = chosen(cents([100], [100], [100]), cents([0], [50], [50]), running=(True, False, True))
    assert choice.chosen.tolist() == [True, False, True]


def test_the_largest_gains_come_first_where_calls_are_short():
    in_force, wanted = cents([100], [100], [100]), cents([120], [110], [140])
    quota = CallQuota(SendingRules(calls_a_day=34, pause_reserve=10), 3, 0, 1)  # room for two orders of two operations
    assert chosen(wanted, in_force, quota=quota).chosen.tolist() == [True, False, True]
    weight = np.array([[1.0], [100.0], [1.0]])
    assert chosen(wanted, in_force, weight=weight, quota=quota).chosen.tolist() == [False, True, True]
    assert chosen(wanted, in_force, quota=quota).why_not[1] == "quota"


@pytest.mark.parametrize("used", [0, 100, 969, 5000])
def test_pauses_always_keep_their_calls(used):
    rules = SendingRules(calls_a_day=1000, pause_reserve=10)
    left, hours = used, 24
    while hours:
        left += CallQuota(rules, 3, left, hours).now
        hours -= 1
    assert left <= max(1000 - 3 * 10, used)
