"""The lift in twins drawn from the posterior: same draws for both policies."""

import numpy as np
import pytest

from gaelp.config.objective import Objective
from gaelp.errors import DataError
from gaelp.history.posterior_lift import TwinWindow, posterior_lift
from gaelp.market.policy_state import KeptState
from gaelp.market.view import Action


class UsualBids(KeptState):
    """The usual bids of the log, times a factor."""

    def __init__(self, estimates, factor=1.0):
        self.name = f"usual-{factor}"
        self._bids = np.rint(estimates.usual_bid_micros * estimates.bid_scale * factor).astype(np.int64)

    def begin(self, brief, _belief=None, /):
        self._all = np.tile(self._bids, (brief.campaigns // len(self._bids), 1))

    def act(self, _obs, /):
        return Action(self._all)


@pytest.fixture(scope="module")
def window(account, personas):
    return TwinWindow(account.spec, personas, account.estimates, days=3, start_hour_of_week=0)


def lift(window, estimates, factor, *, baseline=1.0):
    return posterior_lift(UsualBids(estimates, factor), UsualBids(estimates, baseline), window, draws=20, seed=4)


def test_policy_has_no_lift_over_itself_in_any_draw(window, account):
    result = lift(window, account.estimates, 1.0)
    assert set(result.value_per_dollar) == {0.0}
    assert (result.lift_lower, result.lift_upper, result.better_share) == (0, 0, 0)
    assert result.label == "model-based"


def test_lower_bids_buy_more_value_per_dollar_and_less_value(window, account):
    result = lift(window, account.estimates, 0.6)
    assert 0 < result.lift_lower < result.lift < result.lift_upper
    assert result.objective_lift_upper < 0
    assert result.better_share == 1


def test_objective_is_the_one_of_the_window(window, account):
    profit = TwinWindow(
        window.spec, window.personas, window.estimates, days=3, start_hour_of_week=0, objective=Objective(kind="profit")
    )
    assert lift(profit, account.estimates, 3.0).objective_lift < lift(window, account.estimates, 3.0).objective_lift


def test_too_few_draws_and_a_baseline_that_buys_nothing_are_refused(window, account):
    with pytest.raises(DataError, match="19 draws; allowed: 20"):
        posterior_lift(UsualBids(account.estimates), UsualBids(account.estimates), window, draws=19, seed=1)
    with pytest.raises(DataError, match="buys nothing"):
        lift(window, account.estimates, 1.0, baseline=0.0)
