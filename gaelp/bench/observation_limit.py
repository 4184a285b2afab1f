"""The largest observation a release expects, chosen from earlier campaign-days before its first pair.

The bet of `gates.lift_test` needs a limit that no observation of the losing side exceeds by much. A limit far above
the values makes every bet small and a release long; one below them hides rare large values, and an identical agent is
called worse. So it follows from days that are not part of the comparison: the agent's in its pilot and the incumbent's
in the history.
"""

from gaelp.arrays import Ints
from gaelp.errors import BadInput
from gaelp.release.pairs import PairRules

__all__ = ["LIMIT_FACTOR", "observation_limit"]

LIMIT_FACTOR = 2.5  # chosen on development seeds, see docs/release-trials.md
_DAYS_MIN = 200  # campaign-days of each side; fewer do not show the large values


def observation_limit(
    treatment_micros: Ints, control_micros: Ints, rules: PairRules, *, factor: float = LIMIT_FACTOR
) -> float:
    """Return `clip_at` for a release, from the final values of earlier campaign-days of either side.

    A pair whose sides spend the same observes half of a day's value in units of the rules.
    """
    for name, values in (("treatment", treatment_micros), ("control", control_micros)):
        if values.size < _DAYS_MIN or not values.max() > 0:
            raise BadInput(
                f"{values.size} earlier campaign-days of the {name}, needed are {_DAYS_MIN} with some value: a limit"
                " from so few would hide large values; use the limit of the gate"
            )
    largest = max(int(treatment_micros.max()), int(control_micros.max()))
    return factor * largest / 2 / rules.unit_micros
