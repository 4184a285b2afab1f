"""The last days of a made history again: with the logged bids they are what they were."""

from dataclasses import replace

import numpy as np
import pytest

from gaelp.errors import BadInput
from gaelp.sandbox.history_rerun import LOGGED, RerunWindow, automated, rerun_history, shifted
from gaelp.sandbox.incumbent import SynthesisSpec
from gaelp.sandbox.serving import TargetRoas
from gaelp.sandbox.spec import load_sandbox_spec
from gaelp.sandbox.synthesis import synthesize

SPEC = SynthesisSpec(weeks=1, campaigns=2, seed=3)


@pytest.fixture(scope="module")
def history():
    return synthesize(SPEC, load_sandbox_spec(), simulator_points=False)


@pytest.fixture(scope="module")
def window(history):
    days = [history.account_day(int(history.hour_ticks[hour])) for hour in (5 * 24, -1)]
    return RerunWindow(SPEC, history.world, *days)


@pytest.fixture(scope="module")
def outcomes(window):
    same, lower = np.zeros((48, 2, 8)), np.full((48, 2, 8), np.log(0.7))
    own = {"same": shifted(same), "lower": shifted(lower), "auto": automated(TargetRoas(1.2))}
    return rerun_history(window, own)


def test_logged_bids_spend_again_what_they_spent(history, outcomes):
    hours = history.events.hours
    logged = int(hours["cost_micros"][hours["hour_tick"] >= history.hour_ticks[5 * 24]].sum())
    assert outcomes[LOGGED].spend_micros == logged > 0
    assert replace(outcomes["same"], bidder=LOGGED) == outcomes[LOGGED]


def test_lower_bids_spend_less_and_buy_more_for_it_and_the_platform_bids_otherwise(outcomes):
    assert outcomes["lower"].spend_micros < outcomes[LOGGED].spend_micros
    assert outcomes["lower"].value_per_dollar > outcomes[LOGGED].value_per_dollar
    assert outcomes["auto"].spend_micros not in (0, outcomes[LOGGED].spend_micros)


def test_days_outside_the_history_are_refused(window):
    with pytest.raises(BadInput, match="not whole days of this history"):
        rerun_history(replace(window, last_day=window.last_day.replace(year=2030)), {})
