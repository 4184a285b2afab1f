"""Whether the value model that scores clicks favours one arm: realised value for each predicted unit of it, in pairs.

An agent that exploits the errors of its value model wins clicks that look better than they are. The verdict of a
release rests on realised value alone, so such an agent is not promoted for it; this check shows why predicted and
realised lift differ.
"""

from typing import NamedTuple

from gaelp.arrays import Ints
from gaelp.gates.lift_test import LiftInterval, LiftPlan
from gaelp.release.pairs import PairRules, ReleaseDays, cut_pairs, pairs_lift

__all__ = ["ValueModelCheck", "check_value_model"]


class ValueModelCheck(NamedTuple):
    """Realised over predicted value under treatment, relative to control: -0.17 where 20% too much is predicted."""

    interval: LiftInterval

    @property
    def is_biased(self) -> bool:
        """Whether one arm's value is shown to be predicted worse than the other's, at any look."""
        return self.interval.upper < 0 or self.interval.lower > 0


def check_value_model(days: ReleaseDays, predicted_micros: Ints, rules: PairRules, plan: LiftPlan) -> ValueModelCheck:
    """Compare both arms by the value that was predicted for the clicks of each campaign-day, (D, N) in micros."""
    pairs = cut_pairs(days, rules, person_time=predicted_micros.astype(float))
    return ValueModelCheck(pairs_lift(pairs, plan))
