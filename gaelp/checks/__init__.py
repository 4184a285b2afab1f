"""How figures are compared, scored and checked, one way for every package above."""

from gaelp.checks.check_pass import CheckPass
from gaelp.checks.goal import Compared, Goal
from gaelp.checks.limit import BOUNDS, Bound, Limit, Limited
from gaelp.checks.robust_score import robust_z

__all__ = ["BOUNDS", "Bound", "CheckPass", "Compared", "Goal", "Limit", "Limited", "robust_z"]
