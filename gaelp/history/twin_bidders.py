"""Logged bids, and what each bidder would have bid along the log, played in the same twins of the logged campaigns."""

from collections.abc import Mapping

import numpy as np

from gaelp.history.fidelity import FittedAccount
from gaelp.history.logged_bidders import start_hour_of_week
from gaelp.history.logged_campaigns import LoggedDecisions
from gaelp.history.logged_grid import logged_grid
from gaelp.history.logged_lift import LoggedPolicy
from gaelp.history.posterior_lift import TwinOutcome, TwinWindow, play_in_twins
from gaelp.history.posterior_report import LOGGED_BIDS
from gaelp.history.scheduled_bids import ScheduledBids
from gaelp.history.window_figures import DAY_HOURS
from gaelp.market.personas import PersonaTable

__all__ = ["play_bidders"]


def play_bidders(
    logged: LoggedDecisions,
    policies: Mapping[str, LoggedPolicy],
    account: FittedAccount,
    personas: PersonaTable,
    *,
    draws: int,
    seed: int,
) -> dict[str, TwinOutcome]:
    """What each policy brings in the twins, by its key, and the logged bids under LOGGED_BIDS.

    A policy shifts the logged bids, hour by hour, as it does where a log has propensities; nothing that the logged bids
    brought in this window is known to the twins.
    """
    grid = logged_grid(logged, account.estimates)
    window = TwinWindow(
        account.spec,
        personas,
        account.estimates,
        days=-(-grid.shape[0] // DAY_HOURS),
        start_hour_of_week=start_hour_of_week(logged),
        curves=account.curves,
    )
    shifts = {LOGGED_BIDS: np.zeros(len(logged)), **{key: policy.shift for key, policy in policies.items()}}
    names = {LOGGED_BIDS: LOGGED_BIDS, **{key: policy.name for key, policy in policies.items()}}
    return {
        key: play_in_twins(
            ScheduledBids(names[key], grid.laid_out(logged.bid_micros * np.exp(shift), 0.0), account.estimates),
            window,
            draws=draws,
            seed=seed,
        )
        for key, shift in shifts.items()
    }
