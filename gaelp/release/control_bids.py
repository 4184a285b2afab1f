"""The control of a release: the incumbent's usual bids, scaled down until its daily budget lasts.

A bid that is too high for its budget makes the platform leave auctions out, cheap ones as well as dear ones. Anybody
can avoid that by bidding lower, without knowing what a click is worth. So the agent is compared with an incumbent that
does.
"""

import numpy as np

from gaelp.arrays import Bools, Floats, Ints
from gaelp.errors import BadInput
from gaelp.types import PolicyState

__all__ = ["ScaledIncumbent"]

_USED_UP, _ROOM = 0.97, 0.90  # shares of the budget: above the first it did not last, below the second bids may rise
_LOWER, _HIGHER = 0.90, 1.05  # factors a day: a budget that ends too soon costs more than one that is not used up
_LEAST_FACTOR = 0.2
_CENT_MICROS = 10_000


class ScaledIncumbent:
    """N campaigns x S targets with one factor for each campaign, corrected after each of its own days."""

    def __init__(self, usual_bids_micros: Ints) -> None:
        """`usual_bids_micros` is (N, S); 0 where a campaign has fewer targets."""
        if (usual_bids_micros < 0).any():
            raise BadInput("a usual bid of the incumbent is negative: give micros, 0 where there is no target")
        self._usual = np.asarray(usual_bids_micros, np.int64)
        self._factor: Floats = np.ones(len(self._usual))

    @property
    def factor(self) -> Floats:
        """On the usual bids of each campaign, (N,)."""
        return self._factor.copy()

    def bids_micros(self) -> Ints:
        """For a click, (N, S), in whole cents."""
        scaled = np.rint(self._usual * self._factor[:, None] / _CENT_MICROS).astype(np.int64) * _CENT_MICROS
        return np.where(self._usual > 0, np.maximum(scaled, _CENT_MICROS), 0)

    def end_day(self, spend_micros: Ints, daily_micros: Ints, own: Bools) -> None:
        """A day is over that cost this much of these budgets, (N,) each; only campaigns with `own` bid by this rule."""
        used_up, has_room = spend_micros >= _USED_UP * daily_micros, spend_micros < _ROOM * daily_micros
        step = np.where(used_up, _LOWER, np.where(has_room, _HIGHER, 1.0))
        self._factor = np.clip(np.where(own, self._factor * step, self._factor), _LEAST_FACTOR, 1.0)

    def state(self) -> PolicyState:
        """What the next bids depend on."""
        return {"factor": self._factor.copy()}

    def load_state(self, state: PolicyState) -> None:
        """Resume with what `state` returned."""
        self._factor = np.asarray(state["factor"], np.float64).copy()
