"""The highest budget that the mandate of a release allows each campaign today, from the guard's record of orders."""

import numpy as np

from gaelp.arrays import Ints
from gaelp.pilot.pilot_plan import PilotPlan, pilot_mandate
from gaelp.platforms.guard import Guard
from gaelp.platforms.mandate_check import highest_before_micros

__all__ = ["allowed_budgets"]


def allowed_budgets(guard: Guard, plan: PilotPlan) -> Ints:
    """In the order of the plan, (N,); a budget that was decided and never put in force does not count as raised."""
    mandate, today = pilot_mandate(plan, guard.terms), guard.today()
    return np.array(
        [
            mandate.raised_daily_micros(highest_before_micros(guard, campaign.name, today))
            for campaign in plan.campaigns
        ],
        np.int64,
    )
