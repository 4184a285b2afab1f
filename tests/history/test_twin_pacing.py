"""The platform's pacing: budgets last the day, and nobody with money left is held back."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gaelp.history.twin_pacing import BudgetPacing

HOURS = 48


@given(wanted=st.floats(1e3, 1e9), budget=st.floats(1e4, 1e9))
@settings(max_examples=40, deadline=None)
def test_spend_of_a_steady_campaign_is_the_smaller_of_budget_and_what_it_wants(account, wanted, budget):
    estimates = account.estimates
    flat = replace(
        estimates,
        week=np.ones_like(estimates.week),
        daily_budget_micros=np.full(len(estimates.campaign_names), budget),
        delivery=1.0,
    )
    pacing = BudgetPacing(flat, 1, 0, HOURS)
    spent = np.zeros((HOURS, len(estimates.campaign_names)))
    for hour in range(HOURS):
        share = pacing.share(hour)
        assert ((share > 0) & (share <= 1)).all()
        spent[hour] = share * wanted / 24
        pacing.learn(hour, share, spent[hour])
    # The least share of auctions is entered whatever the budget.
    expected = max(min(wanted, budget), 0.02 * wanted)
    np.testing.assert_allclose(spent[24:].sum(axis=0), expected, rtol=0.12)
